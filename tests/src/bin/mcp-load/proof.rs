//! Questions with a different answer for each server, so that lost, truncated and swapped responses are detected.

use std::fmt::Write as _;

use mcp_jsonrpc::RawJson;

/// Pseudo-random numbers from a seed (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The arguments of a call. Each call has different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    nonce: u64,
    /// Length of the answer in words of 16 characters.
    words: u64,
}

impl Question {
    /// Mostly small and sometimes large: small ones share writes, large ones are split by pipes.
    pub(crate) fn new(dice: &mut Dice) -> Self {
        let words = match dice.below(100) {
            0 => 2_048,
            1..10 => 128,
            _ => 2,
        };
        Self { nonce: dice.next(), words }
    }

    pub(crate) fn arguments(self) -> RawJson {
        let text = format!(r#"{{"nonce":"{:016x}","words":{}}}"#, self.nonce, self.words);
        RawJson::parse(text).unwrap_or_else(|_| RawJson::empty_object())
    }

    /// Reads a question from the arguments of a call.
    pub(crate) fn read(arguments: &RawJson) -> Option<Self> {
        let nonce: String = arguments.get("nonce")?.decode().ok()?;
        let nonce = u64::from_str_radix(&nonce, 16).ok()?;
        let words = arguments.get("words")?.decode().ok()?;
        Some(Self { nonce, words })
    }

    /// The answer of this server only. Every word of it depends on its position.
    pub(crate) fn answer(self, server: u32) -> String {
        let mut dice = Dice::new(mix(self.nonce) ^ mix(u64::from(server) + 1));
        let mut text = String::new();
        for _ in 0..self.words {
            let _ = write!(text, "{:016x}", dice.next());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_round_trip_and_answers_differ_by_server() {
        let mut dice = Dice::new(7);
        for _ in 0..100 {
            let question = Question::new(&mut dice);
            assert_eq!(Question::read(&question.arguments()), Some(question));
            assert_ne!(question.answer(1), question.answer(2));
            let next = Question::new(&mut dice);
            assert_ne!(question.answer(1), next.answer(1));
        }
    }
}
