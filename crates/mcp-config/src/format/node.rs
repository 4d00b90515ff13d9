//! The tree that all formats are parsed into.

use std::borrow::Cow;

/// Byte offsets into the text, end exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) span: Span,
    pub(crate) value: Value<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    /// The number as written; its interpretation depends on the setting.
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    Array(Box<[Node<'a>]>),
    Object(Box<[Member<'a>]>),
}

#[derive(Clone, Debug)]
pub(crate) struct Member<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) key_span: Span,
    pub(crate) value: Node<'a>,
}

impl<'a> Node<'a> {
    pub(crate) fn members(&self) -> Option<&[Member<'a>]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The member called `key`; for a repeated key the last one, like `JSON.parse`.
    pub(crate) fn member(&self, key: &str) -> Option<&Member<'a>> {
        self.members()?.iter().rev().find(|member| member.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.member(key).map(|member| &member.value)
    }

    /// The node at the path `keys`.
    pub(crate) fn path(&self, keys: &[impl AsRef<str>]) -> Option<&Node<'a>> {
        keys.iter().try_fold(self, |node, key| node.get(key.as_ref()))
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the member called `key` is `true`.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|node| matches!(node.value, Value::Bool(true)))
    }

    pub(crate) fn items(&self) -> Option<&[Node<'a>]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The type of the value for messages; never the value itself.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// The value without positions, to preserve unknown fields.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(yes) => (*yes).into(),
            // A number beyond f64 (`1e999`) has no JSON value, so its text is kept.
            Value::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| (**text).into()),
            Value::String(text) => (**text).into(),
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::Object(members) => serde_json::Value::Object(
                members.iter().map(|m| (m.key.to_string(), m.value.to_json())).collect(),
            ),
        }
    }
}

/// The maximum nesting. Real files stay under ten; deeper ones could overflow the stack.
pub(crate) const MAX_DEPTH: usize = 128;

/// A syntax error.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) offset: usize,
    pub(crate) found: String,
    pub(crate) expected: &'static str,
}

impl SyntaxError {
    pub(super) fn new(offset: usize, found: impl Into<String>, expected: &'static str) -> Self {
        Self { offset, found: found.into(), expected }
    }

    pub(super) fn too_deep(offset: usize) -> Self {
        let found = format!("more than {MAX_DEPTH} levels of nesting");
        Self::new(offset, found, "a configuration file")
    }
}
