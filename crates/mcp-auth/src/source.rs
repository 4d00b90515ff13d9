//! Where a static credential comes from, each time it is needed.

use std::{env, fmt, io, path::PathBuf, sync::Arc};

use mcp_transport::ErrorClass;
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

use crate::{
    helper::{Helper, HelperError},
    secret::Secret,
    store::{Key, StoreError, vault::Vault},
};

/// A credential has a few kilobytes at most.
const LONGEST: u64 = 64 * 1024;

/// Where a credential comes from. It is read for every use, so a value that was changed is picked up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// This value.
    Value(Secret),
    /// The environment variable of this name.
    Env(String),
    /// The text of this file, without the blanks around it. Workload identities are handed out so.
    File(PathBuf),
    /// The secret store.
    Stored(Arc<Vault>, Key),
    /// What a command prints.
    Helper(Arc<Helper>),
}

impl Source {
    /// The credential as it is now.
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

    /// The next [`read`](Self::read) does not use what was cached.
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

/// Why a credential could not be had. None of these shows a part of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceError {
    /// The environment variable of this name is not set.
    Unset(String),
    /// Nothing is stored under this name.
    NotStored(String),
    /// There is nothing in it.
    Empty,
    /// It has characters that cannot go into a header.
    NotAHeader,
    /// The file could not be read.
    File(io::Error),
    /// The store failed.
    Store(StoreError),
    /// The command failed.
    Helper(HelperError),
}

impl SourceError {
    /// Whose move it is.
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
            Self::NotAHeader => f.write_str("the credential has characters no header can carry"),
            Self::File(_) => f.write_str("the file with the credential cannot be read"),
            Self::Store(_) => f.write_str("the secret store failed"),
            Self::Helper(_) => f.write_str("the command for credentials failed"),
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
