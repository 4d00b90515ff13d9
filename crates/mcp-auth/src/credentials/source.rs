//! Sources of a static credential.

use std::{env, fmt, fs, io, io::Read as _, path::PathBuf, sync::Arc};

use mcp_transport::ErrorClass;
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

use super::helper::{Helper, HelperError};
use crate::{
    secret::Secret,
    store::{Key, StoreError, Vault},
};

/// Credentials are a few kilobytes at most.
const LONGEST: u64 = 64 * 1024;

/// The source of a credential. It is read for every use, so that a changed value is picked up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// A fixed value.
    Value(Secret),
    /// The environment variable of this name.
    Env(String),
    /// The text of this file without surrounding whitespace, such as a workload identity token.
    File(PathBuf),
    /// An entry of the secret store.
    Stored(Arc<Vault>, Key),
    /// The output of a command.
    Helper(Arc<Helper>),
}

impl Source {
    /// Reads the current value.
    pub async fn read(&self) -> Result<Secret, SourceError> {
        let secret = match self {
            Self::Value(secret) => secret.clone(),
            Self::Env(name) => match env::var(name) {
                Ok(value) => Secret::new(value),
                Err(_) => return Err(SourceError::Unset(name.clone())),
            },
            Self::File(path) => read_file(path).await.map_err(SourceError::File)?,
            Self::Stored(vault, key) => match vault.store().get(key).await {
                Ok(Some(secret)) => secret,
                Ok(None) => return Err(SourceError::NotStored(key.account.clone())),
                Err(error) => return Err(SourceError::Store(error)),
            },
            Self::Helper(helper) => helper.token().await.map_err(SourceError::Helper)?,
        };
        if secret.is_empty() {
            return Err(SourceError::Empty);
        }
        Ok(secret)
    }

    /// Reads the current value if that needs neither a command nor the secret store.
    pub(crate) fn peek(&self) -> Option<Secret> {
        match self {
            Self::Value(secret) => Some(secret.clone()),
            Self::Env(name) => env::var(name).ok().map(Secret::new),
            Self::File(path) => {
                let mut text = Zeroizing::new(String::new());
                fs::File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
                Some(Secret::new(text.trim()))
            }
            Self::Stored(..) | Self::Helper(_) => None,
        }
    }

    /// Describes where the user can change the value.
    pub(crate) fn description(&self) -> Option<String> {
        Some(match self {
            Self::Value(_) => return None,
            Self::Env(name) => format!("the environment variable `{name}`"),
            Self::File(path) => format!("the file `{}`", path.display()),
            Self::Stored(_, key) => format!("the secret store, `{}`", key.account),
            Self::Helper(helper) => format!("the command `{}`", helper.program()),
        })
    }

    /// Clears the cached value, if any, before the next [`read`](Self::read).
    pub(crate) async fn refresh(&self) {
        if let Self::Helper(helper) = self {
            helper.forget().await;
        }
    }
}

async fn read_file(path: &PathBuf) -> io::Result<Secret> {
    let mut text = Zeroizing::new(String::new());
    tokio::fs::File::open(path).await?.take(LONGEST).read_to_string(&mut text).await?;
    Ok(Secret::new(text.trim()))
}

/// The reason why a credential could not be read. No variant shows a part of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceError {
    /// The environment variable of this name is not set.
    Unset(String),
    /// The secret store has no entry under this name.
    NotStored(String),
    /// The value is empty.
    Empty,
    /// The value contains characters that are not allowed in a header.
    NotAHeader,
    /// The file could not be read.
    File(io::Error),
    /// The store failed.
    Store(StoreError),
    /// The command failed.
    Helper(HelperError),
}

impl SourceError {
    /// Returns the class, which says who must act.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Helper(error) => error.class(),
            _ => ErrorClass::Auth,
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(name) => write!(f, "the environment variable `{name}` is not set"),
            Self::NotStored(name) => write!(f, "no secret is stored under `{name}`"),
            Self::Empty => f.write_str("the credential is empty"),
            Self::NotAHeader => {
                f.write_str("the credential contains characters that are not allowed in a header")
            }
            Self::File(_) => f.write_str("the credential file cannot be read"),
            Self::Store(_) => f.write_str("the secret store failed"),
            Self::Helper(_) => f.write_str("the credential command failed"),
        }
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Helper(error) => Some(error),
            _ => None,
        }
    }
}
