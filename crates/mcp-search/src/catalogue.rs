//! What a server's tools were when it was last asked, kept in a file.
//!
//! With it, the next start lists and searches tools before any server runs. The file is believed
//! only if every bit of it is as it was written; otherwise it is as if it were not there.

use serde_json::{Value, value::RawValue};

use crate::{canonical::definition_hash, card::Card};

mod codec;
mod file;

pub use self::{codec::CatalogueError, file::Loaded};

/// The tools of one server at one time.
///
/// ```
/// use mcp_search::{Catalogue, Freshness, Origin};
///
/// let mut origin = Origin::new("sha-of-the-config", 1_700_000_000_000);
/// origin.ttl_ms = Some(3_600_000);
/// let catalogue = Catalogue::new("files", origin, [r#"{"name":"read_file"}"#])?;
///
/// let again = Catalogue::decode(&catalogue.encode())?;
/// assert_eq!(again.cards(|name| format!("files/{name}"))[0].name, "read_file");
/// assert_eq!(again.freshness("sha-of-the-config", 1_700_000_001_000), Freshness::Fresh);
/// assert_eq!(again.freshness("sha-of-the-config", 1_800_000_000_000), Freshness::Stale);
/// assert_eq!(again.freshness("another", 1_700_000_001_000), Freshness::OtherConfig);
/// # Ok::<(), mcp_search::CatalogueError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Catalogue {
    server: String,
    origin: Origin,
    tools: Vec<Tool>,
}

/// One definition as the server sent it, and its hash.
#[derive(Clone, Debug)]
struct Tool {
    hash: String,
    definition: Box<RawValue>,
}

/// Where a catalogue comes from, which decides how long it is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// A signature of the server's configuration: another configuration, another server.
    pub config: String,
    /// When the tools were listed, in milliseconds since 1970.
    pub listed_ms: u64,
    /// For how long they are fresh after that; `None` until the configuration changes.
    pub ttl_ms: Option<u64>,
    /// The version the server told of itself.
    pub server_version: Option<String>,
}

/// Whether a catalogue may be used without asking the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a host has to decide what to do in each case")]
pub enum Freshness {
    /// It may.
    Fresh,
    /// It is old: good for a first answer, while the server is asked again.
    Stale,
    /// It belongs to another configuration and says nothing about this one.
    OtherConfig,
}

impl Origin {
    /// The origin of tools listed now from a server with this configuration.
    pub fn new(config: impl Into<String>, listed_ms: u64) -> Self {
        Self { config: config.into(), listed_ms, ttl_ms: None, server_version: None }
    }
}

impl Catalogue {
    /// A catalogue of `definitions`, each a JSON object as `tools/list` returns it.
    ///
    /// # Errors
    ///
    /// [`CatalogueError::Malformed`] if a definition is not a JSON object.
    pub fn new(
        server: impl Into<String>,
        origin: Origin,
        definitions: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, CatalogueError> {
        let tools = definitions.into_iter().map(|text| Tool::new(text.as_ref()));
        Ok(Self { server: server.into(), origin, tools: tools.collect::<Result<_, _>>()? })
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Where the tools come from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Each tool's definition, as it was given, and its hash (see [`definition_hash`]).
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tools.iter().map(|tool| (tool.definition.get(), tool.hash.as_str()))
    }

    /// The cards of all tools, with the ids that `id` makes from their names.
    pub fn cards(&self, id: impl Fn(&str) -> String) -> Vec<Card> {
        let card = |tool: &Tool| {
            let definition: Value = serde_json::from_str(tool.definition.get()).unwrap_or_default();
            let name = definition.get("name").and_then(Value::as_str).unwrap_or_default();
            Card::from_definition(id(name), self.server.clone(), &definition)
        };
        self.tools.iter().map(card).collect()
    }

    /// Whether these tools may be used at `now_ms` for a server of this configuration.
    ///
    /// A clock that went backwards makes a catalogue stale: its age is not known.
    pub fn freshness(&self, config: &str, now_ms: u64) -> Freshness {
        if self.origin.config != config {
            return Freshness::OtherConfig;
        }
        match (now_ms.checked_sub(self.origin.listed_ms), self.origin.ttl_ms) {
            (Some(age), Some(ttl)) if age < ttl => Freshness::Fresh,
            (Some(_), None) => Freshness::Fresh,
            _ => Freshness::Stale,
        }
    }
}

impl Tool {
    fn new(definition: &str) -> Result<Self, CatalogueError> {
        let malformed = |error: serde_json::Error| CatalogueError::Malformed(error.to_string());
        let value: Value = serde_json::from_str(definition).map_err(malformed)?;
        if !value.is_object() {
            return Err(CatalogueError::Malformed("a definition is not an object".to_owned()));
        }
        let definition = RawValue::from_string(definition.trim().to_owned()).map_err(malformed)?;
        Ok(Self { hash: definition_hash(&value), definition })
    }
}
