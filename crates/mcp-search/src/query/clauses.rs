//! Splits a request for several things into clauses.

/// Shorter texts are a single clause.
const SHORTEST: usize = 60;

/// Words that begin a new clause.
const OPENERS: &[&str] = &[
    "and",
    "then",
    "also",
    "additionally",
    "finally",
    "afterwards",
    "next",
    "plus",
    "furthermore",
    "moreover",
    "lastly",
];

/// Byte positions in `text` where a new clause begins. Empty for a single clause.
pub(super) fn cuts(text: &str) -> Vec<usize> {
    let mut cuts = Vec::new();
    if text.len() <= SHORTEST {
        return cuts;
    }
    let mut word_start = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() || c == '\'' {
            word_start.get_or_insert(at);
        } else if let Some(start) = word_start.take()
            && c.is_whitespace()
            && OPENERS.iter().any(|opener| text[start..at].eq_ignore_ascii_case(opener))
        {
            cuts.push(start);
        }
        let ends = matches!(before, '.' | '?' | '!' | ';' | ',') && c.is_whitespace();
        if ends || c == '\n' || matches!(c, '。' | '？' | '！' | '；' | '，') {
            cuts.push(at);
        }
        before = c;
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::cuts;

    #[test]
    fn long_requests_are_cut_at_sentences_and_joining_words() {
        let text = "Find the cheapest flight to Oslo. Then book a room there and send me the bill";
        let starts: Vec<&str> = cuts(text).iter().map(|&at| text[at..].trim_start()).collect();
        assert_eq!(starts.len(), 3);
        assert!(starts[1].starts_with("Then book"));
        assert!(starts[2].starts_with("and send"));
    }

    #[test]
    fn short_requests_are_one_clause() {
        assert!(cuts("read the file and send it").is_empty());
    }
}
