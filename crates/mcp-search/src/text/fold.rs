//! Folding: a single spelling for all variants of a letter.
//!
//! `É`, `é`, `e` with a combining accent, full-width `Ｅ` and `e` with a zero-width joiner are all
//! indexed as `e`.

pub(crate) use mcp_safe::text::is_invisible;
use unicode_normalization::char::decompose_compatible;

/// Appends the folded spelling of `c`: lower case, compatibility forms, no accents.
pub(crate) fn fold_into(c: char, out: &mut String) {
    if c.is_ascii() {
        out.push(c.to_ascii_lowercase());
        return;
    }
    if c == 'ß' || c == 'ẞ' {
        out.push_str("ss");
        return;
    }
    for lower in c.to_lowercase() {
        decompose_compatible(lower, |part| {
            if is_word_char(part) && !is_accent(part) {
                out.extend(part.to_lowercase());
            }
        });
    }
}

/// Whether `c` can be part of a word: a letter, a digit, or a mark that belongs to a letter.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)
}

/// Marks that can be dropped: accents, Hebrew points, Arabic vowels.
///
/// The vowel signs of Indic scripts are marks too, but dropping those would drop the vowels.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}')
}

/// Whether `c` belongs to a script that is written without spaces between words or, for Korean, with
/// particles attached to words: such text is split into pairs of characters.
pub(crate) fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{323af}')
}

/// A name without case, accents, punctuation and spaces: `createIssue`, `create_issue` and
/// `Create Issue` have the same key.
pub(crate) fn key(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|&c| is_word_char(c) && !is_invisible(c)) {
        fold_into(c, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn spellings_of_one_name_share_a_key() {
        for spelling in
            ["createIssue", "create_issue", "Create Issue", "CRÉATE-ISSUE", "ｃｒｅａｔｅ issue"]
        {
            assert_eq!(key(spelling), "createissue", "{spelling}");
        }
        assert_eq!(key("cre\u{200b}ate\u{202e} issue"), "createissue");
        assert_eq!(key("Straße"), "strasse");
        assert_eq!(key("---"), "");
    }

    #[test]
    fn vowel_signs_survive_where_they_are_letters() {
        assert_ne!(key("कि"), key("की"));
    }
}
