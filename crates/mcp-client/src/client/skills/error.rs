//! Errors of loading skills.

use std::fmt::{self, Write as _};

use mcp_transport::ErrorClass;

use crate::error::CallError;

/// Why a file of a skill is not returned.
///
/// Errors contain no text of the file, so they can be shown. The exception is field names, and only
/// those that look like names. `Display` shortens URIs and escapes all characters that are not
/// printable ASCII.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SkillError {
    /// The file could not be read.
    Call(CallError),
    /// The skill does not list its files, so they cannot be verified.
    Dynamic,
    /// The skill does not list this file.
    NotListed {
        /// The requested URI.
        uri: Box<str>,
    },
    /// The skill lists the file more than once.
    ListedTwice {
        /// The requested URI.
        uri: Box<str>,
    },
    /// The file exceeds the size limit. It was not requested.
    TooLarge {
        /// The listed size in bytes.
        size: u64,
        /// The limit: [`ClientOptions::max_skill_file`](crate::ClientOptions::max_skill_file).
        limit: u64,
    },
    /// The file's digest is missing, malformed or of an unknown algorithm. The file was not requested.
    UnknownDigest,
    /// The size of the file differs from the listed size.
    WrongSize {
        /// The listed size.
        listed: u64,
        /// The size of the content read.
        read: u64,
    },
    /// The digest of the file differs from the listed digest.
    WrongDigest,
    /// The front matter differs from the listed one.
    FrontMatter {
        /// The first field that is missing, additional or different. `…` replaces a name that could
        /// be mistaken for text.
        field: Box<str>,
    },
    /// The content is not a valid file of its kind.
    Unreadable(Box<str>),
}

impl SkillError {
    pub(super) fn unreadable(what: impl Into<Box<str>>) -> Self {
        SkillError::Unreadable(what.into())
    }

    /// The class of the error, which says how to react to it.
    pub fn class(&self) -> ErrorClass {
        match self {
            SkillError::Call(error) => error.class(),
            _ => ErrorClass::Permanent,
        }
    }
}

impl fmt::Display for SkillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkillError::Call(error) => error.fmt(f),
            SkillError::Dynamic => f.write_str(
                "the server gives no digests for this skill, so its files cannot be verified",
            ),
            SkillError::NotListed { uri } => {
                write!(f, "the skill lists no file `{}`", Shown(uri))
            }
            SkillError::ListedTwice { uri } => {
                write!(f, "the skill lists the file `{}` more than once", Shown(uri))
            }
            SkillError::TooLarge { size, limit } => {
                write!(f, "the file has {size} bytes, and at most {limit} are accepted")
            }
            SkillError::UnknownDigest => {
                f.write_str("the file's digest is not `sha256:` and 64 hexadecimal digits")
            }
            SkillError::WrongSize { listed, read } => {
                write!(f, "the file has {read} bytes where {listed} were listed")
            }
            SkillError::WrongDigest => f.write_str("the file's digest differs from the listed one"),
            SkillError::FrontMatter { field } => {
                write!(f, "the field `{field}` of the front matter differs from the listed one")
            }
            SkillError::Unreadable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SkillError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // `Display` already prints the call error itself.
            SkillError::Call(error) => error.source(),
            _ => None,
        }
    }
}

/// Displays a URI from a server, shortened and escaped.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 200;
        let mut left = self.0.chars();
        for c in left.by_ref().take(MOST) {
            // URIs are ASCII. Escape everything else so that it cannot be mistaken for something else.
            if c.is_ascii_graphic() {
                f.write_char(c)
            } else {
                write!(f, "{}", c.escape_unicode())
            }?;
        }
        if left.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}
