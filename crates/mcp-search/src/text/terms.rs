//! The dictionary of an index: a set of words with numbers.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

const EMPTY: u32 = u32::MAX;

/// Numbers words in order of insertion. All text is in one buffer.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    text: String,
    /// The end of each word in `text`.
    ends: Vec<u32>,
    /// Hash table with open addressing and a power-of-two length: the number of the word, or `EMPTY`.
    table: Vec<u32>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { text: String::new(), ends: Vec::new(), table: vec![EMPTY; 16] }
    }
}

impl Terms {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The word with number `id`.
    pub(crate) fn text(&self, id: u32) -> &str {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.text[start as usize..self.ends[id] as usize]
    }

    pub(crate) fn find(&self, word: &str) -> Option<u32> {
        self.find_hashed(hash(word), word)
    }

    /// As [`Terms::find`], for a word that is looked up in several sets.
    pub(crate) fn find_hashed(&self, hash: u64, word: &str) -> Option<u32> {
        match self.table[self.slot(hash, word)] {
            EMPTY => None,
            id => Some(id),
        }
    }

    /// The number of `word`, which is added if it is new.
    pub(crate) fn intern(&mut self, word: &str) -> u32 {
        let slot = self.slot(hash(word), word);
        if self.table[slot] != EMPTY {
            return self.table[slot];
        }
        let id = u32::try_from(self.ends.len()).expect("fewer than 2^32 distinct words");
        self.text.push_str(word);
        self.ends.push(u32::try_from(self.text.len()).expect("less than 4 GiB of distinct words"));
        self.table[slot] = id;
        if self.ends.len() * 2 > self.table.len() {
            self.grow();
        }
        id
    }

    pub(crate) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.text.capacity() + 4 * (self.ends.capacity() + self.table.capacity())
    }

    /// The position of `word`, or the empty position where it belongs.
    fn slot(&self, hash: u64, word: &str) -> usize {
        let mask = self.table.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits choose a place")]
        let mut at = hash as usize & mask;
        while self.table[at] != EMPTY && self.text(self.table[at]) != word {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        self.table = vec![EMPTY; self.table.len() * 2];
        for id in 0..self.ends.len() {
            #[expect(clippy::cast_possible_truncation, reason = "checked when the word was added")]
            let id = id as u32;
            let word = self.text(id);
            let slot = self.slot(hash(word), word);
            self.table[slot] = id;
        }
    }
}

/// A fast hash for short words. The seed differs in every process, so that a server cannot choose
/// colliding words; no output depends on it.
pub(crate) fn hash(word: &str) -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0) | 1);
    let mut state = *SEED;
    let mut chunks = word.as_bytes().chunks_exact(8);
    for chunk in &mut chunks {
        state = mix(state, u64::from_le_bytes(chunk.try_into().expect("chunks are eight bytes")));
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    mix(mix(state, u64::from_le_bytes(last)), word.len() as u64)
}

fn mix(state: u64, word: u64) -> u64 {
    let product =
        u128::from(state ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64 ^ state.rotate_left(32));
    #[expect(clippy::cast_possible_truncation, reason = "folding the halves is the point")]
    let folded = (product as u64) ^ ((product >> 64) as u64);
    folded
}

#[cfg(test)]
mod tests {
    use super::Terms;

    #[test]
    fn words_keep_their_numbers_as_the_table_grows() {
        let mut terms = Terms::default();
        let words: Vec<String> = (0..500).map(|n| format!("word{n}")).collect();
        for (n, word) in words.iter().enumerate() {
            assert_eq!(terms.intern(word) as usize, n);
        }
        for (n, word) in words.iter().enumerate() {
            assert_eq!(terms.find(word).map(|id| id as usize), Some(n));
            assert_eq!(terms.text(u32::try_from(n).unwrap()), word);
        }
        assert_eq!(terms.find("absent"), None);
        assert_eq!(terms.intern("word7"), 7);
    }
}
