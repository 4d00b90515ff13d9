//! Stop words.

/// English function words; folded, and without the endings that the tokenizer removes from contractions.
const ENGLISH: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "am", "an", "and", "any", "are",
    "aren", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "cannot", "could", "couldn", "did", "didn", "do", "does", "doesn", "doing",
    "don", "down", "during", "each", "few", "for", "from", "further", "had", "has", "have",
    "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is",
    "isn", "it", "its", "itself", "just", "me", "more", "most", "my", "myself", "no", "nor", "not",
    "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own", "same",
    "she", "should", "so", "some", "such", "than", "that", "the", "their", "theirs", "them",
    "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until",
    "up", "very", "was", "wasn", "we", "were", "weren", "what", "when", "where", "which", "while",
    "who", "whom", "why", "will", "with", "would", "wouldn", "you", "your", "yours", "yourself",
];

/// Words of the request itself and not of its subject. They are indexed, because a tool may be
/// about `help` or `need`, but ignored in queries.
const REQUEST: &[&str] = &[
    "additionally",
    "also",
    "anyone",
    "api",
    "assist",
    "could",
    "currently",
    "finally",
    "give",
    "going",
    "hello",
    "help",
    "hey",
    "hi",
    "interested",
    "kindly",
    "know",
    "let",
    "like",
    "looking",
    "may",
    "mcp",
    "might",
    "need",
    "needed",
    "ok",
    "okay",
    "please",
    "shall",
    "something",
    "tell",
    "thank",
    "thanks",
    "tool",
    "tools",
    "us",
    "use",
    "using",
    "want",
    "wanted",
    "wants",
    "wondering",
];

/// Whether `word` is excluded from the index and from queries.
pub(crate) fn is_stop_word(word: &str) -> bool {
    ENGLISH.binary_search(&word).is_ok()
}

/// Whether `word` is excluded from queries only.
pub(crate) fn is_request_word(word: &str) -> bool {
    REQUEST.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_lists_are_sorted() {
        assert!(super::ENGLISH.is_sorted());
        assert!(super::REQUEST.is_sorted());
    }
}
