//! Errors of secret stores.

use std::{fmt, io, path::PathBuf, time::Duration};

use mcp_transport::ErrorClass;

/// The reason why a secret could not be read or written. No variant shows a secret.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// A file could not be read or written.
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The keyring is locked, and the user cannot be prompted to unlock it.
    Locked,
    /// There is no keyring on this machine, or it failed. The text is ours.
    Unavailable(&'static str),
    /// The keyring did not respond within this time.
    TimedOut(Duration),
    /// Another process holds the lock.
    Busy,
    /// The value is larger than this store accepts.
    TooLarge,
    /// The file was damaged and has been moved to this path.
    Corrupt(PathBuf),
    /// The store does not support this operation.
    Unsupported(&'static str),
}

impl StoreError {
    /// Returns the class, which says who must act.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Io { .. } | Self::TimedOut(_) | Self::Busy => ErrorClass::Transient,
            Self::Locked => ErrorClass::Auth,
            Self::Unavailable(_) | Self::TooLarge | Self::Corrupt(_) | Self::Unsupported(_) => {
                ErrorClass::Permanent
            }
        }
    }

    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, .. } => write!(f, "could not {doing}"),
            Self::Locked => f.write_str("the keyring is locked"),
            Self::Unavailable(why) => write!(f, "the keyring does not work: {why}"),
            Self::TimedOut(limit) => {
                write!(f, "the keyring did not respond within {} s", limit.as_secs_f32())
            }
            Self::Busy => f.write_str("another process holds the lock on the secrets"),
            Self::TooLarge => f.write_str("the secret is too large for this store"),
            Self::Corrupt(path) => {
                write!(f, "the secrets file is damaged; it was moved to {}", path.display())
            }
            Self::Unsupported(what) => write!(f, "this store cannot {what}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
