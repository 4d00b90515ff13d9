//! The lookup plan of a query: each word, its synonyms and other spellings, and their weights.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use crate::{
    corpus::{Corpus, GAP, Slot},
    query::{Term, Words},
    text::{
        count::{count, precise},
        edits, similar, terms,
    },
};

/// The weight of a match by two words joined to one.
const COMPOUND: f32 = 0.35;
/// The weight of a match by another spelling, multiplied with the similarity.
const SPELLING: f32 = 0.6;
/// Queries with more words than this are redundant and need synonyms less.
const FEW_WORDS: usize = 8;
/// How quickly the weight of synonyms falls with each additional word.
const FADING: f32 = 0.2;

/// The words of a query looked up in one index.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// The choices of each word of the query, then of each compound in the index.
    terms: Vec<Range<usize>>,
    /// How many of `terms` are words of the query.
    words: usize,
    choices: Vec<Choice<'a>>,
    /// The rarity of the rarest known word of the query.
    pub rarest: f32,
    /// Term numbers of the choices, one for each slot of the index; `GAP` if the slot does not have it.
    ids: Vec<u32>,
    slots: usize,
}

/// One word to look up.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub stem: Cow<'a, str>,
    pub how: How,
    /// The weight of the word, to be multiplied with its weight in a tool.
    pub factor: f32,
}

