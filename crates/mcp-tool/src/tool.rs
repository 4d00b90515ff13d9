//! The `Tool` trait and the definition of a tool.

use std::{fmt, sync::Arc};

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_types::{BoxFuture, ToolAnnotations};

use crate::{context::CallContext, origin::Origin, outcome::ToolOutcome, permission::permission};

/// A tool that an agent can call: of a server, of the host, or of the bridge.
///
/// An agent loop needs no other type. Implement it for the host's own tools and add them to a bridge, which applies
/// the same policy, hooks, events and limits to them.
///
/// ```
/// use mcp_tool::{BoxFuture, CallContext, RawJson, Tool, ToolOutcome, ToolSpec};
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
    /// The definition for models and policies. It must not change.
    fn spec(&self) -> &ToolSpec;

    /// Runs the tool. Failures are part of the outcome, worded for a model that may retry.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call, and notifies the server.
    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome>;
}

/// A shared tool is a tool.
impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self) -> &ToolSpec {
        (**self).spec()
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        (**self).call(arguments, context)
    }
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.spec().name).finish()
    }
}

/// The definition of a tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name for the model: at most 64 characters of `[A-Za-z0-9_-]`, unique in a snapshot.
    pub name: String,
    /// The display name.
    pub title: Option<String>,
    /// The description, sanitized and limited in length.
    pub description: String,
    /// The schema of the arguments: an object schema, as the server wrote it.
    pub input_schema: RawJson,
    /// The schema of the structured content, if any.
    pub output_schema: Option<RawJson>,
    /// Hints about its behaviour, as far as they are trusted.
    pub hints: Hints,
    /// The origin.
    pub origin: Origin,
    /// SHA-256 of the definition. Empty for tools that are not of a server.
    pub hash: String,
    /// The number of the server's listing that this definition comes from.
    pub generation: u64,
    /// The `_meta` of the definition: an object with the keys of extensions. Foreign for tools of servers.
    pub meta: Option<RawJson>,
}

impl ToolSpec {
    /// A tool of the host without arguments or hints.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema: empty_schema(),
            output_schema: None,
            hints: Hints::default(),
            origin: Origin::Host,
            hash: String::new(),
            generation: 0,
            meta: None,
        }
    }

    /// The definition as an object with name, description and schema; `schema_key` names the schema member.
    pub fn definition(&self, schema_key: &str) -> RawJson {
        let mut object = ObjectWriter::with_capacity(256);
        object.string("name", &self.name).string("description", &self.description);
        object.raw(schema_key, &self.input_schema);
        object.finish()
    }

    /// The name in rules: `mcp:<server>:<tool>`, `mcp:<server>:resource/<uri>`, `host:<name>` and the like. A `:` or
    /// `*` in a name is escaped as `%3A` or `%2A`, so that it cannot change which rules match.
    pub fn permission(&self) -> String {
        permission(&self.origin, &self.name)
    }

    /// The server that it belongs to.
    pub fn server(&self) -> Option<&str> {
        match &self.origin {
            Origin::Host | Origin::Custom => None,
            Origin::Server { server, .. } | Origin::Offer { server, .. } => Some(server),
        }
    }
}

/// The schema of an object without properties.
fn empty_schema() -> RawJson {
    let mut schema = ObjectWriter::new();
    schema.string("type", "object").raw("properties", &RawJson::empty_object());
    schema.finish()
}

/// Hints about the behaviour of a tool. `None` means unknown.
///
/// ```
/// use mcp_tool::{Concurrency, Hints};
///
/// let mut hints = Hints::default();
/// assert_eq!(hints.concurrency(), Concurrency::Exclusive); // it may write
/// hints.read_only = Some(true);
/// assert_eq!(hints.concurrency(), Concurrency::Shared);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Hints {
    /// Does not modify anything.
    pub read_only: Option<bool>,
    /// May be destructive.
    pub destructive: Option<bool>,
    /// Repeated calls with the same arguments have no additional effect.
    pub idempotent: Option<bool>,
    /// Interacts with systems outside of its server.
    pub open_world: Option<bool>,
    /// Whether hints that lower restrictions are trusted: for the host's own tools, and those of trusted servers.
    pub trusted: bool,
}

/// Whether a call may run concurrently with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a loop must handle both")]
pub enum Concurrency {
    /// May run concurrently with other shared calls.
    Shared,
    /// Should run alone, in the requested order.
    Exclusive,
}

impl Hints {
    /// The hints in a server's annotations.
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

    /// Trusted hints of a read-only tool.
    pub fn reading() -> Self {
        Self {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
            trusted: true,
        }
    }

    /// Whether it modifies nothing. Default of the protocol: false.
    pub fn is_read_only(self) -> bool {
        self.read_only.unwrap_or(false)
    }

    /// Whether it may be destructive. Default of the protocol: true, unless it is read-only.
    pub fn is_destructive(self) -> bool {
        !self.is_read_only() && self.destructive.unwrap_or(true)
    }

    /// Whether repeated calls have no additional effect. Default of the protocol: false, unless it is read-only.
    pub fn is_idempotent(self) -> bool {
        self.is_read_only() || self.idempotent.unwrap_or(false)
    }

    /// Whether it interacts with systems outside of its server. Default of the protocol: true.
    pub fn is_open_world(self) -> bool {
        self.open_world.unwrap_or(true)
    }

    /// Whether it may run concurrently with other calls. Hints of untrusted servers count here, since running alone
    /// does not protect against a malicious server.
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
    fn permission_contains_server_and_original_tool_name() {
        let mut spec = ToolSpec::new("mcp__a__b", "");
        assert_eq!(spec.permission(), "host:mcp__a__b");
        spec.origin = Origin::Server { server: "a".into(), tool: "b.c".into() };
        assert_eq!(spec.permission(), "mcp:a:b.c");
    }
}
