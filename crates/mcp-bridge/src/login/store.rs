//! A secret store opened on first use, because looking for a keyring is slow.

use std::{path::PathBuf, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_auth::{
    OnEvent, Secret,
    store::{Key, MemoryStore, SecretStore, StoreError, StoreMode, Vault},
};
use tokio::sync::OnceCell;

#[derive(Debug)]
pub(super) struct LazyStore {
    mode: StoreMode,
    folder: Option<PathBuf>,
    on_event: OnEvent,
    opened: OnceCell<Arc<dyn SecretStore>>,
}

impl LazyStore {
    pub(super) fn new(mode: StoreMode, folder: Option<PathBuf>, on_event: OnEvent) -> Self {
        Self { mode, folder, on_event, opened: OnceCell::new() }
    }

    async fn opened(&self) -> Result<&Arc<dyn SecretStore>, StoreError> {
        self.opened
            .get_or_try_init(|| async {
                let Some(folder) = &self.folder else {
                    return Ok(Arc::new(MemoryStore::new()) as Arc<dyn SecretStore>);
                };
                let vault = Vault::open(self.mode, folder, self.on_event.clone()).await?;
                Ok(vault.store().clone())
            })
            .await
    }
}

impl SecretStore for LazyStore {
    fn get<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Option<Secret>, StoreError>> {
        Box::pin(async move { self.opened().await?.get(key).await })
    }

    fn set<'a>(&'a self, key: &'a Key, secret: Secret) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.opened().await?.set(key, secret).await })
    }

    fn delete<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { self.opened().await?.delete(key).await })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        Box::pin(async move { self.opened().await?.list().await })
    }
}
