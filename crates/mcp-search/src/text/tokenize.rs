//! Splits text and identifiers into words.
//!
//! A word is a run of letters and digits. `createHTTPServer2` is also split into `create`, `http`,
//! `server` and `2`; scripts without spaces are split into pairs of characters.

use std::ops::Range;

use mcp_safe::text::prefix;

use crate::text::fold::{fold_into, is_invisible, is_spaceless, is_word_char};

/// Longer words are truncated: they are keys, hashes and encoded data, which are not searched for.
const LONGEST_WORD: usize = 64;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// One word, or one part of a compound, in the order of the text.
    Part,
    /// A compound as a whole (`httpserver`), after its parts.
    Compound,
    /// One character of a longer run in a script without spaces.
    Single,
}

/// One folded word and its position.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub text: &'a str,
    pub kind: Kind,
    /// Byte range of the run it is part of.
    pub span: Range<usize>,
}

/// Splits text into tokens. Reuses buffers, so that words do not need allocations.
#[derive(Default, Debug)]
pub(crate) struct Tokenizer {
    folded: String,
    cuts: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
}

impl Tokenizer {
    /// Calls `each` for every token of `text`, in order.
    pub(crate) fn tokens(&mut self, text: &str, mut each: impl FnMut(Token<'_>)) {
        let mut chars = text.char_indices().peekable();
        while let Some(&(start, first)) = chars.peek() {
            if !is_word_char(first) {
                chars.next();
                continue;
            }
            let spaceless = is_spaceless(first);
            let mut end = start;
            self.folded.clear();
            self.cuts.clear();
            let mut before = None;
            while let Some(&(at, c)) = chars.peek() {
                if is_invisible(c) {
                    chars.next();
                    continue;
                }
                if !is_word_char(c) || is_spaceless(c) != spaceless {
                    break;
                }
                chars.next();
                end = at + c.len_utf8();
                if spaceless {
                    self.push_character(c);
                } else {
                    before = Some(self.push_letter(c, before));
                }
            }
            if spaceless {
                self.tell_pairs(start..end, &mut each);
            } else {
                self.tell_word(start..end, &mut each);
                let skip = contraction(&text[end..]);
                while chars.peek().is_some_and(|&(at, _)| at < end + skip) {
                    chars.next();
                }
            }
        }
    }

    /// Adds a letter and marks a boundary inside a compound: `aB`, `ABc` before `B`, `a1`, `1a`.
    fn push_letter(&mut self, c: char, before: Option<(Class, usize)>) -> (Class, usize) {
        let at = self.folded.len();
        fold_into(c, &mut self.folded);
        let class = match c {
            'a'..='z' => Class::Lower,
            'A'..='Z' => Class::Upper,
            '0'..='9' => Class::Digit,
            _ if c.is_numeric() => Class::Digit,
            _ if c.is_uppercase() => Class::Upper,
            _ => Class::Lower,
        };
        if let Some((last, last_at)) = before {
            match (last, class) {
                (Class::Lower, Class::Upper)
                | (Class::Digit, Class::Lower | Class::Upper)
                | (Class::Lower | Class::Upper, Class::Digit) => self.cut(at),
                (Class::Upper, Class::Lower) if last_at > 0 => self.cut(last_at),
                _ => {}
            }
        }
        (class, at)
    }

    fn cut(&mut self, at: usize) {
        if self.cuts.last() != Some(&at) {
            self.cuts.push(at);
        }
    }

    fn push_character(&mut self, c: char) {
        self.cuts.push(self.folded.len());
        fold_into(c, &mut self.folded);
    }

    fn tell_word(&self, span: Range<usize>, each: &mut impl FnMut(Token<'_>)) {
        let mut from = 0;
        for &to in self.cuts.iter().chain([&self.folded.len()]) {
            tell(&self.folded[from..to], Kind::Part, &span, each);
            from = to;
        }
        if !self.cuts.is_empty() {
            tell(&self.folded, Kind::Compound, &span, each);
        }
    }

    fn tell_pairs(&self, span: Range<usize>, each: &mut impl FnMut(Token<'_>)) {
        let end = self.folded.len();
        let bound = |i: usize| self.cuts.get(i).copied().unwrap_or(end);
        if self.cuts.len() < 2 {
            return tell(&self.folded, Kind::Part, &span, each);
        }
        for i in 0..self.cuts.len() {
            if i + 1 < self.cuts.len() {
                tell(&self.folded[bound(i)..bound(i + 2)], Kind::Part, &span, each);
            }
            tell(&self.folded[bound(i)..bound(i + 1)], Kind::Single, &span, each);
        }
    }
}

fn tell(text: &str, kind: Kind, span: &Range<usize>, each: &mut impl FnMut(Token<'_>)) {
    if !text.is_empty() {
        each(Token { text: prefix(text, LONGEST_WORD), kind, span: span.clone() });
    }
}

/// The length of a contraction at the start of `rest` without meaning: `'s`, `n't`, `'re`.
fn contraction(rest: &str) -> usize {
    let Some(after) = rest.strip_prefix(['\'', '’']) else { return 0 };
    let quote = rest.len() - after.len();
    for ending in ["s", "t", "m", "d", "re", "ve", "ll"] {
        if let Some(tail) = after.strip_prefix(ending)
            && !tail.chars().next().is_some_and(is_word_char)
        {
            return quote + ending.len();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::{Kind, Tokenizer};

    fn cut(text: &str) -> String {
        let mut told = Vec::new();
        Tokenizer::default().tokens(text, |token| {
            told.push(match token.kind {
                Kind::Part => token.text.to_owned(),
                Kind::Compound => format!("({})", token.text),
                Kind::Single => format!("[{}]", token.text),
            });
        });
        told.join(" ")
    }

    #[test]
    fn identifiers_are_cut_where_people_join_words() {
        assert_eq!(cut("create_issue"), "create issue");
        assert_eq!(cut("createIssue"), "create issue (createissue)");
        assert_eq!(cut("parseHTTPResponse"), "parse http response (parsehttpresponse)");
        assert_eq!(cut("OAuth2Token"), "o auth 2 token (oauth2token)");
        assert_eq!(cut("JSON"), "json");
        assert_eq!(cut("Users"), "users");
    }

    #[test]
    fn contractions_lose_their_tail() {
        assert_eq!(cut("user's don't I'm they’re 'quoted'"), "user don i they quoted");
    }

    #[test]
    fn scripts_without_spaces_are_cut_in_pairs() {
        assert_eq!(cut("查天气 API"), "查天 [查] 天气 [天] [气] api");
        assert_eq!(cut("雨"), "雨");
    }

    #[test]
    fn invisible_characters_do_not_cut() {
        assert_eq!(cut("cre\u{200b}ate\u{202e}"), "create");
        assert_eq!(cut("\u{200b}\u{feff}"), "");
    }
}
