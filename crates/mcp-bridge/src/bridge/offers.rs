//! What servers offer besides tools, remembered like their tools are: nothing has to be started in order to
//! be listed.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use mcp_client::{Prompt, RawJson, Resource, ResourceTemplate};
use mcp_config::Fingerprint;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::core::Core;
use crate::{
    folder::{make_private, replace_private},
    server::{Server, lock},
};

/// The most of each kind that are remembered of one server.
const MOST: usize = 1_000;
/// The largest file that is written or read.
const LARGEST: u64 = 4 << 20;

/// What a server was last known to offer. `None`: nobody has asked it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Offers {
    pub(crate) prompts: Option<Arc<Vec<Prompt>>>,
    pub(crate) resources: Option<Arc<Vec<Resource>>>,
    pub(crate) templates: Option<Arc<Vec<ResourceTemplate>>>,
}

/// The offers of one server, and whose turn it is to write them down.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    known: Mutex<Offers>,
    writing: Mutex<()>,
}

impl Remembered {
    pub(crate) fn known(&self) -> MutexGuard<'_, Offers> {
        lock(&self.known)
    }

    /// Writes down what is known by then: of two writes the later one has it all.
    fn write(&self, path: &Path, config: &str) -> io::Result<()> {
        let _turn = lock(&self.writing);
        let known = self.known().clone();
        let Some(text) = known.encode(config) else { return Ok(()) };
        path.parent().map_or(Ok(()), make_private)?;
        replace_private(path, text.as_bytes())
    }
}

impl Offers {
    /// Whether there is nothing left to ask for.
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
        });
        Some(text.to_string()).filter(|text| text.len() as u64 <= LARGEST)
    }

    /// What was written for this configuration; nothing, if it is for another or no such file.
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
        })
    }
}

impl Core {
    /// Takes up what is remembered of a server, if it still has this configuration.
    pub(super) fn recall_offers(&self, server: &Server) {
        let Some(path) = self.offers_path(server) else { return };
        let config = Fingerprint::of(&server.config).to_string();
        if let Some(offers) = read(&path).and_then(|text| Offers::decode(&text, &config)) {
            let has = |count: Option<usize>| count.is_some_and(|count| count > 0);
            let has_resources = has(offers.resources.as_ref().map(|list| list.len()))
                || has(offers.templates.as_ref().map(|list| list.len()));
            self.registry.has_resources(&server.name, has_resources);
            *server.offers() = offers;
        }
    }

    /// Keeps what a server offers now, if that is news, without anybody waiting for it.
    pub(crate) fn note_offers(&self, server: &Server, change: impl FnOnce(&mut Offers)) {
        {
            let mut offers = server.offers();
            let before = offers.clone();
            change(&mut offers);
            if *offers == before {
                return;
            }
        }
        let Some(path) = self.offers_path(server) else { return };
        let config = Fingerprint::of(&server.config).to_string();
        let remembered = server.remembered().clone();
        self.write_soon(move || remembered.write(&path, &config));
    }

    fn offers_path(&self, server: &Server) -> Option<PathBuf> {
        Some(self.path(server)?.with_extension("offers"))
    }
}

fn read(path: &Path) -> Option<String> {
    // Opening a pipe would wait for a writer.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    fs::File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again_for_the_same_configuration_only() {
        let offers = Offers {
            prompts: Some(Arc::new(vec![Prompt::new("haiku")])),
            resources: Some(Arc::new(vec![Resource::new("a:b", "b")])),
            templates: None,
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
    fn too_many_of_a_kind_are_not_remembered() {
        let many = vec![Prompt::new("p"); MOST + 1];
        let offers = Offers { prompts: Some(Arc::new(many)), ..Offers::default() };
        let text = offers.encode("one").unwrap();
        assert_eq!(Offers::decode(&text, "one"), Some(Offers::default()));
    }
}
