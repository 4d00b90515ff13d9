//! A JSON parser that accepts comments and trailing commas, and reports their use.
//!
//! It is not a dependency because one pass must produce the span of every key and value (for positions and
//! edits in place), keep duplicate keys (for diagnostics), and enforce a depth limit.

use std::borrow::Cow;

use mcp_safe::text::escape;

use super::node::{MAX_DEPTH, Member, Node, Span, SyntaxError, Value};

/// Where a document uses syntax beyond strict JSON, which some tools reject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Relaxed {
    pub(crate) comment: Option<usize>,
    pub(crate) trailing_comma: Option<usize>,
}

pub(crate) fn parse(text: &str) -> Result<(Node<'_>, Relaxed), SyntaxError> {
    let (relaxed, members, items) = Default::default();
    let mut parser = Parser { text, bytes: text.as_bytes(), at: 0, relaxed, members, items };
    parser.skip_trivia()?;
    let root = parser.value(0)?;
    parser.skip_trivia()?;
    if parser.at < parser.bytes.len() {
        return Err(parser.unexpected("the end of the file"));
    }
    Ok((root, parser.relaxed))
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    relaxed: Relaxed,
    /// Children of the open containers. Each container takes its children when it closes, in one allocation
    /// of the exact size.
    members: Vec<Member<'a>>,
    items: Vec<Node<'a>>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, SyntaxError> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object(depth + 1)?,
            Some(b'[') => self.array(depth + 1)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true", Value::Bool(true))?,
            Some(b'f') => self.word("false", Value::Bool(false))?,
            Some(b'n') => self.word("null", Value::Null)?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Node { span: Span { start, end: self.at }, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>, SyntaxError> {
        self.open(depth)?;
        let first = self.members.len();
        loop {
            self.skip_trivia()?;
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Value::Object(self.members.drain(first..).collect()));
            }
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes, or `}`"));
            }
            let start = self.at;
            let key = self.string()?;
            let key_span = Span { start, end: self.at };
            self.skip_trivia()?;
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:` after the key"));
            }
            self.at += 1;
            self.skip_trivia()?;
            let value = self.value(depth)?;
            self.members.push(Member { key, key_span, value });
            self.separator(b'}', "`,` or `}`")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value<'a>, SyntaxError> {
        self.open(depth)?;
        let first = self.items.len();
        loop {
            self.skip_trivia()?;
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Value::Array(self.items.drain(first..).collect()));
            }
            let item = self.value(depth)?;
            self.items.push(item);
            self.separator(b']', "`,` or `]`")?;
        }
    }

    fn open(&mut self, depth: usize) -> Result<(), SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(SyntaxError::too_deep(self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// After a value: consumes a comma, or leaves the closing bracket for the loop.
    fn separator(&mut self, close: u8, expected: &'static str) -> Result<(), SyntaxError> {
        self.skip_trivia()?;
        match self.peek() {
            Some(b',') => {
                let comma = self.at;
                self.at += 1;
                self.skip_trivia()?;
                if self.peek() == Some(close) {
                    self.relaxed.trailing_comma.get_or_insert(comma);
                }
                Ok(())
            }
            Some(byte) if byte == close => Ok(()),
            _ => Err(self.unexpected(expected)),
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, SyntaxError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value<'a>, SyntaxError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        // `010` is not a number, and other languages read it as 8: <https://www.rfc-editor.org/rfc/rfc8259#section-6>.
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut good = whole > 0 && !(leading_zero && whole > 1);
        if self.peek() == Some(b'.') {
            self.at += 1;
            good &= self.digits() > 0;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            good &= self.digits() > 0;
        }
        if good {
            return Ok(Value::Number(Cow::Borrowed(&self.text[start..self.at])));
        }
        Err(SyntaxError::new(start, "a malformed number", "a number such as 30 or -1.5e3"))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    fn string(&mut self) -> Result<Cow<'a, str>, SyntaxError> {
        self.at += 1;
        let start = self.at;
        self.plain_run();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut owned = self.text[start..self.at].to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(owned));
                }
                Some(b'\\') => owned.push(self.escape()?),
                Some(_) => return Err(self.unexpected("an escape such as `\\n` in this string")),
                None => return Err(self.unexpected("a closing `\"`")),
            }
            let run = self.at;
            self.plain_run();
            owned.push_str(&self.text[run..self.at]);
        }
    }

    /// Skips to the next special byte of a string: a quote, an escape, a control character.
    fn plain_run(&mut self) {
        while self.peek().is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
            self.at += 1;
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let start = self.at;
        let Some(&kind) = self.bytes.get(self.at + 1) else {
            return Err(self.unexpected("a closing `\"`"));
        };
        self.at += 2;
        Ok(match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(start),
            _ => {
                let expected = "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u";
                return Err(SyntaxError::new(start, "an unknown escape", expected));
            }
        })
    }

    /// Characters beyond the first plane are written as two escapes, a surrogate pair. JSON permits one half alone, but a
    /// string cannot hold it; see <https://www.rfc-editor.org/rfc/rfc8259#section-8.2>.
    fn unicode(&mut self, start: usize) -> Result<char, SyntaxError> {
        let expected = "\\u and four hexadecimal digits of a character";
        let bad = |found: &str| SyntaxError::new(start, found, expected);
        let high = self.hex4().ok_or_else(|| bad("a malformed \\u escape"))?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| bad("half of a surrogate pair"));
        }
        if !self.bytes[self.at..].starts_with(b"\\u") {
            return Err(bad("half of a surrogate pair"));
        }
        self.at += 2;
        let low = self.hex4().filter(|low| (0xdc00..0xe000).contains(low));
        let low = low.ok_or_else(|| bad("half of a surrogate pair"))?;
        let joined = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        char::from_u32(joined).ok_or_else(|| bad("half of a surrogate pair"))
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        let mut code = 0;
        for &digit in digits {
            code = code * 16 + char::from(digit).to_digit(16)?;
        }
        self.at += 4;
        Some(code)
    }

    fn skip_trivia(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let rest = &self.bytes[start..];
        let length = match rest.get(1) {
            Some(b'/') => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            Some(b'*') => {
                if let Some(close) = memchr::memmem::find(&rest[2..], b"*/") {
                    close + 4
                } else {
                    self.at = self.bytes.len();
                    return Err(self.unexpected("`*/`, the end of a comment"));
                }
            }
            _ => return Err(self.unexpected("a value")),
        };
        self.relaxed.comment.get_or_insert(start);
        self.at += length;
        Ok(())
    }

    /// Describes the unexpected input by one escaped character: enough to find it, too little to leak a
    /// secret.
    fn unexpected(&self, expected: &'static str) -> SyntaxError {
        let found = match self.text[self.at..].chars().next() {
            None => "the end of the file".to_owned(),
            Some(other) if other.is_control() => {
                format!("the control character U+{:04X}", other as u32)
            }
            Some(other) => format!("`{}`", escape(other.encode_utf8(&mut [0; 4]))),
        };
        SyntaxError::new(self.at, found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> String {
        let error = parse(text).unwrap_err();
        format!("{}: found {}, expected {}", error.offset, error.found, error.expected)
    }

    #[test]
    fn agrees_with_serde_json_on_strict_documents() {
        for text in [
            r#"{"a":[1,-2.5e3,true,false,null,"x\n\u00e9\ud83e\udd80"],"b":{}}"#,
            "[]",
            " \"only a string\" ",
            "0",
        ] {
            let (root, relaxed) = parse(text).unwrap();
            assert_eq!(root.to_json(), serde_json::from_str::<serde_json::Value>(text).unwrap());
            assert!(relaxed.comment.is_none() && relaxed.trailing_comma.is_none());
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_accepted_and_reported() {
        let (root, relaxed) = parse("// hi\n{\"a\": [1, /* one */],\n}").unwrap();
        assert_eq!(root.to_json(), serde_json::json!({"a": [1]}));
        assert_eq!((relaxed.comment, relaxed.trailing_comma), (Some(0), Some(14)));
    }

    #[test]
    fn syntax_errors_name_position_found_and_expected() {
        assert_eq!(failure("{\"a\" 1}"), "5: found `1`, expected `:` after the key");
        assert_eq!(failure("[1"), "2: found the end of the file, expected `,` or `]`");
        assert_eq!(failure("{,}"), "1: found `,`, expected a key in double quotes, or `}`");
        assert_eq!(
            failure("01"),
            "0: found a malformed number, expected a number such as 30 or -1.5e3"
        );
        assert_eq!(
            failure("\"a\u{0}\""),
            "2: found the control character U+0000, expected an escape such as `\\n` in this string"
        );
        assert_eq!(
            failure("/* x"),
            "4: found the end of the file, expected `*/`, the end of a comment"
        );
        assert!(failure("\"\\ud800x\"").contains("half of a surrogate pair"));
    }

    #[test]
    fn deep_nesting_is_refused_without_stack_overflow() {
        assert!(failure(&"[".repeat(1_000_000)).contains("more than 128 levels"));
        assert!(parse(&("[".repeat(128) + &"]".repeat(128))).is_ok());
    }
}
