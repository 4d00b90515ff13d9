//! A hash of all settings of an entry, which approvals are bound to.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::{
    dialect::{CustomStep, CustomTool},
    model::{ServerConfig, lines},
};

/// A hash of all settings of an entry. Comments, order and white space do not affect it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of `config`, unexpanded: a rotated token does not change it, a different variable
    /// does. An approval is bound to more; see [`Disclosure`](crate::approval::Disclosure).
    pub fn of(config: &ServerConfig) -> Self {
        Self::of_texts("mcp-config entry 2", lines(config).iter().map(String::as_str))
    }

    /// The fingerprint of a list of texts. `purpose` separates lists of different kinds.
    pub(super) fn of_texts<'t>(purpose: &str, texts: impl Iterator<Item = &'t str>) -> Self {
        let mut feed = Feed(Sha256::new());
        feed.text(purpose);
        texts.for_each(|text| feed.text(text));
        Self(feed.0.finalize().into())
    }

    /// The fingerprint of bytes: their SHA-256.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The fingerprint of a custom tool.
    pub fn of_tool(tool: &CustomTool) -> Self {
        let mut feed = Feed(Sha256::new());
        feed.tool(tool);
        Self(feed.0.finalize().into())
    }

    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// Feeds texts and custom tools to the hash. Structs are destructured by name, so a new field does not
/// compile until it is hashed.
struct Feed(Sha256);

impl Feed {
    fn text(&mut self, text: &str) {
        // Hash the length first, so that different entries never produce the same bytes.
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    fn number(&mut self, number: u128) {
        self.0.update(number.to_le_bytes());
    }

    fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        self.number(items.len() as u128);
        items.for_each(|item| each(self, item));
    }

    fn option<T>(&mut self, item: Option<T>, each: impl FnMut(&mut Self, T)) {
        self.list(item.into_iter(), each);
    }

    fn tool(&mut self, tool: &CustomTool) {
        let CustomTool { name, description, parameters, read_only, steps } = tool;
        self.text("mcp-config custom tool 1");
        self.text(name);
        self.text(description);
        self.option(parameters.as_ref(), |feed, schema| feed.text(&schema.to_string()));
        self.number(u128::from(*read_only));
        self.list(steps.iter(), |feed, step| {
            let CustomStep { tool, fixed, rename, result_as } = step;
            feed.text(tool);
            feed.list(fixed.iter(), |feed, (name, value)| {
                feed.text(name);
                feed.text(&value.to_string());
            });
            feed.list(rename.iter(), |feed, (ours, theirs)| {
                feed.text(ours);
                feed.text(theirs);
            });
            feed.option(result_as.as_deref(), Self::text);
        });
    }
}
