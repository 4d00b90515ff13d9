//! Mutates inputs without coverage information.

/// The maximum length: longer inputs find nothing that shorter ones do not.
pub(crate) const LONGEST: usize = 4 << 10;

/// A small generator (splitmix64): the same seed, the same inputs.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound.max(1) as u64)).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// A range within this length, mostly a short one.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 16 };
        start..start + self.below((length - start).min(most) + 1)
    }
}

/// Generates inputs from a corpus.
pub(crate) struct Mutator {
    corpus: Vec<Vec<u8>>,
    /// Words and punctuation of the corpus, as building blocks of its grammar.
    tokens: Vec<Vec<u8>>,
}

/// Values that often cause bugs.
const ODD: [&[u8]; 14] = [
    b"",
    b"\0",
    b"\n",
    b"\r\n",
    b"\\",
    b"\"",
    b"\xff",
    b"\xef\xbb\xbf",
    "\u{202e}".as_bytes(),
    "é".as_bytes(),
    b"-0",
    b"1e999",
    b"18446744073709551616",
    b"9223372036854775807",
];

impl Mutator {
    pub(crate) fn new(corpus: Vec<Vec<u8>>) -> Self {
        let mut tokens: Vec<Vec<u8>> = corpus.iter().flat_map(|input| split(input)).collect();
        tokens.extend(ODD.map(<[u8]>::to_vec));
        tokens.sort();
        tokens.dedup();
        Self { corpus, tokens }
    }

    /// The next input.
    pub(crate) fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut input = random.pick(&self.corpus).cloned().unwrap_or_default();
        for _ in 0..=random.below(5) {
            self.change(&mut input, random);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&self, input: &mut Vec<u8>, random: &mut Random) {
        let at = random.below(input.len() + 1);
        let part = random.range(input.len());
        match random.below(10) {
            0 => drop(input.drain(part)),
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            2 => input.insert(at, random.byte()),
            // Repeat twice, or often enough to reach a limit.
            3 => {
                let copies = if random.below(4) == 0 { random.below(200) } else { 1 };
                let again = input[part].repeat(copies);
                input.splice(at..at, again.into_iter().take(LONGEST));
            }
            4 | 5 => {
                let token = random.pick(&self.tokens).cloned().unwrap_or_default();
                input.splice(at..at, token);
            }
            6 | 7 => {
                let token = random.pick(&self.tokens).cloned().unwrap_or_default();
                input.splice(token_at(input, at), token);
            }
            8 => {
                if let Some(other) = random.pick(&self.corpus) {
                    let piece = other[random.range(other.len())].to_vec();
                    input.splice(part, piece);
                }
            }
            _ => {
                let tail =
                    random.pick(&self.corpus).map(|other| &other[random.below(other.len())..]);
                input.truncate(at);
                input.extend_from_slice(tail.unwrap_or_default());
            }
        }
    }
}

/// The word or the punctuation mark at a position.
fn token_at(input: &[u8], at: usize) -> std::ops::Range<usize> {
    let end = input[at..].iter().position(|byte| !is_word(*byte)).map_or(input.len(), |n| at + n);
    let start = input[..at].iter().rposition(|byte| !is_word(*byte)).map_or(0, |n| n + 1);
    if start == end { at..(at + 1).min(input.len()) } else { start..end }
}

fn split(input: &[u8]) -> Vec<Vec<u8>> {
    let same = |a: &u8, b: &u8| is_word(*a) && is_word(*b);
    input.chunk_by(same).filter(|token| token.len() <= 32).map(<[u8]>::to_vec).collect()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_they_stay_short() {
        let mutator = Mutator::new(vec![br#"{"a": [1, 2]}"#.to_vec(), b"x=y; z".to_vec()]);
        let inputs = |seed| {
            let mut random = Random::new(seed);
            (0..2_000).map(|_| mutator.input(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
        assert!(inputs(7).iter().all(|input| input.len() <= LONGEST));
    }
}
