//! Compares text with a JSON value.

use std::{cell::OnceCell, str::Chars};

use mcp_client::RawJson;
use serde_json::Value;

/// Larger values are compared in textual order: objects with members in a different order are not recognised.
const LARGEST_READ: usize = 256 << 10;

/// The single member in which Python servers wrap a value that is not an object, next to its text. Strings may be
/// wrapped under any name.
const WRAPPER: &str = "result";

/// A value that is compared with several texts. It is parsed once.
pub(super) struct Written<'a> {
    json: &'a RawJson,
    value: OnceCell<Option<Value>>,
    /// The value of the only member, if there is exactly one.
    wrapped: OnceCell<Option<(String, RawJson)>>,
}

impl<'a> Written<'a> {
    pub(super) fn new(json: &'a RawJson) -> Self {
        Self { json, value: OnceCell::new(), wrapped: OnceCell::new() }
    }

    /// Whether `text` is this value in any formatting, or the value that this one merely wraps.
    pub(super) fn is_same_as(&self, text: &str) -> bool {
        self.is_spelled(text.trim()) || self.wraps(text)
    }

    fn is_spelled(&self, text: &str) -> bool {
        let own = self.json.as_str();
        // Values of the same kind start with the same character.
        if text.bytes().next() != own.bytes().next() {
            return false;
        }
        text == own
            || significant(text).eq(significant(own))
            || self.value().is_some_and(|value| read(text).as_ref() == Some(value))
    }

    fn wraps(&self, text: &str) -> bool {
        // A wrapped text is at least as long as the bare one, so a longer text is rejected without parsing.
        if text.len() > self.json.as_bytes().len() {
            return false;
        }
        let Some((name, inner)) = self.wrapped() else { return false };
        if inner.as_str().starts_with('"') {
            let inner = significant(inner.as_str()).filter(|(is_inside, _)| *is_inside);
            return inner.map(|(_, character)| character).eq(text.chars());
        }
        name == WRAPPER && Written::new(inner).is_spelled(text.trim())
    }

    fn wrapped(&self) -> Option<&(String, RawJson)> {
        let find = || {
            let mut members = self.json.members();
            members.next().filter(|_| members.next().is_none())
        };
        self.wrapped.get_or_init(find).as_ref()
    }

    fn value(&self) -> Option<&Value> {
        self.value.get_or_init(|| read(self.json.as_str())).as_ref()
    }
}

fn read(text: &str) -> Option<Value> {
    (text.len() <= LARGEST_READ).then(|| serde_json::from_str(text).ok()).flatten()
}

/// The characters of a JSON text independent of formatting: without white space outside strings, and with escapes in
/// strings decoded. Each comes with whether it is inside a string.
fn significant(text: &str) -> impl Iterator<Item = (bool, char)> {
    let (mut chars, mut in_string) = (text.chars(), false);
    std::iter::from_fn(move || {
        loop {
            let next = chars.next()?;
            match next {
                '"' => {
                    in_string = !in_string;
                    return Some((false, next));
                }
                '\\' if in_string => return Some((true, unescaped(&mut chars)?)),
                _ if in_string => return Some((true, next)),
                _ if next.is_ascii_whitespace() => {}
                _ => return Some((false, next)),
            }
        }
    })
}

/// Decodes an escape after its backslash.
fn unescaped(chars: &mut Chars<'_>) -> Option<char> {
    let unit = |chars: &mut Chars<'_>| {
        let digits: String = chars.by_ref().take(4).collect();
        u32::from_str_radix(&digits, 16).ok()
    };
    Some(match chars.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let first = unit(chars)?;
            if !(0xD800..0xDC00).contains(&first) {
                return char::from_u32(first).or(Some(char::REPLACEMENT_CHARACTER));
            }
            let mut ahead = chars.clone();
            let is_pair = ahead.next() == Some('\\') && ahead.next() == Some('u');
            match unit(&mut ahead).filter(|second| is_pair && (0xDC00..0xE000).contains(second)) {
                Some(second) => {
                    *chars = ahead;
                    char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))?
                }
                None => char::REPLACEMENT_CHARACTER,
            }
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_text_is_compared_by_value_not_formatting() {
        let value = RawJson::parse(r#"{"a":"x y","b":[1,2]}"#).unwrap();
        let value = Written::new(&value);
        assert!(value.is_same_as("{ \"a\": \"x y\",\n\"b\": [1, 2]}"));
        assert!(value.is_same_as(r#"{"b":[1,2],"a":"x\u0020y"}"#));
        assert!(!value.is_same_as(r#"{"a":"xy","b":[1,2]}"#));
        assert!(!value.is_same_as("text"));
        assert!(!value.is_same_as("{broken"));
    }

    #[test]
    fn value_wrapped_by_python_servers_equals_its_text() {
        let is = |text: &str, json: &str| {
            Written::new(&RawJson::parse(json.to_owned()).unwrap()).is_same_as(text)
        };
        assert!(is("grew", r#"{"result":"grew"}"#));
        assert!(is("5", r#"{"result":5}"#));
        assert!(is("[1, 2]", r#"{"result":[1,2]}"#));
        assert!(!is("grew", r#"{"result":"grew","more":1}"#));
        assert!(!is("grew", r#"{"result":"grown"}"#));
        assert!(is("grew", r#"{"content":"grew"}"#));
        assert!(!is("5", r#"{"count":5}"#));
    }
    #[test]
    fn long_content_is_recognised_with_any_escapes() {
        let lines = "grüße 😀 \"quoted\"\n".repeat(100_000);
        let ascii = serde_json::to_string(&lines).unwrap();
        let ascii =
            ascii.replace('ü', r"\u00fc").replace('ß', r"\u00DF").replace('😀', r"\ud83d\ude00");
        let wrapped = RawJson::parse(format!(r#"{{"content":{ascii}}}"#)).unwrap();
        assert!(Written::new(&wrapped).is_same_as(&lines));
        assert!(!Written::new(&wrapped).is_same_as(&lines[1..]));
        let plain = format!("{{ \"content\": {} }}", serde_json::to_string(&lines).unwrap());
        assert!(Written::new(&wrapped).is_same_as(&plain));
    }
}
