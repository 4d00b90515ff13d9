//! Text with positions: JSON (with comments), TOML and YAML as one tree whose nodes know where they
//! stand.
//!
//! Dialects read this tree and never see a format; edits go back into the text through the spans.

mod cursor;
mod json;
mod node;
#[cfg(feature = "toml")]
mod toml;
#[cfg(feature = "yaml")]
mod yaml;

#[cfg(feature = "toml")]
pub(crate) use self::toml::parse as parse_toml;
#[cfg(feature = "yaml")]
pub(crate) use self::yaml::parse as parse_yaml;
pub(crate) use self::{
    cursor::Cursor,
    json::{Relaxed, parse as parse_json},
    node::{Member, Node, Span, Value},
};

/// How deep a document may nest. Real files stay under ten; the rest is an attack on the stack.
pub(crate) const MAX_DEPTH: usize = 128;

/// Why a document is not a tree at all.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) offset: usize,
    pub(crate) found: String,
    pub(crate) expected: &'static str,
}

/// The languages configuration is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON, with comments and trailing commas tolerated.
    Json,
    /// TOML 1.0; needs the feature `toml`.
    Toml,
    /// YAML 1.2; needs the feature `yaml`.
    Yaml,
}
