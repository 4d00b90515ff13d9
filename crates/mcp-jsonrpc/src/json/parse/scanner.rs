//! Walks JSON text: where values begin and end, and whether they are well formed.
//!
//! Everything that reads foreign JSON in this crate goes through [`Scanner`]. It works on text
//! already known to be UTF-8, allocates nothing, and never recurses while skipping, so a hostile
//! message costs at most one pass over its bytes.

use std::borrow::Cow;

use super::{
    skip::{self, Fault, Stop},
    string,
};
use crate::json::error::ShapeError;

/// A cursor over JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// A cursor over the same text, at an earlier place.
    pub(crate) fn back_at(&self, at: usize) -> Self {
        Self { text: self.text, at }
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
        self.at = skip::space(self.bytes(), self.at);
        self.bytes().get(self.at).copied()
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

    /// Steps to the next item of a container, or past the bracket that closes it: whether there is one.
    #[inline]
    pub(crate) fn next_item(
        &mut self,
        first: &mut bool,
        close: u8,
        expected: &'static str,
    ) -> Result<bool, ShapeError> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.bump();
                return Ok(false);
            }
            Some(b',') if !*first => self.bump(),
            _ if *first => {}
            _ => return Err(self.unexpected(expected)),
        }
        *first = false;
        Ok(true)
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

    /// Reads a string. Borrows unless something has to be unescaped.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, ShapeError> {
        self.expect(b'"', "a string")?;
        let (bytes, start) = (self.bytes(), self.at);
        let end = skip::plain(bytes, start);
        if bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            // Quotes are ASCII, so the slice falls on character boundaries.
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        let (text, end) =
            string::read_string(self.text, start, end).map_err(|stop| self.stopped(stop))?;
        self.at = end;
        Ok(Cow::Owned(text))
    }

    /// Reads a number and returns it as it is written.
    pub(crate) fn number(&mut self) -> Result<&'a str, ShapeError> {
        self.token(skip::number)
    }

    #[inline]
    pub(crate) fn literal(&mut self, word: &'static str) -> Result<(), ShapeError> {
        self.token(|bytes, at| skip::literal(bytes, at, word)).map(drop)
    }

    /// Steps over one value, checking every byte of it, and returns its text.
    pub(crate) fn skip_value(&mut self) -> Result<&'a str, ShapeError> {
        self.token(skip::value)
    }

    /// The same however deeply it nests.
    pub(crate) fn skip_deep_value(&mut self) -> Result<&'a str, ShapeError> {
        self.token(skip::deep_value)
    }

    #[inline]
    fn token(
        &mut self,
        end: impl FnOnce(&[u8], usize) -> Result<usize, Stop>,
    ) -> Result<&'a str, ShapeError> {
        self.peek();
        let start = self.at;
        self.at = end(self.bytes(), start).map_err(|stop| self.stopped(stop))?;
        Ok(&self.text[start..self.at])
    }

    #[cold]
    fn stopped(&mut self, stop: Stop) -> ShapeError {
        self.at = stop.at;
        match stop.fault {
            Fault::Expected(what) => self.unexpected(what),
            Fault::Syntax(what) => ShapeError::syntax(what, stop.at),
        }
    }

    /// Reads `"name":` and returns the name.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>, ShapeError> {
        let key = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(key)
    }
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
    fn accepts_exactly_the_json_grammar() {
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

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in r#"[\[\]{}",:0-9eE.+\-truefalsn \\u]{0,24}"#) {
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(whole(&text), theirs, "{}", text);
        }
    }
}
