//! The cache of prompts, resources, resource templates and instructions, so that they can be listed without starting
//! the server.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use mcp_client::{
    RawJson,
    types::{Prompt, Resource, ResourceTemplate},
};
use mcp_safe::fs::{create_folder, read, replace};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Server;
use crate::{hub::Hub, sync::lock};

/// The maximum number of entries of each kind.
const MOST: usize = 1_000;
/// The maximum size of the file.
const LARGEST: usize = 4 << 20;

/// The maximum length of cached instructions, in characters: more than a model is ever shown, so that a cut is noticed.
const LONGEST_INSTRUCTIONS: usize = 4_096;

/// The instructions as they are cached.
pub(super) fn kept(instructions: &str) -> Arc<str> {
    instructions.chars().take(LONGEST_INSTRUCTIONS).collect::<String>().into()
}

/// The last known offers of a server. `None`: not listed yet, or no instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Offers {
    pub(crate) prompts: Option<Arc<Vec<Prompt>>>,
    pub(crate) resources: Option<Arc<Vec<Resource>>>,
    pub(crate) templates: Option<Arc<Vec<ResourceTemplate>>>,
    pub(crate) instructions: Option<Arc<str>>,
}

/// The offers of one server, and a lock for writing them to a file.
#[derive(Debug, Default)]
pub(crate) struct OfferCache {
    known: Mutex<Offers>,
    writing: Mutex<()>,
}

impl OfferCache {
    pub(crate) fn known(&self) -> MutexGuard<'_, Offers> {
        lock(&self.known)
    }

    /// Writes the current offers. Of two concurrent writes, the later one has all changes.
    fn write(&self, path: &Path, config: &str) -> io::Result<()> {
        let _turn = lock(&self.writing);
        let known = self.known().clone();
        let Some(text) = known.encode(config) else { return Ok(()) };
        path.parent().map_or(Ok(()), create_folder)?;
        replace(path, text.as_bytes())
    }
}

impl Offers {
    /// Whether all three kinds are known.
    pub(crate) fn is_complete(&self) -> bool {
        self.prompts.is_some() && self.resources.is_some() && self.templates.is_some()
    }

    fn encode(&self, config: &str) -> Option<String> {
        fn all<T: serde::Serialize>(list: Option<&Arc<Vec<T>>>) -> Option<Value> {
            let Some(list) = list.filter(|list| list.len() <= MOST) else {
                return Some(Value::Null);
            };
            let value = |item: &T| serde_json::from_str(RawJson::encode(item).ok()?.as_str()).ok();
            list.iter().map(value).collect::<Option<Vec<Value>>>().map(Value::Array)
        }
        let text = json!({
            "version": 1,
            "config": config,
            "prompts": all(self.prompts.as_ref())?,
            "resources": all(self.resources.as_ref())?,
            "templates": all(self.templates.as_ref())?,
            "instructions": self.instructions.as_deref(),
        });
        Some(text.to_string()).filter(|text| text.len() <= LARGEST)
    }

    /// Decodes the offers of this configuration. Returns `None` for another configuration or an invalid file.
    fn decode(text: &str, config: &str) -> Option<Self> {
        fn all<T: DeserializeOwned>(root: &RawJson, name: &str) -> Option<Arc<Vec<T>>> {
            let list = root.get(name).filter(|list| !list.is_null())?;
            list.decode::<Vec<T>>().ok().map(Arc::new)
        }
        let root = RawJson::parse(text.to_owned()).ok()?;
        let is_ours = root.get("version")?.as_str() == "1"
            && root.get("config")?.decode::<String>().is_ok_and(|of| of == config);
        is_ours.then(|| Self {
            prompts: all(&root, "prompts"),
            resources: all(&root, "resources"),
            templates: all(&root, "templates"),
            instructions: root
                .get("instructions")
                .and_then(|text| text.decode::<Box<str>>().ok())
                .map(Arc::from),
        })
    }
}

impl Server {
    /// Loads the cached offers if the configuration is the same.
    pub(super) fn load_cached_offers(&self, hub: &Hub) {
        let Some(path) = self.offers_path(hub) else { return };
        let config = &self.binding.key;
        let text =
            read(&path, LARGEST).ok().flatten().and_then(|text| String::from_utf8(text).ok());
        if let Some(offers) = text.and_then(|text| Offers::decode(&text, config)) {
            let has = |count: Option<usize>| count.is_some_and(|count| count > 0);
            let has_resources = has(offers.resources.as_ref().map(|list| list.len()))
                || has(offers.templates.as_ref().map(|list| list.len()));
            hub.registry.has_resources(&self.name, has_resources);
            *self.offers() = offers;
        }
    }

    /// Changes the offers and writes them in the background if they differ.
    pub(crate) fn update_offers(&self, hub: &Hub, change: impl FnOnce(&mut Offers)) {
        {
            let mut offers = self.offers();
            let before = offers.clone();
            change(&mut offers);
            if *offers == before {
                return;
            }
        }
        let Some(path) = self.offers_path(hub) else { return };
        let config = self.binding.key.clone();
        let offer_cache = self.offer_cache().clone();
        hub.write_soon(move || offer_cache.write(&path, &config));
    }

    fn offers_path(&self, hub: &Hub) -> Option<PathBuf> {
        Some(self.catalogue_path(hub)?.with_extension("offers"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_offers_are_read_for_the_same_configuration_only() {
        let offers = Offers {
            prompts: Some(Arc::new(vec![Prompt::new("haiku")])),
            resources: Some(Arc::new(vec![Resource::new("a:b", "b")])),
            templates: None,
            instructions: Some("Be brief.".into()),
        };
        let text = offers.encode("one").unwrap();
        assert_eq!(Offers::decode(&text, "one"), Some(offers));
        assert_eq!(Offers::decode(&text, "two"), None);
        for bad in ["", "[]", "{}", r#"{"version":2,"config":"one"}"#] {
            assert_eq!(Offers::decode(bad, "one"), None, "{bad}");
        }
        let odd = r#"{"version":1,"config":"one","prompts":[7],"resources":"x"}"#;
        assert_eq!(Offers::decode(odd, "one"), Some(Offers::default()));
    }

    #[test]
    fn too_many_offers_of_a_kind_are_not_cached() {
        let many = vec![Prompt::new("p"); MOST + 1];
        let offers = Offers { prompts: Some(Arc::new(many)), ..Offers::default() };
        let text = offers.encode("one").unwrap();
        assert_eq!(Offers::decode(&text, "one"), Some(Offers::default()));
    }
}
