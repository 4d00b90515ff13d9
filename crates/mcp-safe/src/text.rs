//! Sanitizes untrusted text.
//!
//! Text from a server, a file or the network can contain characters that move the cursor, reverse the following
//! text, or carry instructions that a user cannot see. [`strip`] and [`strip_ansi`] remove them, for
//! prompts and terminals; [`escape`] shows them, for diagnostics; [`one_line`] and [`cut`] limit the length.
//! All functions borrow if nothing has to change, and are idempotent.

mod table;

use std::borrow::Cow;

pub use table::{is_hidden, is_invisible};

/// Whether every character of `text` is visible. Line feeds and tabs are allowed.
///
/// ```
/// assert!(mcp_safe::text::is_visible("two\n\tlines"));
/// assert!(!mcp_safe::text::is_visible("pay\u{202e}lap"));
/// ```
pub fn is_visible(text: &str) -> bool {
    !has(text, is_dropped)
}

/// `text` without [hidden](is_hidden) characters. Line feeds and tabs are kept.
///
/// ```
/// assert_eq!(mcp_safe::text::strip("safe\u{202e}evil\u{200b}\0"), "safeevil");
/// assert_eq!(mcp_safe::text::strip("two\n\tlines"), "two\n\tlines");
/// ```
pub fn strip(text: &str) -> Cow<'_, str> {
    if !has(text, is_dropped) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_dropped(*c)).collect())
}

/// Like [`strip`], but removes terminal escape sequences completely: colours, window titles.
///
/// ```
/// assert_eq!(mcp_safe::text::strip_ansi("\u{1b}[31mred\u{1b}[0m"), "red");
/// assert_eq!(mcp_safe::text::strip("\u{1b}[31mred\u{1b}[0m"), "[31mred[0m");
/// ```
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    if !has(text, is_dropped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut chars),
            c if is_dropped(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// `text` with each hidden character written as `\u{…}`, including line feeds and tabs.
///
/// ```
/// assert_eq!(mcp_safe::text::escape("a\u{1b}[2J"), "a\\u{1b}[2J");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    if !has(text, is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// `text` in one line of at most `most` characters: runs of white space become one space, hidden
/// characters are removed, and `…` marks a cut.
///
/// ```
/// assert_eq!(mcp_safe::text::one_line("one\n two\u{7}  three", 9), "one two…");
/// ```
pub fn one_line(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most && is_one_plain_line(text) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut count, mut gap) = (String::new(), 0, false);
    for c in text.chars() {
        if c.is_whitespace() {
            gap = !out.is_empty();
        } else if !is_hidden(c) {
            if gap {
                out.push(' ');
            }
            out.push(c);
            count += 1 + usize::from(gap);
            gap = false;
            // One character more than allowed is enough to detect a cut.
            if count > most {
                break;
            }
        }
    }
    match cut(&out, most, "…") {
        Cow::Owned(cut) => Cow::Owned(cut),
        Cow::Borrowed("") => Cow::Borrowed(""),
        Cow::Borrowed(_) => Cow::Owned(out),
    }
}

/// `text` if it has at most `most` characters; otherwise its beginning followed by `mark`, together at most `most`
/// characters. Empty if the mark does not fit.
///
/// ```
/// use mcp_safe::text::cut;
///
/// assert_eq!(cut("short", 8, "…"), "short");
/// assert_eq!(cut("much longer", 8, "…"), "much lo…");
/// assert_eq!(cut("much longer", 8, ""), "much lon");
/// ```
pub fn cut<'t>(text: &'t str, most: usize, mark: &str) -> Cow<'t, str> {
    if text.len() <= most || text.char_indices().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let Some(room) = most.checked_sub(mark.chars().count()) else { return Cow::Borrowed("") };
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    if mark.is_empty() {
        return Cow::Borrowed(&text[..end]);
    }
    Cow::Owned([text[..end].trim_end(), mark].concat())
}

