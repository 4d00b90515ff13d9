//! Walks JSON text: where values begin and end, and whether they are well formed.
//!
//! Everything that reads foreign JSON in this crate goes through [`Scanner`]. It works on text
//! already known to be UTF-8, allocates nothing, and never recurses while skipping, so a hostile
//! message costs at most one pass over its bytes.

use std::borrow::Cow;

use crate::shape::ShapeError;

/// How deeply values may nest. The same limit `serde_json` has, so that whatever we accept can
/// still be read by it later.
pub(crate) const MAX_DEPTH: u32 = 127;

/// A cursor over JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// A string as it stands in the text, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawString<'a> {
    pub(crate) text: &'a str,
    pub(crate) escaped: bool,
}

impl<'a> RawString<'a> {
    /// The string itself. Borrows unless something has to be unescaped.
    pub(crate) fn unescape(self) -> Cow<'a, str> {
        if self.escaped {
            Cow::Owned(crate::escape::unescape(self.text))
        } else {
            Cow::Borrowed(self.text)
        }
    }
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// The next byte that is not white space, left in place. `None` at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(&byte) => return Some(byte),
                None => return None,
            }
        }
    }

    /// Steps over the byte `peek` returned.
    #[inline]
    pub(crate) fn bump(&mut self) {
        self.at += 1;
    }

    /// Consumes `byte` if it comes next.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.bump();
        }
        found
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), ShapeError> {
        if self.eat(byte) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    /// Nothing but white space may follow.
    pub(crate) fn expect_end(&mut self) -> Result<(), ShapeError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the value")),
        }
    }

    pub(crate) fn unexpected(&mut self, expected: &'static str) -> ShapeError {
        let found = match self.peek() {
            None => "the end of the text",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b'-' | b'0'..=b'9') => "a number",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            Some(b',' | b':' | b'}' | b']') => "punctuation",
            Some(_) => "something that is not JSON",
        };
        ShapeError::expected(expected, found, self.at)
    }

    /// Reads a string, opening quote included.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<RawString<'a>, ShapeError> {
        self.expect(b'"', "a string")?;
        let start = self.at;
        let mut escaped = false;
        let bytes = self.bytes();
        loop {
            self.at = plain_until(bytes, self.at);
            match bytes.get(self.at) {
                Some(b'"') => {
                    // Quotes are ASCII, so the slice falls on character boundaries.
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(RawString { text, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => {
                    return Err(ShapeError::syntax("a control character in a string", self.at));
                }
                None => return Err(ShapeError::syntax("a string without an end", self.at)),
            }
        }
    }

    /// Checks the escape sequence at the cursor and steps over it.
    fn escape(&mut self) -> Result<(), ShapeError> {
        let bytes = self.bytes();
        let length = match bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u')
                if bytes
                    .get(self.at + 2..self.at + 6)
                    .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
            {
                6
            }
            _ => return Err(ShapeError::syntax("an unknown escape in a string", self.at)),
        };
        self.at += length;
        Ok(())
    }

    /// Reads a number and returns it as it is written.
    pub(crate) fn number(&mut self) -> Result<&'a str, ShapeError> {
        self.peek();
        let start = self.at;
        let bytes = self.bytes();
        let digits = |from: usize| {
            bytes[from..].iter().position(|b| !b.is_ascii_digit()).unwrap_or(bytes.len() - from)
        };
        if bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match (bytes.get(self.at), digits(self.at)) {
            (Some(b'0'), _) => self.at += 1,
            (_, 0) => return Err(self.unexpected("a number")),
            (_, n) => self.at += n,
        }
        if bytes.get(self.at) == Some(&b'.') {
            match digits(self.at + 1) {
                0 => return Err(ShapeError::syntax("a number that ends in a point", self.at)),
                n => self.at += 1 + n,
            }
        }
        if matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(self.at + 1), Some(b'+' | b'-')));
            match digits((self.at + 1 + sign).min(bytes.len())) {
                0 => return Err(ShapeError::syntax("a number without its exponent", self.at)),
                n => self.at += 1 + sign + n,
            }
        }
        Ok(&self.text[start..self.at])
    }

    #[inline]
    pub(crate) fn literal(&mut self, word: &'static str) -> Result<(), ShapeError> {
        self.peek();
        if self.bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.unexpected("a JSON value"))
        }
    }

    /// Steps over one value, checking every byte of it, and returns its text.
    pub(crate) fn skip_value(&mut self) -> Result<&'a str, ShapeError> {
        self.peek();
        let start = self.at;
        // One bit for each open container, 1 for an object: no recursion, no allocation.
        let mut kinds: u128 = 0;
        let mut depth: u32 = 0;
        'value: loop {
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if depth >= MAX_DEPTH {
                        return Err(ShapeError::syntax("values nested too deeply", self.at));
                    }
                    self.bump();
                    depth += 1;
                    kinds = kinds << 1 | u128::from(open == b'{');
                    if open == b'{' {
                        if self.peek() != Some(b'}') {
                            self.key()?;
                            continue 'value;
                        }
                    } else if self.peek() != Some(b']') {
                        continue 'value;
                    }
                }
                Some(b'"') => drop(self.string()?),
                Some(b'-' | b'0'..=b'9') => drop(self.number()?),
                Some(b't') => self.literal("true")?,
                Some(b'f') => self.literal("false")?,
                Some(b'n') => self.literal("null")?,
                _ => return Err(self.unexpected("a JSON value")),
            }
            // A value just ended, or a container was opened that is empty.
            while depth > 0 {
                let in_object = kinds & 1 == 1;
                match self.peek() {
                    Some(b',') => {
                        self.bump();
                        if in_object {
                            self.key()?;
                        }
                        continue 'value;
                    }
                    Some(b'}') if in_object => self.bump(),
                    Some(b']') if !in_object => self.bump(),
                    _ => return Err(self.unexpected("a comma or a closing bracket")),
                }
                kinds >>= 1;
                depth -= 1;
            }
            return Ok(&self.text[start..self.at]);
        }
    }

    /// Reads `"name":` and returns the name.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<RawString<'a>, ShapeError> {
        let key = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(key)
    }
}

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// The position of the first quote, backslash or control character from `at` on, or the end.
///
/// Names and short values are done eight bytes at a time. Long ones go through a loop that the
/// compiler turns into vector instructions, which is what a megabyte of text wants.
#[inline]
fn plain_until(bytes: &[u8], mut at: usize) -> usize {
    let vector_from = at + 32;
    loop {
        if at >= vector_from {
            at = skip_plain_blocks(bytes, at);
        }
        let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) else { break };
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    bytes[at..].iter().position(|&b| is_special(b)).map_or(bytes.len(), |n| at + n)
}

