//! Foreign text, made fit for a prompt: short, visible, and without anybody's keys.

use std::borrow::Cow;

use crate::redact::redact;

/// What a description is cut to at most.
pub(crate) const DESCRIPTION: usize = 2048;
/// What the description of a tool is cut to whose server nobody vouches for.
pub(crate) const UNTRUSTED: usize = 200;
/// What a tool that is not loaded is summed up in.
pub(crate) const SUMMARY: usize = 100;

const MARK: &str = "… [cut]";

/// Text that may be shown to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cleaned {
    pub(crate) text: String,
    /// Something was cut off, and the text says so.
    pub(crate) cut: bool,
    /// Something that looks like a credential was taken out.
    pub(crate) redacted: bool,
}

/// Removes what nobody can see, takes out credentials, and cuts what is over `cap` characters.
pub(crate) fn clean(text: &str, cap: usize) -> Cleaned {
    // No need to look at megabytes of which two kilobytes stay. Escapes and invisible characters vanish,
    // so look at a little more than fits.
    let window = floor(text, cap.saturating_mul(16).max(4096));
    let visible = visible(&text[..window]);
    let (text_out, redacted) = match redact(&visible) {
        Cow::Owned(text) => (text, true),
        Cow::Borrowed(text) => (text.to_owned(), false),
    };
    let (text_out, cut) = cap_at(text_out.trim(), cap, window < text.len());
    Cleaned { text: text_out, cut, redacted }
}

/// One line of at most `cap` characters: the first sentence, if it fits.
pub(crate) fn summary(text: &str, cap: usize) -> String {
    let line = clean(text, cap.saturating_mul(4)).text;
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.find(". ").map_or(line.as_str(), |end| &line[..=end]);
    let text = if sentence.chars().count() <= cap { sentence } else { &line };
    cap_at(text, cap, false).0
}

/// Cuts at a character, and marks the cut within the cap.
fn cap_at(text: &str, cap: usize, had_more: bool) -> (String, bool) {
    let fits = text.len() <= cap || text.chars().count() <= cap;
    if fits && !had_more {
        return (text.to_owned(), false);
    }
    let room = cap.saturating_sub(MARK.chars().count());
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let kept = text[..end].trim_end();
    let marked = if cap >= MARK.chars().count() { format!("{kept}{MARK}") } else { String::new() };
    (marked, true)
}

/// The text without control characters, terminal escapes, and characters that show as nothing or reverse
/// what follows them.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            c if is_hidden(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// What follows an escape: `[31m`, `]0;title BEL`, or a single character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
        // Only to the end of the line: an escape that never ends must not swallow the rest.
        Some(']' | 'P' | '^' | '_' | 'X') => {
            while chars.peek().is_some_and(|c| *c != '\n') {
                match chars.next() {
                    Some('\u{7}') => break,
                    Some('\u{1b}') => {
                        chars.next();
                        break;
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// The largest character boundary at or below `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_description_is_cut_at_a_character_and_says_so() {
        let cleaned = clean(&"é".repeat(60 << 10), DESCRIPTION);
        assert!(cleaned.cut && cleaned.text.ends_with(MARK));
        assert_eq!(cleaned.text.chars().count(), DESCRIPTION);
        assert_eq!(clean("short", DESCRIPTION).text, "short");
        assert_eq!(clean(&"x".repeat(2048), DESCRIPTION).text.len(), 2048);
    }

    #[test]
    fn ten_megabytes_are_not_looked_at() {
        let huge = "word ".repeat(2 << 20);
        let begun = std::time::Instant::now();
        assert!(clean(&huge, UNTRUSTED).cut);
        assert!(begun.elapsed().as_millis() < 100);
    }

    #[test]
    fn what_nobody_can_see_is_gone() {
        let text = "safe\u{202e}evil\u{200b} \u{e0041}\u{e0042}x\u{1b}[31mred\u{1b}[0m\u{1b}]0;t\u{7}y\0\r\u{9b}z";
        assert_eq!(clean(text, 100).text, "safeevil xredyz");
        assert_eq!(clean("line\n\ttab", 100).text, "line\n\ttab");
        assert_eq!(clean("a\u{1b}]0;never ends\nnext", 100).text, "a\nnext");
    }

    #[test]
    fn a_summary_is_one_line_and_the_first_sentence_if_it_fits() {
        assert_eq!(summary("Reads a\nfile. Then more.", SUMMARY), "Reads a file.");
        assert_eq!(summary(&"word ".repeat(100), SUMMARY).chars().count(), SUMMARY);
    }

    proptest! {
        #[test]
        fn the_cap_holds_for_any_text(text in "\\PC{0,300}", cap in 0_usize..120) {
            prop_assert!(clean(&text, cap).text.chars().count() <= cap);
            prop_assert!(summary(&text, cap).chars().count() <= cap);
        }
    }
}
