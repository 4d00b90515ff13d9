//! Parsers for JSON (with comments), TOML and YAML into one tree of nodes with positions.
//!
//! Dialects read this tree independently of the format; edits use the spans to change the text.

mod cursor;
mod json;
mod node;
#[cfg(feature = "toml")]
mod toml;
#[cfg(feature = "yaml")]
mod yaml;

pub(crate) use self::{
    cursor::Cursor,
    json::{Relaxed, parse as parse_json},
    node::{Member, Node, Span, SyntaxError, Value},
};

/// The syntax of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON; comments and trailing commas are accepted.
    Json,
    /// TOML 1.0; needs the feature `toml`.
    Toml,
    /// YAML 1.2; needs the feature `yaml`.
    Yaml,
}

/// Parses text into a tree; for JSON, also reports the use of relaxed syntax.
pub(crate) fn parse(text: &str, format: Format) -> Result<(Node<'_>, Relaxed), SyntaxError> {
    match format {
        Format::Json => json::parse(text),
        #[cfg(feature = "toml")]
        Format::Toml => toml::parse(text).map(|node| (node, Relaxed::default())),
        #[cfg(feature = "yaml")]
        Format::Yaml => yaml::parse(text).map(|node| (node, Relaxed::default())),
        #[cfg(not(all(feature = "toml", feature = "yaml")))]
        _ => {
            let expected = "JSON (the features `toml` and `yaml` add the others)";
            Err(SyntaxError::new(0, "a format that this build does not support", expected))
        }
    }
}
