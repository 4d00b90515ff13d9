//! Secrets in the memory of the process.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use mcp_transport::BoxFuture;

use super::{error::StoreError, interface::SecretStore, key::Key};
use crate::secret::Secret;

/// A [`SecretStore`] in memory. Its secrets are lost when the process ends.
#[derive(Default)]
pub struct MemoryStore {
    entries: Mutex<BTreeMap<Key, Secret>>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Key, Secret>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SecretStore for MemoryStore {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
        Box::pin(async { Ok(self.entries().get(key).cloned()) })
    }

    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            self.entries().insert(key.clone(), secret);
            Ok(())
        })
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async { Ok(self.entries().remove(key).is_some()) })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        Box::pin(async { Ok(self.entries().keys().cloned().collect()) })
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("entries", &self.entries().len()).finish()
    }
}