/// Why a word is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// It is in the query.
    Said,
    /// It is a synonym of a word in the query.
    Synonym,
    /// It is spelt like a word of the query that no tool has.
    Spelling,
    /// It is two words of the query joined to one.
    Compound,
    /// The query is a regular expression.
    Pattern,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(words: &'a Words, corpus: &'a Corpus) -> Self {
        let mut plan = Self {
            terms: Vec::with_capacity(words.terms.len()),
            words: words.terms.len(),
            choices: Vec::with_capacity(8 * words.terms.len()),
            rarest: 0.0,
            ids: Vec::with_capacity(8 * words.terms.len() * corpus.slots.len()),
            slots: corpus.slots.len(),
        };
        let tools = count(corpus.len());
        let beyond = words.terms.len().saturating_sub(FEW_WORDS);
        let fading = 1.0 / (1.0 + FADING * precise(count(beyond)));
        for term in &words.terms {
            let start = plan.choices.len();
            let idf = match plan.choose(corpus, Cow::Borrowed(&term.stem), How::Said) {
                Some(frequency) => rarity(tools, frequency),
                None => rarity(tools, 0),
            };
            let known = plan.choices.len() > start;
            if known {
                plan.choices[start].factor = term.weight * idf;
                plan.rarest = plan.rarest.max(idf);
            }
            // A synonym weighs no more than the more common of the two words.
            for (other, weight) in corpus.synonyms.of(&term.stem) {
                if let Some(frequency) = plan.choose(corpus, Cow::Borrowed(other), How::Synonym) {
                    plan.value(term.weight * weight * fading * idf.min(rarity(tools, frequency)));
                }
            }
            if !known {
                for (other, likeness) in spellings(corpus, term) {
                    if let Some(frequency) = plan.choose(corpus, Cow::Owned(other), How::Spelling) {
                        let weight = term.weight * likeness * SPELLING;
                        plan.value(weight * idf.min(rarity(tools, frequency)));
                    }
                }
            }
            plan.terms.push(start..plan.choices.len());
        }
        for compound in &words.compounds {
            if let Some(frequency) = plan.choose(corpus, Cow::Borrowed(compound), How::Compound) {
                plan.value(COMPOUND * rarity(tools, frequency));
                plan.terms.push(plan.choices.len() - 1..plan.choices.len());
            }
        }
        plan
    }

    /// The number of words to look up, including compounds.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// All words to look up.
    pub(crate) fn all(&self) -> Vec<usize> {
        (0..self.terms.len()).collect()
    }

    /// The word and its alternatives, as indices of choices.
    pub(crate) fn choices(&self, term: usize) -> Range<usize> {
        self.terms[term].clone()
    }

    pub(crate) fn choice(&self, choice: usize) -> &Choice<'a> {
        &self.choices[choice]
    }

    /// The term number of a choice in a slot.
    pub(crate) fn id(&self, choice: usize, slot: usize) -> Option<u32> {
        Some(self.ids[choice * self.slots + slot]).filter(|&id| id != GAP)
    }

    /// The term numbers in a slot of the words in the query, in the order of its terms; `GAP` for words
    /// the slot does not have.
    pub(crate) fn said(&self, slot: usize) -> Vec<u32> {
        let said = |term: &Range<usize>| {
            let first = self.choices.get(term.start).filter(|_| !term.is_empty())?;
            self.id(term.start, slot).filter(|_| first.how == How::Said)
        };
        self.terms[..self.words].iter().map(|term| said(term).unwrap_or(GAP)).collect()
    }

    /// The sorted term numbers in a slot of all words to look up.
    pub(crate) fn known(&self, slot: usize) -> Vec<u32> {
        let mut ids: Vec<u32> =
            (0..self.choices.len()).filter_map(|choice| self.id(choice, slot)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Adds a word if any tool has it, and returns how many do. Its weight is set later.
    fn choose(&mut self, corpus: &Corpus, stem: Cow<'a, str>, how: How) -> Option<u32> {
        let hash = terms::hash(&stem);
        let start = self.ids.len();
        let mut frequency = 0;
        for slot in &corpus.slots {
            let id = slot.segment.terms.find_hashed(hash, &stem);
            frequency += id.map_or(0, |id| slot.frequency(id));
            self.ids.push(id.unwrap_or(GAP));
        }
        if frequency == 0 {
            self.ids.truncate(start);
            return None;
        }
        self.choices.push(Choice { stem, how, factor: 0.0 });
        Some(frequency)
    }

    fn value(&mut self, factor: f32) {
        if let Some(last) = self.choices.last_mut() {
            last.factor = factor;
        }
    }
}

/// The rarity of a word that `frequency` of `tools` have.
fn rarity(tools: u32, frequency: u32) -> f32 {
    let (tools, frequency) = (precise(tools), precise(frequency));
    (1.0 + (tools - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// The most similar spellings of `term` in the index; for equal similarity, the more frequent words.
fn spellings(corpus: &Corpus, term: &Term) -> Vec<(String, f32)> {
    let mut found = BTreeMap::<String, f32>::new();
    for slot in &corpus.slots {
        slot.segment.pieces.alike(&term.stem, |id, likeness| {
            found.insert(slot.segment.terms.text(id).to_owned(), likeness);
        });
    }
    // A word in the thesaurus is correct, even if it is close to another word.
    if edits::is_short(&term.written) && corpus.synonyms.of(&term.stem).is_empty() {
        edits::each_edit(&term.stem, |edited| {
            let hash = terms::hash(edited);
            let has = |slot: &Slot| slot.segment.terms.find_hashed(hash, edited).is_some();
            if corpus.slots.iter().any(has) {
                found.entry(edited.to_owned()).or_insert(edits::LIKENESS);
            }
        });
    }
    let frequency = |word: &str| {
        let of = |slot: &Slot| slot.segment.terms.find(word).map_or(0, |id| slot.frequency(id));
        corpus.slots.iter().map(of).sum::<u32>()
    };
    let mut found: Vec<(u32, String, f32)> = found
        .into_iter()
        .map(|(word, likeness)| (frequency(&word), word, likeness))
        .filter(|(frequency, ..)| *frequency > 0)
        .collect();
    found.sort_by(|a, b| b.2.total_cmp(&a.2).then(b.0.cmp(&a.0)));
    found.truncate(similar::MOST);
    found.into_iter().map(|(_, word, likeness)| (word, likeness)).collect()
}
