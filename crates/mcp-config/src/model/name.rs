//! Server names, validated when parsed.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use mcp_safe::text::is_hidden;

use crate::diagnostic::printable;

/// The name a host gives a server: 1–64 characters, safe to print and to use in a file name.
///
/// Spaces, dots and letters of any script are allowed, because existing tools use them. Path separators,
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
    /// Contains a character that is not allowed, shown escaped.
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
        // More than 4 × 64 bytes can't be 64 characters, so a megabyte of name is rejected without counting.
        if text.is_empty() || text.len() > 256 || text.chars().count() > 64 {
            return Err(NameError::Length);
        }
        // Fast path: nearly every name is plain ASCII, and there may be many.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if text.bytes().all(plain) {
            return Ok(Self(text.into()));
        }
        // Names become parts of paths and lines of prompts. A hidden character makes two names look the same.
        let bad = |c: &char| matches!(c, '/' | '\\') || is_hidden(*c);
        if let Some(c) = text.chars().find(bad) {
            return Err(NameError::Character(printable(&c.to_string())));
        }
        if text == "." || text == ".." || text.trim() != text {
            return Err(NameError::Edges);
        }
        Ok(Self(text.into()))
    }
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
    fn misleading_or_path_like_names_are_refused() {
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
            "git\u{fe0f}hub",
            &"x".repeat(65),
        ] {
            assert!(bad.parse::<ServerName>().is_err(), "{bad:?}");
        }
        for good in ["github", "My Server", "com.example.v1", "日本", &"é".repeat(64)] {
            assert!(good.parse::<ServerName>().is_ok(), "{good:?}");
        }
    }
}
