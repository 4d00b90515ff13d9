//! The prompts and resources of a server: those of its options, and those added later.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use mcp_types::{BoxFuture, GetPromptResult, Prompt, Resource, ResourceContents, ResourceTemplate};

use super::{
    prompt::ServedPrompt,
    prompts::{Prompts, unknown_prompt},
    resource::ServedResource,
    resources::Resources,
};
use crate::{call::Call, error::ServeError};

/// A provider and added entries. An added entry replaces the provider's entry of the same key.
pub(crate) struct Catalog<P: ?Sized, E> {
    provider: Option<Arc<P>>,
    added: RwLock<Vec<Arc<E>>>,
}

pub(crate) type PromptCatalog = Catalog<dyn Prompts, ServedPrompt>;
pub(crate) type ResourceCatalog = Catalog<dyn Resources, ServedResource>;

impl<P: ?Sized, E> Catalog<P, E> {
    pub(crate) fn new(provider: Option<Arc<P>>) -> Arc<Self> {
        Arc::new(Self { provider, added: RwLock::default() })
    }

    /// Whether the server offers any of these at all.
    pub(crate) fn is_offered(&self) -> bool {
        self.provider.is_some() || !self.added().is_empty()
    }

    fn added(&self) -> Vec<Arc<E>> {
        self.added.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds an entry, in place of the one with the same `key`.
    fn put(&self, entry: E, key: fn(&E) -> &str) {
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        let known = added.iter().position(|known| key(known) == key(&entry));
        match known {
            Some(index) => added[index] = Arc::new(entry),
            None => added.push(Arc::new(entry)),
        }
    }

    /// Removes the entry with this key, if there is one.
    fn remove(&self, wanted: &str, key: fn(&E) -> &str) -> bool {
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        let before = added.len();
        added.retain(|entry| key(entry) != wanted);
        added.len() < before
    }
}

impl PromptCatalog {
    pub(crate) fn add(&self, prompt: ServedPrompt) {
        self.put(prompt, |entry| &entry.prompt.name);
    }

    pub(crate) fn remove_named(&self, name: &str) -> bool {
        self.remove(name, |entry| &entry.prompt.name)
    }
}

impl ResourceCatalog {
    pub(crate) fn add(&self, resource: ServedResource) {
        self.put(resource, ServedResource::uri);
    }

    pub(crate) fn remove_at(&self, uri: &str) -> bool {
        self.remove(uri, ServedResource::uri)
    }
}

impl<P: ?Sized, E> fmt::Debug for Catalog<P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("added", &self.added().len()).finish_non_exhaustive()
    }
}

impl Prompts for PromptCatalog {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async {
            let mut all: Vec<Prompt> =
                self.added().iter().map(|entry| entry.prompt.clone()).collect();
            if let Some(provider) = &self.provider {
                let others = provider.list().await?;
                let is_new = |prompt: &Prompt| all.iter().all(|known| known.name != prompt.name);
                let others: Vec<Prompt> = others.into_iter().filter(is_new).collect();
                all.extend(others);
            }
            Ok(all)
        })
    }

    fn get(
        &self,
        name: String,
        arguments: BTreeMap<String, String>,
        call: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        if let Some(entry) = self.added().iter().find(|entry| entry.prompt.name == name) {
            return (entry.get)(arguments, call);
        }
        match &self.provider {
            Some(provider) => provider.get(name, arguments, call),
            None => Box::pin(async move { Err(unknown_prompt(&name)) }),
        }
    }
}

impl Resources for ResourceCatalog {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async {
            let added = self.added();
            let mut all: Vec<Resource> =
                added.iter().filter_map(|entry| entry.resource().cloned()).collect();
            if let Some(provider) = &self.provider {
                let others = provider.list().await?;
                let is_new = |other: &Resource| all.iter().all(|known| known.uri != other.uri);
                let others: Vec<Resource> = others.into_iter().filter(is_new).collect();
                all.extend(others);
            }
            Ok(all)
        })
    }

    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async {
            let added = self.added();
            let mut all: Vec<ResourceTemplate> =
                added.iter().filter_map(|entry| entry.template().cloned()).collect();
            if let Some(provider) = &self.provider {
                all.extend(provider.templates().await?);
            }
            Ok(all)
        })
    }

    fn read(
        &self,
        uri: String,
        call: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        let added = self.added();
        // An exact URI takes precedence over a template that matches it.
        let (ones, families): (Vec<_>, Vec<_>) =
            added.iter().partition(|entry| entry.resource().is_some());
        if let Some(reading) = ones.iter().chain(&families).find_map(|entry| entry.read(&uri)) {
            return reading;
        }
        match &self.provider {
            Some(provider) => provider.read(uri, call),
            None => Box::pin(async { Err(ServeError::UnknownResource(uri)) }),
        }
    }

    fn watch(&self, uri: &str) {
        if let Some(provider) = &self.provider {
            provider.watch(uri);
        }
    }

    fn unwatch(&self, uri: &str) {
        if let Some(provider) = &self.provider {
            provider.unwatch(uri);
        }
    }
}
