//! Why a skill is not loaded.

use std::fmt::{self, Write as _};

use mcp_transport::ErrorClass;

use crate::error::CallError;

/// Why a file of a skill is not handed out.
///
/// Nothing in here is text of the file, so all of it can be shown. The one exception are the names of
/// fields, and only those that look like names. URIs are the server's own words too: as text they are short
/// and without anything that moves a cursor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SkillError {
    /// It could not be read.
    Call(CallError),
    /// The skill has no list of files to verify them against.
    Dynamic,
    /// The skill has no such file.
    NotListed {
        /// What was asked for.
        uri: Box<str>,
    },
    /// The skill lists the file more than once.
    ListedTwice {
        /// What was asked for.
        uri: Box<str>,
    },
    /// The file is larger than we accept. It was not asked for.
    TooLarge {
        /// Its size in bytes, as listed.
        size: u64,
        /// What we accept: [`ClientOptions::max_skill_file`](crate::ClientOptions::max_skill_file).
        limit: u64,
    },
    /// The file's digest is of a kind we do not know, or is none. It was not asked for.
    UnknownDigest,
    /// What was read has another size than was listed.
    WrongSize {
        /// As listed.
        listed: u64,
        /// As read.
        read: u64,
    },
    /// What was read has another digest than was listed.
    WrongDigest,
    /// The front matter differs from the listed one.
    FrontMatter {
        /// The first field that is missing, new, or has another value. `…` stands for one whose name
        /// could be mistaken for text.
        field: Box<str>,
    },
    /// What was read is not what such a file has to be.
    Unreadable(Box<str>),
}

impl SkillError {
    pub(super) fn unreadable(what: impl Into<Box<str>>) -> Self {
        SkillError::Unreadable(what.into())
    }

    /// What this calls for.
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
            SkillError::WrongDigest => f.write_str("the file is not the one that was listed"),
            SkillError::FrontMatter { field } => {
                write!(f, "the field `{field}` of the front matter is not as it was listed")
            }
            SkillError::Unreadable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SkillError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its own words are ours already.
            SkillError::Call(error) => error.source(),
            _ => None,
        }
    }
}

/// A URI that a server made up.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 200;
        let mut left = self.0.chars();
        for c in left.by_ref().take(MOST) {
            // A URI is ASCII. Whatever else is there is not to be taken for it.
            if c.is_ascii_graphic() {
                f.write_char(c)
            } else {
                write!(f, "{}", c.escape_unicode())
            }?;
        }
        if left.next().is_some() { f.write_str("…") } else { Ok(()) }
    }
}
