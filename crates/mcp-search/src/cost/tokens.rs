//! Estimates the number of tokens of a text without a tokenizer.

/// Counts the tokens of a text. Implement it over a real tokenizer to be exact.
pub trait CountTokens: Send + Sync {
    /// How many tokens `text` has.
    fn tokens(&self, text: &str) -> usize;
}

/// An estimate from the shapes of words, for the byte-pair encodings of current models.
///
/// The crate's README states its error on real tool definitions.
///
/// ```
/// use mcp_search::cost::{CountTokens, Estimate};
///
/// assert_eq!(Estimate.tokens("Read a text file from disk."), 7);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate;

/// Tokens are counted in eighths, so that a run can cost a fraction of a token.
const TOKEN: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// ASCII lower case, with an optional capital at the start.
    Word,
    /// ASCII capitals.
    Capitals,
    Digits,
    Blank,
    Line,
    Sign,
    /// Letters with accents, Greek, Cyrillic, Arabic and the like.
    Foreign,
    /// Scripts in which a character is a syllable or a word, and emoji.
    Dense,
}

impl CountTokens for Estimate {
    fn tokens(&self, text: &str) -> usize {
        let mut total = 0;
        let mut run = (Class::Blank, 0);
        for c in text.chars() {
            let class = class(c);
            // A capital before lower case belongs to the word.
            if run == (Class::Capitals, 1) && class == Class::Word {
                run.0 = Class::Word;
            }
            if class == run.0 {
                run.1 += 1;
            } else {
                total += cost(run.0, run.1);
                run = (class, 1);
            }
        }
        (total + cost(run.0, run.1)).div_ceil(TOKEN)
    }
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Word,
        'A'..='Z' => Class::Capitals,
        '0'..='9' => Class::Digits,
        ' ' | '\t' => Class::Blank,
        '\n' | '\r' => Class::Line,
        '\0'..='\x7f' => Class::Sign,
        '\u{80}'..='\u{7ff}' | '\u{1e00}'..='\u{1fff}' => Class::Foreign,
        _ => Class::Dense,
    }
}

/// The cost of a run of one class, in eighths of a token. Fitted to published encodings.
fn cost(class: Class, length: usize) -> usize {
    match class {
        // Most words are one token, including the preceding space; only long ones are two.
        Class::Word => TOKEN + length.saturating_sub(11),
        Class::Capitals | Class::Digits => TOKEN * length.div_ceil(3),
        Class::Blank if length < 2 => 0,
        Class::Blank => TOKEN,
        Class::Line => TOKEN / 2,
        // JSON's `":{"` and the like are one token.
        Class::Sign => TOKEN * length.div_ceil(4),
        Class::Foreign => length * 4,
        Class::Dense => length * 6,
    }
}

#[cfg(test)]
mod tests {
    use super::{CountTokens, Estimate};

    #[test]
    fn longer_text_costs_more_tokens() {
        assert_eq!(Estimate.tokens(""), 0);
        let short = Estimate.tokens("list the files");
        assert!(short < Estimate.tokens("list the files of every directory"));
    }
}
