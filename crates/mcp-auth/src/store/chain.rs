//! A store that combines two others: the keyring, then the file.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_transport::BoxFuture;

use super::{error::StoreError, interface::SecretStore, key::Key};
use crate::secret::Secret;

/// Reads `first`, then `second`, and writes new secrets to `first`.
///
/// Secrets written to `second` before `first` worked are still found. The next write moves them to `first` and
/// deletes the copy. Entries that other processes write to `second` later are not touched. Secrets too large for
/// `first` are written to `second`.
#[derive(Clone, Debug)]
pub struct ChainStore {
    first: Arc<dyn SecretStore>,
    second: Arc<dyn SecretStore>,
    /// Copies in `second` that have moved to `first` and could not be deleted.
    leftovers: Arc<Mutex<HashMap<Key, Secret>>>,
}

impl ChainStore {
    /// Reads `first` before `second`.
    pub fn new(first: Arc<dyn SecretStore>, second: Arc<dyn SecretStore>) -> Self {
        Self { first, second, leftovers: Arc::default() }
    }

    /// Deletes the copy of a secret moved to `first`, unless the value in `second` has changed since.
    async fn delete_moved(&self, key: &Key, moved: Secret) -> Result<(), StoreError> {
        let deleted = match self.second.get(key).await {
            Ok(Some(there)) if there == moved => self.second.delete(key).await.map(|_| ()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        let mut leftovers = self.leftovers.lock().unwrap_or_else(PoisonError::into_inner);
        if deleted.is_ok() {
            leftovers.remove(key);
        } else {
            leftovers.insert(key.clone(), moved);
        }
        deleted
    }

    fn leftover(&self, key: &Key) -> Option<Secret> {
        self.leftovers.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}

impl SecretStore for ChainStore {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
        Box::pin(async {
            match self.first.get(key).await? {
                Some(secret) => Ok(Some(secret)),
                None => self.second.get(key).await,
            }
        })
    }

    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            // If `first` has an entry, the one in `second` belongs to a process without a keyring.
            let moved = match self.first.get(key).await? {
                Some(_) => self.leftover(key),
                None => self.second.get(key).await?,
            };
            match self.first.set(key, secret.clone()).await {
                Ok(()) => {}
                Err(StoreError::TooLarge) => {
                    self.second.set(key, secret).await?;
                    // `first` is read first, so it must not keep an older value.
                    self.first.delete(key).await?;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            match moved {
                // A remaining copy would be found again once the entry in `first` is deleted.
                Some(moved) => self.delete_moved(key, moved).await,
                None => Ok(()),
            }
        })
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async {
            // Delete from both even if one fails, so that as little as possible remains.
            let (first, second) = (self.first.delete(key).await, self.second.delete(key).await);
            Ok(first? | second?)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        Box::pin(async {
            let mut keys = self.first.list().await?;
            keys.extend(self.second.list().await?);
            keys.sort();
            keys.dedup();
            Ok(keys)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::memory::MemoryStore, *};

    #[tokio::test]
    async fn a_save_moves_a_secret_to_the_first_store() {
        let (first, second) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
        let chain = ChainStore::new(first.clone(), second.clone());
        let key = Key::named("x");
        second.set(&key, Secret::new("old")).await.unwrap();
        assert_eq!(chain.get(&key).await.unwrap(), Some(Secret::new("old")));
        chain.set(&key, Secret::new("new")).await.unwrap();
        assert_eq!(first.get(&key).await.unwrap(), Some(Secret::new("new")));
        assert_eq!(second.get(&key).await.unwrap(), None);
        second.set(&key, Secret::new("old")).await.unwrap();
        assert_eq!(chain.list().await.unwrap(), std::slice::from_ref(&key));
        assert!(chain.delete(&key).await.unwrap());
        assert_eq!(chain.get(&key).await.unwrap(), None);
        assert!(!chain.delete(&key).await.unwrap());
    }

    #[tokio::test]
    async fn entries_of_others_in_the_second_store_are_kept() {
        let (first, second) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
        let chain = ChainStore::new(first.clone(), second.clone());
        let key = Key::named("x");
        chain.set(&key, Secret::new("ours")).await.unwrap();
        second.set(&key, Secret::new("theirs")).await.unwrap();
        chain.set(&key, Secret::new("ours, renewed")).await.unwrap();
        assert_eq!(second.get(&key).await.unwrap(), Some(Secret::new("theirs")));
        assert_eq!(chain.get(&key).await.unwrap(), Some(Secret::new("ours, renewed")));
    }

    /// A store that rejects secrets longer than ten bytes.
    #[derive(Debug, Default)]
    struct Small(MemoryStore);

    impl SecretStore for Small {
        fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
            self.0.get(key)
        }

        fn set<'a>(&'a self, key: &'a Key, new: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
            if new.expose().len() > 10 {
                return Box::pin(async { Err(StoreError::TooLarge) });
            }
            self.0.set(key, new)
        }

        fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
            self.0.delete(key)
        }

        fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
            self.0.list()
        }
    }

    #[tokio::test]
    async fn secrets_too_large_for_the_first_store_go_to_the_second() {
        let (first, second) = (Arc::new(Small::default()), Arc::new(MemoryStore::new()));
        let chain = ChainStore::new(first.clone(), second.clone());
        let key = Key::named("x");
        for value in ["small", "larger than ten", "even larger than ten", "tiny"] {
            chain.set(&key, Secret::new(value)).await.unwrap();
            assert_eq!(chain.get(&key).await.unwrap(), Some(Secret::new(value)));
            let copies = first.list().await.unwrap().len() + second.list().await.unwrap().len();
            assert_eq!(copies, 1, "{value}");
        }
    }
}
