//! Server names, checked once.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use crate::diagnostic::printable;

/// The name a host gives a server: 1–64 characters, safe to print and to use in a file name.
///
/// Spaces, dots and letters of any script are fine, as existing tools use them. Path separators,
/// control and invisible characters, surrounding white space, `.` and `..` are not.
///
/// ```
/// # use mcp_config::ServerName;
/// assert!("github".parse::<ServerName>().is_ok());
/// assert!("../../etc".parse::<ServerName>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

impl ServerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why some text is not a [`ServerName`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// Empty, or over 64 characters.
    Length,
    /// Holds a character a name may not have, shown escaped.
    Character(String),
    /// Begins or ends with white space, or is `.` or `..`.
    Edges,
}

impl fmt::Display for NameError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => out.write_str("a name that is empty or over 64 characters"),
            Self::Character(which) => write!(out, "a name with the character `{which}`"),
            Self::Edges => {
                out.write_str("a name that is `.`, `..`, or begins or ends with a space")
            }
        }
    }
}

impl std::error::Error for NameError {}

impl FromStr for ServerName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        // A byte count over 4 × 64 can't be 64 characters; don't count through a megabyte of name.
        if text.is_empty() || text.len() > 256 || text.chars().count() > 64 {
            return Err(NameError::Length);
        }
        // Nearly every name is plain, and there may be many.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if text.bytes().all(plain) {
            return Ok(Self(text.into()));
        }
        let bad = |c: &char| matches!(c, '/' | '\\') || c.is_control() || is_invisible(*c);
        if let Some(c) = text.chars().find(bad) {
            return Err(NameError::Character(printable(&c.to_string())));
        }
        if text == "." || text == ".." || text.trim() != text {
            return Err(NameError::Edges);
        }
        Ok(Self(text.into()))
    }
}

/// Bidirectional controls, zero-width characters and tags: text that shows as other text.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

impl fmt::Display for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, out)
    }
}

impl Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_fool_a_path_or_a_reader_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "a\\b",
            "a\0",
            "a\nb",
            " a",
            "a ",
            "pay\u{202e}lap",
            &"x".repeat(65),
        ] {
            assert!(bad.parse::<ServerName>().is_err(), "{bad:?}");
        }
        for good in ["github", "My Server", "com.example.v1", "日本", &"é".repeat(64)] {
            assert!(good.parse::<ServerName>().is_ok(), "{good:?}");
        }
    }
}
