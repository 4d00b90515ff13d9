//! The [`SecretStore`] trait, and the setting that selects a store.

use std::fmt;

use mcp_transport::BoxFuture;

use super::{error::StoreError, key::Key};
use crate::secret::Secret;

/// Stores secrets under keys.
///
/// Every method may take long (a desktop may show a prompt), so callers apply time limits, and
/// implementations must not block the polling thread.
pub trait SecretStore: Send + Sync + fmt::Debug {
    /// Returns the secret stored under `key`.
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>>;

    /// Stores `secret` under `key`, replacing any previous value.
    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes the secret under `key`, and returns whether there was one.
    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns all keys in order.
    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>>;
}

/// Selects a secret store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a setting with these four values")]
pub enum StoreMode {
    /// The keyring if it works on this machine, else the file.
    #[default]
    Auto,
    /// The keyring; an error if it does not work.
    Keyring,
    /// The file.
    File,
    /// Memory of this process only.
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