/// The longest prefix of `text` with at most `most` bytes that does not split a character.
///
/// ```
/// assert_eq!(mcp_safe::text::prefix("aé", 2), "a");
/// ```
pub fn prefix(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn is_dropped(c: char) -> bool {
    is_hidden(c) && c != '\n' && c != '\t'
}

/// Whether any character satisfies `is_found`, which must be false for all printable ASCII.
fn has(text: &str, is_found: fn(char) -> bool) -> bool {
    !text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.contains(is_found)
}

/// Whether `one_line` has nothing to change except the length. False for text that is not ASCII.
fn is_one_plain_line(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| matches!(byte, b' '..=b'~'))
        && bytes.first() != Some(&b' ')
        && bytes.last() != Some(&b' ')
        && !bytes.windows(2).any(|pair| pair == b"  ")
}

/// Skips the rest of an escape sequence: `[31m`, `]0;title BEL`, or a single character.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
        // At most to the end of the line, so that an unterminated sequence does not remove the rest.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_are_removed_up_to_the_line_end() {
        let text = "x\u{1b}[31mred\u{1b}[0m\u{1b}]0;t\u{7}y\u{9b}z\r";
        assert_eq!(strip_ansi(text), "xredyz");
        assert_eq!(strip_ansi("a\u{1b}]0;never ends\nnext"), "a\nnext");
        assert_eq!(strip("a\u{1b}[2Jb\nc\u{202e}"), "a[2Jb\nc");
    }

    #[test]
    fn line_separators_become_spaces_only_in_one_line() {
        assert_eq!(one_line("a\u{2028}b\u{85}c", 9), "a b c");
        assert_eq!(strip("a\u{2028}b\u{ad}c\u{61c}d\u{3164}"), "abcd");
    }

    #[test]
    fn removed_hidden_word_leaves_one_space() {
        assert_eq!(one_line(" a \u{200b} b ", 9), "a b");
    }

    #[test]
    fn plain_text_is_borrowed() {
        for f in [strip, strip_ansi, escape] as [fn(&str) -> Cow<'_, str>; 3] {
            assert!(matches!(f("plain, with é and 日本"), Cow::Borrowed(_)));
        }
        assert!(matches!(one_line("one plain line", 14), Cow::Borrowed(_)));
        assert!(matches!(cut("é", 1, "…"), Cow::Borrowed("é")));
        assert!(matches!(strip("two\n\tlines"), Cow::Borrowed(_)));
    }

    #[test]
    fn cut_is_empty_if_the_mark_does_not_fit() {
        assert_eq!(cut("four", 2, "… [cut]"), "");
        assert_eq!(cut("", 0, "…"), "");
        assert_eq!(one_line("four", 0), "");
        assert_eq!(one_line("one  two", 4), "one…");
    }

    /// Text in which about half of the characters are hidden.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            prop::char::range('\u{2000}', '\u{206f}').prop_map(String::from),
            prop::char::range('\u{e0000}', '\u{e01ef}').prop_map(String::from),
            prop::char::range('\0', '\u{a0}').prop_map(String::from),
            "[ -~]{1,8}",
            Just("\u{1b}[31m".to_owned()),
            Just("\u{1b}]0;".to_owned()),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn sanitized_text_is_visible_and_stable(text in hostile(), most in 0_usize..60) {
            for f in [strip, strip_ansi, escape] as [fn(&str) -> Cow<'_, str>; 3] {
                let shown = f(&text).into_owned();
                prop_assert!(is_visible(&shown), "{shown:?}");
                prop_assert_eq!(f(&shown), shown.as_str());
            }
            prop_assert!(!escape(&text).contains(is_hidden));
            let line = one_line(&text, most);
            prop_assert!(!line.contains(is_hidden) && line.chars().count() <= most, "{line:?}");
            prop_assert_eq!(one_line(&line, most), line.as_ref());
        }

        #[test]
        fn cut_text_never_exceeds_the_limit(text in hostile(), most in 0_usize..60, mark in "[….]{0,3}") {
            let short = cut(&text, most, &mark);
            prop_assert!(short.chars().count() <= most);
            prop_assert_eq!(cut(&short, most, &mark), short.as_ref());
            let start = prefix(&text, most);
            prop_assert!(text.starts_with(start) && start.len() <= most);
            prop_assert!(start.len() + 4 > most.min(text.len()));
        }
    }
}
