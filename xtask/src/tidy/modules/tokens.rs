//! Tokens of Rust source with their lines: words, `::` and single punctuation marks.

/// One token of code without comments and literals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The tokens of `code`, without lifetimes and labels.
pub(super) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => 1 + word_length(&rest[1..]),
            'r' if rest.starts_with("r#") => 2 + word_length(&rest[2..]),
            _ if rest.starts_with("::") => 2,
            _ => word_length(rest).max(first.len_utf8()),
        };
        let (text, tail) = rest.split_at(length);
        if first == '\n' {
            line += 1;
        } else if !first.is_whitespace() && first != '\'' {
            tokens.push(Token { text, line });
        }
        rest = tail;
    }
    tokens
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_paths_and_marks_keep_their_lines() {
        let found = tokens("use a::{b,\n c};\n&'static r#type\n");
        let texts: Vec<&str> = found.iter().map(|token| token.text).collect();
        assert_eq!(texts, ["use", "a", "::", "{", "b", ",", "c", "}", ";", "&", "r#type"]);
        let lines: Vec<usize> = found.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3]);
    }
}
