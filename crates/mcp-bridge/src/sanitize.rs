//! Sanitizes untrusted text for a prompt: short, visible, and without credentials.

use std::borrow::Cow;

use mcp_safe::{
    secrets::redact,
    text::{cut, prefix, strip_ansi},
};

/// The maximum length of a description.
pub(crate) const DESCRIPTION: usize = 2048;
/// The length kept of a description for search and for the user, when it is shorter in the prompt.
pub(crate) const WHOLE: usize = 16 << 10;
/// The maximum length of descriptions of an untrusted server's tools, unless its configuration sets another.
pub(crate) const UNTRUSTED: usize = 200;
/// The maximum length of the summary of a tool that is not loaded.
pub(crate) const SUMMARY: usize = 100;

const MARK: &str = "… [cut]";

/// Text that may be shown to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    pub(crate) text: String,
    /// The text was truncated, and says so.
    pub(crate) cut: bool,
    /// A likely credential was redacted.
    pub(crate) redacted: bool,
}

/// Removes invisible characters, redacts credentials, and truncates to `cap` characters.
pub(crate) fn clean(text: &str, cap: usize) -> Cleaned {
    // Only a window of a long text is processed. It is larger than `cap`, because escapes and invisible characters are
    // removed.
    let window = prefix(text, cap.saturating_mul(16).max(4096));
    let visible = strip_ansi(window);
    let clean = redact(&visible);
    let redacted = matches!(clean, Cow::Owned(_));
    let (text, cut) = cap_at(clean.trim(), cap, window.len() < text.len());
    Cleaned { text, cut, redacted }
}

/// One line of at most `cap` characters: the first sentence, if it fits.
pub(crate) fn summary(text: &str, cap: usize) -> String {
    let line = clean(text, cap.saturating_mul(4)).text;
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.find(". ").map_or(line.as_str(), |end| &line[..=end]);
    let text = if sentence.chars().count() <= cap { sentence } else { &line };
    cut(text, cap, MARK).into_owned()
}

/// Cuts at a character boundary, and marks the cut within the cap.
fn cap_at(text: &str, cap: usize, had_more: bool) -> (String, bool) {
    if !had_more {
        let kept = cut(text, cap, MARK);
        let is_cut = *kept != *text;
        return (kept.into_owned(), is_cut);
    }
    let room = cap.checked_sub(MARK.chars().count());
    (room.map_or_else(String::new, |room| [cut(text, room, "").trim_end(), MARK].concat()), true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_description_is_cut_at_a_character_boundary_and_marked() {
        let cleaned = clean(&"é".repeat(60 << 10), DESCRIPTION);
        assert!(cleaned.cut && cleaned.text.ends_with(MARK));
        assert_eq!(cleaned.text.chars().count(), DESCRIPTION);
        assert_eq!(clean("short", DESCRIPTION).text, "short");
        assert_eq!(clean(&"x".repeat(2048), DESCRIPTION).text.len(), 2048);
    }

    #[test]
    fn only_a_window_of_a_huge_description_is_processed() {
        let huge = "word ".repeat(2 << 20);
        let begun = std::time::Instant::now();
        assert!(clean(&huge, UNTRUSTED).cut);
        assert!(begun.elapsed().as_millis() < 100);
    }

    #[test]
    fn invisible_characters_are_removed() {
        let text = "safe\u{202e}evil\u{200b} \u{e0041}\u{e0042}x\u{1b}[31mred\u{1b}[0m\u{1b}]0;t\u{7}y\0\r\u{9b}z";
        assert_eq!(clean(text, 100).text, "safeevil xredyz");
        assert_eq!(clean("line\n\ttab", 100).text, "line\n\ttab");
        assert_eq!(clean("a\u{1b}]0;never ends\nnext", 100).text, "a\nnext");
    }

    #[test]
    fn summary_is_one_line_with_the_first_sentence_if_it_fits() {
        assert_eq!(summary("Reads a\nfile. Then more.", SUMMARY), "Reads a file.");
        assert_eq!(summary(&"word ".repeat(100), SUMMARY).chars().count(), SUMMARY);
    }

    proptest! {
        #[test]
        fn cleaned_text_never_exceeds_its_cap(text in "\\PC{0,300}", cap in 0_usize..120) {
            prop_assert!(clean(&text, cap).text.chars().count() <= cap);
            prop_assert!(summary(&text, cap).chars().count() <= cap);
        }
    }
}
