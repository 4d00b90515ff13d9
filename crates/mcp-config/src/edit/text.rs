//! Text operations shared by the formats.

use crate::format::Span;

/// Returns `text` with the bytes of `span` replaced.
pub(super) fn splice(text: &str, span: Span, with: &str) -> String {
    let mut edited = text.to_owned();
    edited.replace_range(span.start..span.end, with);
    edited
}

/// The start of the line that contains `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Converts `edited` to the line ends of `text`, for formats that write plain ones.
#[cfg(any(feature = "toml", feature = "yaml"))]
pub(super) fn with_line_ends_of(text: &str, edited: String) -> String {
    if !text.contains("\r\n") {
        return edited;
    }
    edited.replace("\r\n", "\n").replace('\n', "\r\n")
}
