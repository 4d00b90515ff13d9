//! Whether a text says the same as a JSON value.

use std::cell::OnceCell;

use mcp_client::RawJson;
use serde_json::Value;

/// Beyond this, only texts that are written alike are compared.
const LARGEST_READ: usize = 256 << 10;

/// The one member in which Python servers wrap what is no object, beside the text of it. Text is wrapped under
/// any name.
const WRAPPER: &str = "result";

/// A value that texts are compared with. It is read once, however many they are.
pub(super) struct Written<'a> {
    text: &'a str,
    value: OnceCell<Option<Value>>,
}

impl<'a> Written<'a> {
    pub(super) fn new(value: &'a RawJson) -> Self {
        Self { text: value.as_str(), value: OnceCell::new() }
    }

    /// Whether `text` is this value, written in any way, or what this value does nothing but wrap.
    pub(super) fn is_same_as(&self, text: &str) -> bool {
        self.is_spelled(text.trim()) || self.wraps(text)
    }

    fn is_spelled(&self, text: &str) -> bool {
        // The same kind of value begins alike.
        if text.bytes().next() != self.text.bytes().next() {
            return false;
        }
        significant(text.bytes()).eq(significant(self.text.bytes()))
            || self.value().is_some_and(|value| read(text).as_ref() == Some(value))
    }

    fn wraps(&self, text: &str) -> bool {
        // Wrapped text is at least as long as it is bare, so a long one costs nothing.
        if text.len() > self.text.len() {
            return false;
        }
        let Some(Value::Object(members)) = self.value() else { return false };
        let mut all = members.iter();
        match (all.next(), all.next()) {
            (Some((_, Value::String(inner))), None) => inner == text,
            (Some((name, inner)), None) if name == WRAPPER => read(text).as_ref() == Some(inner),
            _ => false,
        }
    }

    fn value(&self) -> Option<&Value> {
        self.value.get_or_init(|| read(self.text)).as_ref()
    }
}

fn read(text: &str) -> Option<Value> {
    (text.len() <= LARGEST_READ).then(|| serde_json::from_str(text).ok()).flatten()
}

/// The bytes outside strings that are not white space, and all of those inside.
fn significant(bytes: impl Iterator<Item = u8>) -> impl Iterator<Item = u8> {
    let (mut in_string, mut escaped) = (false, false);
    bytes.filter(move |byte| {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            return true;
        }
        in_string = *byte == b'"';
        !byte.is_ascii_whitespace()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter_and_values_do() {
        let value = RawJson::parse(r#"{"a":"x y","b":[1,2]}"#).unwrap();
        let value = Written::new(&value);
        assert!(value.is_same_as("{ \"a\": \"x y\",\n\"b\": [1, 2]}"));
        assert!(value.is_same_as(r#"{"b":[1,2],"a":"x\u0020y"}"#));
        assert!(!value.is_same_as(r#"{"a":"xy","b":[1,2]}"#));
        assert!(!value.is_same_as("text"));
        assert!(!value.is_same_as("{broken"));
    }

    #[test]
    fn what_python_servers_wrap_is_the_same_as_its_text() {
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
}
