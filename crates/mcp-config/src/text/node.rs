//! The tree every format is read into.

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
    /// As written: what a number means depends on who reads it.
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

    /// The member called `key`; the last one, as `JSON.parse` has it, when a key is repeated.
    pub(crate) fn member(&self, key: &str) -> Option<&Member<'a>> {
        self.members()?.iter().rev().find(|member| member.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.member(key).map(|member| &member.value)
    }

    /// Follows `keys` from here.
    pub(crate) fn path<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> Option<&Node<'a>> {
        keys.into_iter().try_fold(self, |node, key| node.get(key))
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn items(&self) -> Option<&[Node<'a>]> {
        match &self.value {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// What this is, in words fit for a message: the type, never the value.
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

    /// The same value without positions, to be kept with what we do not understand.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(yes) => (*yes).into(),
            // A number beyond f64 (`1e999`) has no JSON value; its text is kept instead.
            Value::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| (**text).into()),
            Value::String(text) => (**text).into(),
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::Object(members) => serde_json::Value::Object(
                members.iter().map(|m| (m.key.to_string(), m.value.to_json())).collect(),
            ),
        }
    }
}
