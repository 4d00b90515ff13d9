//! The table of invisible characters.

/// Whether `c` is invisible or changes the display of its neighbours: zero-width characters,
/// bidirectional controls, variation selectors, tags, fillers.
///
/// These are the characters of Unicode's `Default_Ignorable_Code_Point`, `Bidi_Control` and general
/// category `Cf`, except the Arabic and Kaithi number signs, which are visible. Control characters are
/// excluded, because they separate words: see [`is_hidden`].
///
/// ```
/// use mcp_safe::text::is_invisible;
///
/// assert!(is_invisible('\u{200b}') && is_invisible('\u{202e}') && is_invisible('\u{e0041}'));
/// assert!(!is_invisible('é') && !is_invisible('\n'));
/// ```
pub fn is_invisible(c: char) -> bool {
    c >= '\u{ad}'
        && matches!(c,
            '\u{ad}' // soft hyphen
            | '\u{34f}' // combining grapheme joiner
            | '\u{61c}' // Arabic letter mark
            | '\u{115f}'..='\u{1160}' // Hangul fillers
            | '\u{17b4}'..='\u{17b5}' // Khmer inherent vowels
            | '\u{180b}'..='\u{180f}' // Mongolian selectors and vowel separator
            | '\u{200b}'..='\u{200f}' // zero width, direction marks
            | '\u{202a}'..='\u{202e}' // embeddings and overrides
            | '\u{2060}'..='\u{206f}' // word joiner, invisible operators, isolates
            | '\u{3164}' // Hangul filler
            | '\u{fe00}'..='\u{fe0f}' // variation selectors
            | '\u{feff}' // byte order mark
            | '\u{ffa0}' // half-width Hangul filler
            | '\u{fff0}'..='\u{fffb}' // reserved, interlinear annotations
            | '\u{13430}'..='\u{1343f}' // Egyptian hieroglyph format controls
            | '\u{1bca0}'..='\u{1bca3}' // shorthand format controls
            | '\u{1d173}'..='\u{1d17a}' // musical format controls
            | '\u{e0000}'..='\u{e0fff}') // tags, more variation selectors
}

/// Whether `c` must not be shown unchanged: [invisible](is_invisible) characters, control characters, and
/// U+2028 and U+2029, which break lines. This includes line feed and tab.
///
/// ```
/// use mcp_safe::text::is_hidden;
///
/// assert!(is_hidden('\u{1b}') && is_hidden('\u{2028}') && is_hidden('\n'));
/// assert!(!is_hidden(' ') && !is_hidden('日'));
/// ```
pub fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c)
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// Compares with the Unicode tables of the regex crate.
    #[test]
    fn invisible_table_matches_unicode() {
        let ours = Regex::new(
            r"^[[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cf}]--\p{Prepended_Concatenation_Mark}]$",
        );
        let ours = ours.unwrap();
        let controls = Regex::new(r"^[\p{Cc}\p{Zl}\p{Zp}]$").unwrap();
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let text = &*c.encode_utf8(&mut buffer);
            assert_eq!(is_invisible(c), ours.is_match(text), "{}", c.escape_unicode());
            let hidden = is_invisible(c) || controls.is_match(text);
            assert_eq!(is_hidden(c), hidden, "{}", c.escape_unicode());
        }
    }
}
