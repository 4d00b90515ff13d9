//! What to look up for a query: each word, what may stand in for it, and what a match is worth.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use crate::{
    build::{count, precise},
    edit,
    index::{Index, Slot},
    query::{Term, Words},
    segment::GAP,
    similar, terms,
};

/// What a match by two words written as one counts.
const COMPOUND: f32 = 0.35;
/// What a match by another spelling counts, times how alike the spellings are.
const SPELLING: f32 = 0.6;
/// A query of more words than this says the same thing several times, and needs stand-ins less.
const FEW_WORDS: usize = 8;
/// How quickly stand-ins lose their worth with every word beyond.
const FADING: f32 = 0.2;

/// The words of a query as they stand in one index.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// The choices of each word of the query, then of each compound the catalogue has.
    terms: Vec<Range<usize>>,
    /// How many of `terms` are words of the query.
    words: usize,
    choices: Vec<Choice<'a>>,
    /// How rare the rarest word of the query is that the catalogue knows.
    pub rarest: f32,
    /// Numbers of the choices' words, one for each slot of the index; `GAP` where it has none.
    ids: Vec<u32>,
    slots: usize,
}

/// One word to look up.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub stem: Cow<'a, str>,
    pub how: How,
    /// What the word is worth, to be multiplied with what it is worth in a tool.
    pub factor: f32,
}

/// Why a word is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// It is in the query.
    Said,
    /// It may stand in for a word of the query.
    Synonym,
    /// It is spelt like a word of the query that no tool has.
    Spelling,
    /// It is two words of the query written as one.
    Compound,
    /// The query is a regular expression.
    Pattern,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(words: &'a Words, index: &'a Index) -> Self {
        let mut plan = Self {
            terms: Vec::with_capacity(words.terms.len()),
            words: words.terms.len(),
            choices: Vec::with_capacity(8 * words.terms.len()),
            rarest: 0.0,
            ids: Vec::with_capacity(8 * words.terms.len() * index.slots.len()),
            slots: index.slots.len(),
        };
        let tools = count(index.len());
        let beyond = words.terms.len().saturating_sub(FEW_WORDS);
        let fading = 1.0 / (1.0 + FADING * precise(count(beyond)));
        for term in &words.terms {
            let start = plan.choices.len();
            let idf = match plan.choose(index, Cow::Borrowed(&term.stem), How::Said) {
                Some(frequency) => rarity(tools, frequency),
                None => rarity(tools, 0),
            };
            let known = plan.choices.len() > start;
            if known {
                plan.choices[start].factor = term.weight * idf;
                plan.rarest = plan.rarest.max(idf);
            }
            // A stand-in is worth no more than the more common of the two words.
            for (other, weight) in index.synonyms.of(&term.stem) {
                if let Some(frequency) = plan.choose(index, Cow::Borrowed(other), How::Synonym) {
                    plan.value(term.weight * weight * fading * idf.min(rarity(tools, frequency)));
                }
            }
            if !known {
                for (other, likeness) in spellings(index, term) {
                    if let Some(frequency) = plan.choose(index, Cow::Owned(other), How::Spelling) {
                        let weight = term.weight * likeness * SPELLING;
                        plan.value(weight * idf.min(rarity(tools, frequency)));
                    }
                }
            }
            plan.terms.push(start..plan.choices.len());
        }
        for compound in &words.compounds {
            if let Some(frequency) = plan.choose(index, Cow::Borrowed(compound), How::Compound) {
                plan.value(COMPOUND * rarity(tools, frequency));
                plan.terms.push(plan.choices.len() - 1..plan.choices.len());
            }
        }
        plan
    }

    /// How many words are looked up, compounds included.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Every word that is looked up.
    pub(crate) fn all(&self) -> Vec<usize> {
        (0..self.terms.len()).collect()
    }

    /// The word and its stand-ins, as numbers of choices.
    pub(crate) fn choices(&self, term: usize) -> Range<usize> {
        self.terms[term].clone()
    }

    pub(crate) fn choice(&self, choice: usize) -> &Choice<'a> {
        &self.choices[choice]
    }

    /// The number of a choice's word in a slot.
    pub(crate) fn id(&self, choice: usize, slot: usize) -> Option<u32> {
        Some(self.ids[choice * self.slots + slot]).filter(|&id| id != GAP)
    }

    /// The numbers in a slot of the words that were said, in the query's order of terms; `GAP` for
    /// words the slot does not have.
    pub(crate) fn said(&self, slot: usize) -> Vec<u32> {
        let said = |term: &Range<usize>| {
            let first = self.choices.get(term.start).filter(|_| !term.is_empty())?;
            self.id(term.start, slot).filter(|_| first.how == How::Said)
        };
        self.terms[..self.words].iter().map(|term| said(term).unwrap_or(GAP)).collect()
    }

    /// The numbers in a slot of every word that is looked up, sorted.
    pub(crate) fn known(&self, slot: usize) -> Vec<u32> {
        let mut ids: Vec<u32> =
            (0..self.choices.len()).filter_map(|choice| self.id(choice, slot)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Adds a word if any tool has it, and returns how many do. Its worth is still to be set.
    fn choose(&mut self, index: &Index, stem: Cow<'a, str>, how: How) -> Option<u32> {
        let hash = terms::hash(&stem);
        let start = self.ids.len();
        let mut frequency = 0;
        for slot in &index.slots {
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

/// How much a word tells that `frequency` of `tools` have.
fn rarity(tools: u32, frequency: u32) -> f32 {
    let (tools, frequency) = (precise(tools), precise(frequency));
    (1.0 + (tools - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// The words of the catalogue spelt most like that of `term`; of equals, those more tools have.
fn spellings(index: &Index, term: &Term) -> Vec<(String, f32)> {
    let mut found = BTreeMap::<String, f32>::new();
    for slot in &index.slots {
        slot.segment.pieces.alike(&term.stem, |id, likeness| {
            found.insert(slot.segment.terms.text(id).to_owned(), likeness);
        });
    }
    // What the thesaurus knows is a word, and only by chance a letter away from another.
    if edit::is_short(&term.written) && index.synonyms.of(&term.stem).is_empty() {
        edit::each_edit(&term.stem, |edited| {
            let hash = terms::hash(edited);
            let has = |slot: &Slot| slot.segment.terms.find_hashed(hash, edited).is_some();
            if index.slots.iter().any(has) {
                found.entry(edited.to_owned()).or_insert(edit::LIKENESS);
            }
        });
    }
    let frequency = |word: &str| {
        let of = |slot: &Slot| slot.segment.terms.find(word).map_or(0, |id| slot.frequency(id));
        index.slots.iter().map(of).sum::<u32>()
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
