//! Finds similar spellings of words that are not in the index.
//!
//! The similarity of two words is the Dice coefficient of their trigrams. Each segment maps every
//! trigram to its words.

use super::{
    count::{count, precise},
    terms::Terms,
};

/// The minimum similarity of a misspelling.
const ALIKE: f32 = 0.5;
/// Shorter words are not corrected: too many others are close.
const SHORTEST: usize = 4;
/// The maximum number of spellings for one unknown word.
pub(crate) const MOST: usize = 4;

/// The trigram index.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Distinct trigrams, sorted.
    keys: Vec<u32>,
    /// The start of each trigram's words; one entry more than trigrams.
    starts: Vec<u32>,
    words: Vec<u32>,
    /// The number of trigrams of each word.
    sizes: Vec<u8>,
}

impl Pieces {
    pub(crate) fn new(terms: &Terms) -> Self {
        let mut all: Vec<u64> = Vec::with_capacity(terms.len() * 8);
        let mut sizes = Vec::with_capacity(terms.len());
        let mut own = Vec::new();
        for id in 0..count(terms.len()) {
            cut(terms.text(id), &mut own);
            sizes.push(u8::try_from(own.len()).unwrap_or(u8::MAX));
            all.extend(own.iter().map(|&piece| u64::from(piece) << 32 | u64::from(id)));
        }
        all.sort_unstable();
        let mut this = Self { sizes, words: Vec::with_capacity(all.len()), ..Self::default() };
        for entry in all {
            let (piece, word) = (high(entry), low(entry));
            if this.keys.last() != Some(&piece) {
                this.keys.push(piece);
                this.starts.push(count(this.words.len()));
            }
            this.words.push(word);
        }
        this.starts.push(count(this.words.len()));
        this.keys.shrink_to_fit();
        this.starts.shrink_to_fit();
        this
    }

    /// Calls `each` with the number and similarity (0.5 to 1) of every word spelt like `word`.
    pub(crate) fn alike(&self, word: &str, mut each: impl FnMut(u32, f32)) {
        if word.chars().count() < SHORTEST {
            return;
        }
        let mut wanted = Vec::new();
        cut(word, &mut wanted);
        let mut common = vec![0_u8; self.sizes.len()];
        let mut touched = Vec::new();
        for piece in &wanted {
            let Ok(at) = self.keys.binary_search(piece) else { continue };
            for &id in &self.words[self.starts[at] as usize..self.starts[at + 1] as usize] {
                let common = &mut common[id as usize];
                if *common == 0 {
                    touched.push(id);
                }
                *common = common.saturating_add(1);
            }
        }
        for id in touched {
            let (common, size) = (common[id as usize], self.sizes[id as usize]);
            let likeness = dice(u32::from(common), count(wanted.len()) + u32::from(size));
            if likeness >= ALIKE {
                each(id, likeness);
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * (self.keys.capacity() + self.starts.capacity() + self.words.capacity())
            + self.sizes.capacity()
    }
}

/// The similarity of two words, from 0 to 1.
pub(crate) fn likeness(a: &str, b: &str) -> f32 {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    cut(a, &mut left);
    cut(b, &mut right);
    let common = left.iter().filter(|piece| right.binary_search(piece).is_ok()).count();
    dice(count(common), count(left.len() + right.len()))
}

fn dice(common: u32, all: u32) -> f32 {
    if all == 0 { 0.0 } else { 2.0 * precise(common) / precise(all) }
}

/// The sorted distinct trigrams of a word, with one space before and after it.
fn cut(word: &str, pieces: &mut Vec<u32>) {
    pieces.clear();
    let (mut first, mut second) = (None, u32::from(' '));
    for c in word.chars().chain([' ']) {
        let third = u32::from(c);
        if let Some(first) = first {
            // Exact for ASCII, where each letter has separate bits.
            let first: u32 = first;
            pieces.push(first.rotate_left(16) ^ second.rotate_left(8) ^ third);
        }
        (first, second) = (Some(second), third);
    }
    pieces.sort_unstable();
    pieces.dedup();
}

fn high(entry: u64) -> u32 {
    u32::try_from(entry >> 32).unwrap_or_default()
}

fn low(entry: u64) -> u32 {
    u32::try_from(entry & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Pieces, likeness};
    use crate::text::terms::Terms;

    #[test]
    fn a_misspelt_word_finds_the_word_meant() {
        let mut terms = Terms::default();
        for word in ["repositori", "report", "weather", "issu"] {
            terms.intern(word);
        }
        let mut found = Vec::new();
        Pieces::new(&terms).alike("repositry", |id, likeness| found.push((id, likeness)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 0);
        assert!((found[0].1 - likeness("repositry", "repositori")).abs() < 1e-6);
    }

    #[test]
    fn nothing_is_like_an_empty_word() {
        assert!(likeness("", "").abs() < f32::EPSILON);
        assert!(likeness("", "weather") < 0.1);
    }
}
