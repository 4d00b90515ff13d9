//! Synonyms for words of a query.

use std::sync::LazyLock;

use crate::text::{fold, stem::stem_of, terms::Terms};

/// The weight of a match by a word of the same group, relative to the word itself.
const GROUP: f32 = 0.55;
/// The factor for the weight of a pair.
const PAIR: f32 = 0.8;
/// The maximum number of synonyms of one word.
const MOST: usize = 24;

/// A table of synonyms.
///
/// [`Synonyms::english`] holds a few hundred common words of tool requests ("remove" for "delete",
/// "photo" for "picture") and is the default of an index.
#[derive(Clone, Debug, Default)]
pub struct Synonyms {
    words: Terms,
    /// The synonyms of every word, with their weights.
    others: Vec<Vec<(String, f32)>>,
}

impl Synonyms {
    /// No synonyms: words match only themselves.
    pub fn none() -> Self {
        Self::default()
    }

    /// The built-in word groups.
    pub fn english() -> Self {
        static ENGLISH: LazyLock<Synonyms> = LazyLock::new(|| {
            let mut synonyms = Synonyms::none();
            synonyms.add_groups(include_str!("../../data/words.txt"));
            synonyms
        });
        ENGLISH.clone()
    }

    /// Adds groups of interchangeable words, one group per line; `#` starts a comment.
    ///
    /// ```
    /// let mut synonyms = mcp_search::Synonyms::english();
    /// synonyms.add_groups("ticket incident case\nengineer developer");
    /// ```
    pub fn add_groups(&mut self, groups: &str) {
        for line in groups.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let stems: Vec<String> =
                line.split_whitespace().map(|word| stem_of(fold::key(word))).collect();
            for word in &stems {
                for other in &stems {
                    self.add(word, other, GROUP);
                }
            }
        }
    }

    /// Adds pairs of stems from lines of `word <TAB> synonym <TAB> weight`, the format of a mined
    /// thesaurus. Other lines are skipped.
    pub fn add_pairs(&mut self, pairs: &str) {
        for line in pairs.lines() {
            let mut parts = line.split('\t');
            if let (Some(word), Some(other), Some(Ok(weight))) =
                (parts.next(), parts.next(), parts.next().map(str::parse::<f32>))
                && weight.is_finite()
            {
                self.add(word, other, PAIR * weight.clamp(0.0, 1.0));
            }
        }
    }

    /// The synonyms of the stem `word`, with their weights.
    pub(crate) fn of(&self, word: &str) -> &[(String, f32)] {
        self.words.find(word).map_or(&[], |id| self.others[id as usize].as_slice())
    }

    fn add(&mut self, word: &str, other: &str, weight: f32) {
        if word == other || word.is_empty() || other.is_empty() {
            return;
        }
        let id = self.words.intern(word) as usize;
        if id == self.others.len() {
            self.others.push(Vec::new());
        }
        let list = &mut self.others[id];
        if let Some(known) = list.iter_mut().find(|(known, _)| known == other) {
            known.1 = known.1.max(weight);
        } else if list.len() < MOST {
            list.push((other.to_owned(), weight));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Synonyms;

    #[test]
    fn a_group_works_in_every_direction() {
        let synonyms = Synonyms::english();
        assert!(synonyms.of("delet").iter().any(|(word, _)| word == "remov"));
        assert!(synonyms.of("remov").iter().any(|(word, _)| word == "delet"));
        assert!(synonyms.of("zzz").is_empty());
    }

    #[test]
    fn pairs_of_another_shape_are_skipped() {
        let mut synonyms = Synonyms::none();
        synonyms.add_pairs("a\tb\t0.5\nonly one\nx\ty\tnan\nx\ty\tmuch");
        assert_eq!(synonyms.of("a").len(), 1);
        assert!(synonyms.of("x").is_empty());
    }
}
