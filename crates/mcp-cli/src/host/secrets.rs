//! Values for `${secret:NAME}` in entries, from the user's secret store.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    sync::{PoisonError, RwLock},
};

use mcp_auth::{
    Secret,
    store::{Key, SecretStore, StoreError},
};
use mcp_config::{Environment, Resolution, expand, expand::AskInput};

/// The secrets loaded so far. They are loaded in advance, because expansion is synchronous and the store is not.
#[derive(Debug, Default)]
pub(crate) struct StoredSecrets(RwLock<HashMap<String, Secret>>);

impl StoredSecrets {
    /// Loads the secrets that active servers refer to. Without any, the store is not opened.
    pub(crate) async fn load(
        &self,
        resolution: &Resolution,
        environment: &Environment,
        store: &dyn SecretStore,
    ) -> Result<(), StoreError> {
        for name in named(resolution, environment) {
            if let Some(secret) = store.get(&Key::named(&name)).await? {
                self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name, secret);
            }
        }
        Ok(())
    }
}

impl AskInput for StoredSecrets {
    fn input(&self, _: &str) -> Option<String> {
        None
    }

    fn secret(&self, name: &str) -> Option<String> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).map(|secret| secret.expose().to_owned())
    }
}

/// Returns the names of secrets in active entries.
fn named(resolution: &Resolution, environment: &Environment) -> BTreeSet<String> {
    let names = Names::default();
    for candidate in resolution.servers() {
        // An entry that cannot be expanded is never connected.
        let _ = expand(&candidate.entry.config, environment, &names);
    }
    names.0.into_inner()
}

/// Collects the names it is asked for.
#[derive(Default)]
struct Names(RefCell<BTreeSet<String>>);

impl AskInput for Names {
    fn input(&self, _: &str) -> Option<String> {
        None
    }

    fn secret(&self, name: &str) -> Option<String> {
        self.0.borrow_mut().insert(name.to_owned());
        Some(String::new())
    }
}
