//! Where secrets are kept: one trait, and how its implementations are named and fail.

pub(crate) mod chain;
pub(crate) mod file;
mod key;
#[cfg(any(feature = "keyring", feature = "keyutils"))]
pub(crate) mod keyring;
pub(crate) mod memory;
pub(crate) mod vault;

use std::{fmt, io, path::PathBuf, time::Duration};

use mcp_transport::{BoxFuture, ErrorClass};

pub use self::key::{Key, signature};
use crate::secret::Secret;

/// Keeps secrets under keys.
///
/// Every method may take long (a desktop may show a prompt), so callers put limits around them, and
/// implementations never block the thread that polls.
pub trait SecretStore: Send + Sync + fmt::Debug {
    /// What is kept under `key`.
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>>;

    /// Keeps `secret` under `key`, in place of what was there.
    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Forgets what is under `key`, and tells whether there was anything.
    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// The keys there are, in order.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>>;
}

/// Which store a host wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a setting with these four values")]
pub enum StoreMode {
    /// The keyring when it works here, else the file.
    #[default]
    Auto,
    /// The keyring or nothing.
    Keyring,
    /// The file.
    File,
    /// Nothing outlives the process.
    Memory,
}

impl std::str::FromStr for StoreMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "keyring" => Ok(Self::Keyring),
            "file" => Ok(Self::File),
            "memory" => Ok(Self::Memory),
            _ => Err("a secret store is one of `auto`, `keyring`, `file`, `memory`".to_owned()),
        }
    }
}

/// Why a secret could not be read or kept. None of these shows a secret.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// A file could not be read or written.
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The keyring is locked, and nobody can be asked to unlock it.
    Locked,
    /// There is no keyring here, or it broke. The text is ours.
    Unavailable(&'static str),
    /// It took longer than this.
    TimedOut(Duration),
    /// Another process holds the lock.
    Busy,
    /// The value is larger than this store takes.
    TooLarge,
    /// The file could not be understood, and is kept here.
    Corrupt(PathBuf),
    /// The store cannot do this.
    Unsupported(&'static str),
}

impl StoreError {
    /// Whose move it is.
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
                write!(f, "the keyring did not answer within {} s", limit.as_secs_f32())
            }
            Self::Busy => f.write_str("another process holds the lock on the secrets"),
            Self::TooLarge => f.write_str("the secret is too large for this store"),
            Self::Corrupt(path) => {
                write!(f, "the file with the secrets is damaged; it is kept as {}", path.display())
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

/// Runs `work` where blocking harms nobody.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Unavailable("its thread ended early")),
    }
}