fn skip_plain_blocks(bytes: &[u8], at: usize) -> usize {
    let plain = bytes[at..]
        .chunks_exact(32)
        .take_while(|block| !block.iter().fold(false, |seen, &b| seen | is_special(b)))
        .count();
    at + plain * 32
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The high bit of each byte in `word` that is special. Bits above the lowest set one may be
/// wrong (borrows travel upwards), which is why callers look at the lowest only.
#[inline]
fn special_bytes(word: u64) -> u64 {
    let zero_in = |x: u64| x.wrapping_sub(ONES) & !x;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = zero_in(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_in(word ^ (ONES * u64::from(b'\\')));
    (control | quote | backslash) & HIGH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(text: &str) -> bool {
        let mut scanner = Scanner::new(text);
        scanner.skip_value().is_ok() && scanner.expect_end().is_ok()
    }

    #[test]
    fn accepts_and_refuses_what_the_grammar_does() {
        for good in [
            "{}",
            "[]",
            "null",
            " true ",
            "-0.5e+10",
            "0",
            "[1,2,[3,{}]]",
            r#"{"a":{"b":[]}}"#,
            r#""\u00e9\n\"""#,
            "\"é\"",
            "[\n]",
            "1E5",
        ] {
            assert!(whole(good), "{good}");
        }
        for bad in [
            "",
            "{",
            "}",
            "[1,]",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            "01",
            "1.",
            "-",
            "+1",
            ".5",
            "1e",
            "nul",
            "tru",
            r#""\x""#,
            r#""\u12""#,
            "\"\n\"",
            "\"",
            "[1}",
            "{\"a\":1]",
            "1 2",
            "[1 2]",
        ] {
            assert!(!whole(bad), "{bad}");
        }
    }

    #[test]
    fn nesting_is_bounded_like_in_serde_json() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        let value = |n| serde_json::from_str::<serde_json::Value>(&nested(n)).is_ok();
        assert!(whole(&nested(127)) && value(127));
        assert!(!whole(&nested(128)) && !value(128));
        assert!(!whole(&"[".repeat(100_000)));
    }

    #[test]
    fn a_special_byte_is_found_at_every_offset() {
        for length in 0..200 {
            for special in [b'"', b'\\', 0x1f, b'\n'] {
                let mut bytes = vec![b'x'; length];
                bytes.push(special);
                bytes.extend_from_slice("é\"\\".as_bytes());
                assert_eq!(plain_until(&bytes, 0), length);
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in r#"[\[\]{}",:0-9eE.+\-truefalsn \\u]{0,24}"#) {
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(whole(&text), theirs, "{}", text);
        }
    }
}
