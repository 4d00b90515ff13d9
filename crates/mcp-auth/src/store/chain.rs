//! The keyring first, the file for what the keyring does not have.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_transport::BoxFuture;

use super::{Key, SecretStore, StoreError};
use crate::secret::Secret;

/// Reads both stores, the first one first, and keeps new secrets in the first.
///
/// What was kept in the second before the first worked is still found; once it is saved again it moves,
/// and no copy stays behind. What others keep in the second beside ours is left alone, and what is too
/// large for the first goes to the second.
#[derive(Clone, Debug)]
pub struct ChainStore {
    first: Arc<dyn SecretStore>,
    second: Arc<dyn SecretStore>,
    /// Copies in the second that have moved and could not be deleted.
    leftovers: Arc<Mutex<HashMap<Key, Secret>>>,
}

impl ChainStore {
    /// `first` before `second`.
    pub fn new(first: Arc<dyn SecretStore>, second: Arc<dyn SecretStore>) -> Self {
        Self { first, second, leftovers: Arc::default() }
    }

    /// Deletes what has moved to the first, unless somebody has put something else there since.
    async fn sweep(&self, key: &Key, moved: Secret) -> Result<(), StoreError> {
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
            // With something in the first, the second is not ours: a process without a keyring logged in.
            let moved = match self.first.get(key).await? {
                Some(_) => self.leftover(key),
                None => self.second.get(key).await?,
            };
            match self.first.set(key, secret.clone()).await {
                Ok(()) => {}
                Err(StoreError::TooLarge) => {
                    self.second.set(key, secret).await?;
                    // What is read first must not be older.
                    self.first.delete(key).await?;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            match moved {
                // A copy left behind would come back to life when the first one is deleted.
                Some(moved) => self.sweep(key, moved).await,
                None => Ok(()),
            }
        })
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async {
            // Both are asked even if one fails: less is left behind.
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
    async fn what_others_keep_in_the_second_store_is_left_alone() {
        let (first, second) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
        let chain = ChainStore::new(first.clone(), second.clone());
        let key = Key::named("x");
        chain.set(&key, Secret::new("ours")).await.unwrap();
        second.set(&key, Secret::new("theirs")).await.unwrap();
        chain.set(&key, Secret::new("ours, renewed")).await.unwrap();
        assert_eq!(second.get(&key).await.unwrap(), Some(Secret::new("theirs")));
        assert_eq!(chain.get(&key).await.unwrap(), Some(Secret::new("ours, renewed")));
    }

    /// Takes nothing that is longer than ten bytes.
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
    async fn what_is_too_large_for_the_first_store_goes_to_the_second() {
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
