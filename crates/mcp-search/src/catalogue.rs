//! The tools a server last listed, stored in a file.
//!
//! With the file, the next start can list and search tools before any server runs. It has a
//! checksum; a damaged file is treated as missing.

use serde_json::{Value, value::RawValue};

use crate::card::Card;

mod canonical;
mod codec;
mod file;
mod folder;

pub use self::{
    canonical::definition_hash, codec::CatalogueError, file::Loaded, folder::CatalogueFolder,
};

/// The tools of one server at one time.
///
/// ```
/// use mcp_search::catalogue::{Catalogue, Freshness, Origin};
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
/// # Ok::<(), mcp_search::catalogue::CatalogueError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Catalogue {
    server: String,
    origin: Origin,
    tools: Vec<Tool>,
}

/// One definition as the server sent it, with its hash.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    hash: String,
    definition: Box<RawValue>,
}

/// The source of a catalogue, which determines how long it is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// A signature of the server's configuration. A catalogue is only valid for the same configuration.
    pub config: String,
    /// When the tools were listed, in milliseconds since 1970.
    pub listed_ms: u64,
    /// How long the tools are fresh after that; `None` means until the configuration changes.
    pub ttl_ms: Option<u64>,
    /// The version that the server reported.
    pub server_version: Option<String>,
}

/// Whether a catalogue may be used without listing the tools again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a host has to decide what to do in each case")]
pub enum Freshness {
    /// It may be used.
    Fresh,
    /// It may be used while the tools are listed again.
    Stale,
    /// It belongs to another configuration and must not be used.
    OtherConfig,
}

impl Origin {
    /// The origin of tools listed now from a server with this configuration.
    pub fn new(config: impl Into<String>, listed_ms: u64) -> Self {
        Self { config: config.into(), listed_ms, ttl_ms: None, server_version: None }
    }

    /// Sets how long the tools are fresh.
    #[must_use]
    pub fn with_ttl_ms(mut self, ttl_ms: u64) -> Self {
        self.ttl_ms = Some(ttl_ms);
        self
    }

    /// Sets the version that the server reported.
    #[must_use]
    pub fn with_server_version(mut self, version: impl Into<String>) -> Self {
        self.server_version = Some(version.into());
        self
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

    /// The source of the tools.
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
    /// A clock that went backwards makes a catalogue stale, because its age is unknown.
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
