//! Corrects typing errors of one letter in short words.
//!
//! Short words have too few trigrams for [`similar`](crate::text::similar). For these, all words at
//! edit distance one are generated and looked up: a few hundred lookups, independent of the size of
//! the index.

/// Shorter words are not corrected: too many others are close.
const SHORTEST: usize = 4;
/// Longer words have enough trigrams.
const LONGEST: usize = 6;
/// The minimum length of a corrected word: two letters are close to everything.
const LEAST: usize = 3;
/// The similarity of two words at edit distance one: the minimum similarity by trigrams.
pub(crate) const LIKENESS: f32 = 0.5;

/// Whether the edits of `word` are tried. Codes and numbers are excluded: another number is not a
/// correction.
pub(crate) fn is_short(word: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&word.chars().count()) && word.chars().all(char::is_alphabetic)
}

/// Calls `each` once with every word that is `word` with one letter removed, added or replaced, or
/// two adjacent letters swapped. Letters from a to z are added.
pub(crate) fn each_edit(word: &str, mut each: impl FnMut(&str)) {
    let letters: Vec<char> = word.chars().collect();
    let mut edited = String::with_capacity(word.len() + 1);
    let mut tell = |parts: [&[char]; 3]| {
        edited.clear();
        edited.extend(parts.into_iter().flatten());
        each(&edited);
    };
    for at in 0..=letters.len() {
        let (before, after) = letters.split_at(at);
        // Inserting a letter before or after the same letter gives the same word; so does removing one of a double.
        for letter in ('a'..='z').filter(|letter| after.first() != Some(letter)) {
            tell([before, &[letter], after]);
        }
        let [first, rest @ ..] = after else { continue };
        if letters.len() > LEAST && rest.first() != Some(first) {
            tell([before, &[], rest]);
        }
        for letter in ('a'..='z').filter(|letter| letter != first) {
            tell([before, &[letter], rest]);
        }
        if let [second, rest @ ..] = rest
            && first != second
        {
            tell([before, &[*second, *first], rest]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{each_edit, is_short};

    fn edits(word: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        each_edit(word, |edit| assert!(all.insert(edit.to_owned()), "{edit} comes twice"));
        all
    }

    #[test]
    fn every_single_edit_is_made_and_the_word_itself_is_not() {
        let edits = edits("list");
        for edit in ["lst", "ist", "lis", "liist", "alist", "lists", "lost", "lisp", "ilst", "lits"]
        {
            assert!(edits.contains(edit), "{edit}");
        }
        for other in ["list", "lit s", "tsil", "lt", "loss"] {
            assert!(!edits.contains(other), "{other}");
        }
        // 4 removed, 3 swapped, 4 × 25 replaced, 5 × 26 added minus the 4 that double a letter.
        assert_eq!(edits.len(), 4 + 3 + 100 + 126);
        assert!(self::edits("issue").contains("isue"));
    }

    #[test]
    fn letters_of_any_script_are_left_out_and_swapped() {
        let edits = edits("фйал");
        assert!(edits.contains("фал") && edits.contains("йфал"));
    }

    #[test]
    fn words_are_not_corrected_to_two_letters() {
        assert!(edits("isu").iter().all(|edit| edit.chars().count() > 2));
    }

    #[test]
    fn numbers_and_long_words_are_not_short_words() {
        assert!(is_short("isue") && is_short("crates"));
        assert!(!is_short("isu") && !is_short("2024") && !is_short("utf8") && !is_short("message"));
    }
}
