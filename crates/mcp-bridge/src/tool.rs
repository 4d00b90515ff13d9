//! The one thing an agent loop sees.

use std::{fmt, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_client::{RawJson, ToolAnnotations};

use crate::{context::CallContext, outcome::ToolOutcome};

/// Something an agent can call: a tool of a server, of the host, or of the bridge itself.
///
/// A loop that holds these needs no other type of this crate. Implement it for the host's own tools and
/// [add](crate::Bridge::add_tool) them: they get the same policy, hooks, events and limits.
///
/// ```
/// use mcp_bridge::{BoxFuture, CallContext, RawJson, Tool, ToolOutcome, ToolSpec};
///
/// struct Clock(ToolSpec);
/// impl Tool for Clock {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///     fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
///         Box::pin(async { ToolOutcome::text("noon") })
///     }
/// }
/// let clock = Clock(ToolSpec::new("clock", "Tells the time."));
/// assert_eq!(clock.spec().name, "clock");
/// ```
pub trait Tool: Send + Sync {
    /// What a model and a policy are told about it. The same for as long as the tool lives.
    fn spec(&self) -> &ToolSpec;

    /// Does it. Whatever goes wrong is in the outcome, worded for a model that may try again.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up, and a server is told so.
    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome>;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.spec().name).finish()
    }
}

/// What is known of a tool before it is called.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// What the model calls it by: at most 64 characters of `[A-Za-z0-9_-]`, unique in a snapshot.
    pub name: String,
    /// What to show people.
    pub title: Option<String>,
    /// What it does, cleaned and capped.
    pub description: String,
    /// What it takes: an object schema, as its server wrote it.
    pub input_schema: RawJson,
    /// What its structured result looks like, if it says so.
    pub output_schema: Option<RawJson>,
    /// What it does to the world, as far as it is to be believed.
    pub hints: Hints,
    /// Where it comes from.
    pub origin: Origin,
    /// SHA-256 of its definition. Empty for tools that are not a server's.
    pub hash: String,
    /// Which listing of its server this definition comes from.
    pub generation: u64,
}

impl ToolSpec {
    /// A tool of the host that takes no arguments, and is only known to be no server's.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema: crate::schema::empty(),
            output_schema: None,
            hints: Hints::default(),
            origin: Origin::Host,
            hash: String::new(),
            generation: 0,
        }
    }

    /// The definition as providers take it: `{"name","description","input_schema"}` or the names they use.
    pub fn definition(&self, schema_key: &str) -> RawJson {
        let mut object = mcp_jsonrpc::ObjectWriter::with_capacity(256);
        object.string("name", &self.name).string("description", &self.description);
        object.raw(schema_key, &self.input_schema);
        object.finish()
    }

    /// What rules call it: `mcp:<server>:<tool>`, or `host:<name>`.
    pub fn permission(&self) -> String {
        match &self.origin {
            Origin::Host => format!("host:{}", self.name),
            Origin::Custom => format!("custom:{}", self.name),
            Origin::Server { server, tool } => format!("mcp:{server}:{tool}"),
        }
    }

    /// The server it belongs to.
    pub fn server(&self) -> Option<&str> {
        match &self.origin {
            Origin::Host | Origin::Custom => None,
            Origin::Server { server, .. } => Some(server),
        }
    }
}

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "whoever shows tools shows each kind in its own way")]
pub enum Origin {
    /// The host itself.
    Host,
    /// The user, who made it of others.
    Custom,
    /// A server, under the names it and its configuration have.
    Server {
        /// The server's name in the configuration.
        server: Arc<str>,
        /// The tool's name on that server, byte for byte.
        tool: Arc<str>,
    },
}

/// What a tool does to the world. `None` means that nobody said.
///
/// ```
/// use mcp_bridge::{Concurrency, Hints};
///
/// let mut hints = Hints::default();
/// assert_eq!(hints.concurrency(), Concurrency::Exclusive); // it may write
/// hints.read_only = Some(true);
/// assert_eq!(hints.concurrency(), Concurrency::Shared);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Hints {
    /// Changes nothing.
    pub read_only: Option<bool>,
    /// May destroy something.
    pub destructive: Option<bool>,
    /// Calling it twice does no more than calling it once.
    pub idempotent: Option<bool>,
    /// Reaches beyond its server.
    pub open_world: Option<bool>,
    /// Whether loosening claims may be believed: the host's own tools, and those of trusted servers.
    pub trusted: bool,
}

/// What may run beside what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a loop must handle both")]
pub enum Concurrency {
    /// May run beside other shared calls.
    Shared,
    /// Should run alone, in the order it was asked for.
    Exclusive,
}

impl Hints {
    /// What a server claims about a tool.
    pub fn claimed(annotations: Option<&ToolAnnotations>, trusted: bool) -> Self {
        let Some(claims) = annotations else { return Self { trusted, ..Self::default() } };
        Self {
            read_only: claims.read_only_hint,
            destructive: claims.destructive_hint,
            idempotent: claims.idempotent_hint,
            open_world: claims.open_world_hint,
            trusted,
        }
    }

    /// Hints of a tool that is to be believed, and changes nothing.
    pub fn reading() -> Self {
        Self {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
            trusted: true,
        }
    }

    /// Whether it changes nothing, with the protocol's default: no.
    pub fn is_read_only(self) -> bool {
        self.read_only.unwrap_or(false)
    }

    /// Whether it may destroy something, with the protocol's default: yes, unless it only reads.
    pub fn is_destructive(self) -> bool {
        !self.is_read_only() && self.destructive.unwrap_or(true)
    }

    /// Whether calling it again is harmless, with the protocol's default: no, unless it only reads.
    pub fn is_idempotent(self) -> bool {
        self.is_read_only() || self.idempotent.unwrap_or(false)
    }

    /// Whether it reaches beyond its server, with the protocol's default: yes.
    pub fn is_open_world(self) -> bool {
        self.open_world.unwrap_or(true)
    }

    /// What may run beside it. A claim of an untrusted server counts here: to run alone protects nobody
    /// from a server that lies.
    pub fn concurrency(self) -> Concurrency {
        if self.is_read_only() { Concurrency::Shared } else { Concurrency::Exclusive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_have_the_protocols_defaults() {
        let none = Hints::claimed(None, false);
        assert!(!none.is_read_only() && none.is_destructive());
        assert!(!none.is_idempotent() && none.is_open_world());
        let reads = Hints { read_only: Some(true), ..Hints::default() };
        assert!(!reads.is_destructive() && reads.is_idempotent());
    }

    #[test]
    fn a_permission_names_the_server_and_its_own_name_of_the_tool() {
        let mut spec = ToolSpec::new("mcp__a__b", "");
        assert_eq!(spec.permission(), "host:mcp__a__b");
        spec.origin = Origin::Server { server: "a".into(), tool: "b.c".into() };
        assert_eq!(spec.permission(), "mcp:a:b.c");
    }
}
