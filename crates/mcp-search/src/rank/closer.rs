//! Reranks the best tools by combinations of words.

use super::plan::Plan;
use crate::{
    corpus::{Corpus, GAP, Segment},
    query::Words,
    text::count::{count, precise},
};

/// The bonus for two adjacent words of the query that are adjacent in the tool, as a share of the
/// weight of the rarest word of the query.
const NEIGHBOURS: f32 = 0.35;
/// The same for two words in reverse order, in the name only: `key_get` for "get key".
const SWAPPED: f32 = 0.2;
/// The bonus for a name with all words in the query; less for only some of them.
const NAME_SAID: f32 = 0.2;
/// The same for words of the name that match through a synonym.
const NAME_MEANT: f32 = 0.15;
/// The factor for a name that the query contains literally.
const NAME_QUOTED: f32 = 1.07;
/// The factor for the right kind of action; the inverse for the wrong kind.
const RIGHT_ACTION: f32 = 1.08;
const WRONG_ACTION: f32 = 0.9;
/// The maximum number of pairs.
const MOST_PAIRS: usize = 64;

/// The query in the term numbers of one slot.
pub(super) struct Closer<'a> {
    segment: &'a Segment,
    words: &'a Words,
    rarest: f32,
    said: Vec<u32>,
    known: Vec<u32>,
    order: Vec<u32>,
    pairs: Vec<[u32; 2]>,
    /// A bit for every word in a pair, to skip most other words quickly.
    in_pairs: u64,
}

impl<'a> Closer<'a> {
    pub(super) fn new(corpus: &'a Corpus, slot: usize, words: &'a Words, plan: &Plan<'_>) -> Self {
        let said = plan.said(slot);
        let order: Vec<u32> =
            words.order.iter().map(|place| place.map_or(GAP, |place| said[place])).collect();
        let mut pairs: Vec<[u32; 2]> = Vec::new();
        for pair in order.windows(2) {
            if let &[a, b] = pair
                && a != GAP
                && b != GAP
                && a != b
                && !pairs.contains(&[a, b])
                && pairs.len() < MOST_PAIRS
            {
                pairs.push([a, b]);
            }
        }
        let in_pairs = pairs.iter().flatten().fold(0, |bits, &id| bits | bit(id));
        Self {
            segment: &corpus.slots[slot].segment,
            words,
            rarest: plan.rarest,
            said,
            known: plan.known(slot),
            order,
            pairs,
            in_pairs,
        }
    }

    /// The reranked score of a tool.
    pub(super) fn look(&self, doc: u32, score: f32) -> f32 {
        let name = self.segment.name_words(doc);
        let (straight, swapped) = self.pairs_in(self.segment.words(doc), name.len());
        let mut score =
            score + self.rarest * (NEIGHBOURS * precise(straight) + SWAPPED * precise(swapped));
        if !name.is_empty() {
            score *= self.name(name);
        }
        match self.segment.docs[doc as usize].actions.agree(self.words.actions) {
            Some(true) => score * RIGHT_ACTION,
            Some(false) => score * WRONG_ACTION,
            None => score,
        }
    }

    /// The number of pairs of the query in `text`, and of those that occur only in reverse order in the
    /// name at its beginning.
    fn pairs_in(&self, text: &[u32], name: usize) -> (u32, u32) {
        let (mut straight, mut swapped) = (0_u64, 0_u64);
        if self.pairs.is_empty() {
            return (0, 0);
        }
        let mut before = false;
        for (at, &word) in text.iter().enumerate() {
            let here = self.in_pairs & bit(word) != 0;
            if here && before {
                for (n, &[a, b]) in self.pairs.iter().enumerate() {
                    if text[at - 1] == a && word == b {
                        straight |= 1 << n;
                    } else if at < name && text[at - 1] == b && word == a {
                        swapped |= 1 << n;
                    }
                }
            }
            before = here;
        }
        (straight.count_ones(), (swapped & !straight).count_ones())
    }

    /// The factor for words of the name that are in the query or match through a synonym.
    fn name(&self, name: &[u32]) -> f32 {
        let said = name.iter().filter(|word| self.said.contains(word)).count();
        let known = name.iter().filter(|word| self.known.binary_search(word).is_ok()).count();
        let share = |words: usize| precise(count(words)) / precise(count(name.len()));
        let mut worth = (1.0 + NAME_SAID * share(said))
            * (1.0 + NAME_MEANT * share(known.saturating_sub(said)));
        if said == name.len() && self.order.windows(name.len()).any(|words| words == name) {
            worth *= NAME_QUOTED;
        }
        worth
    }
}

fn bit(id: u32) -> u64 {
    1 << (id % 64)
}
