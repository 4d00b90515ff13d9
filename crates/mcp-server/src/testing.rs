//! A scripted server for tests of hosts.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mcp_jsonrpc::RawJson;
use mcp_tool::{ToolOutcome, ToolSpec};
use mcp_transport::{Connect, ConnectError, Link, Locality};
use mcp_types::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use crate::{
    call::Call, error::ServeError, options::ServeOptions, provide::ServedTool, server::ToolServer,
};

/// An in-process server that answers calls from a script.
///
/// It is a full server of both eras, and implements [`Connect`]. A call that is not in the script fails with a text
/// that names it.
///
/// ```
/// use mcp_server::testing::Scripted;
/// use mcp_tool::{FailureKind, ToolOutcome};
/// use mcp_transport::Connect;
/// # use std::collections::BTreeMap;
///
/// let server = Scripted::new()
///     .tool("weather", "Tells the weather")
///     .on_call("weather", &BTreeMap::from([("city", "Bern")]), "sunny")
///     .on_call("weather", &BTreeMap::from([("city", "Atlantis")]), ToolOutcome::error("no such city"));
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let link = server.connect().await?; // or `Client::connect(&server, …)`, or a bridge over it
/// # drop(link);
/// assert!(server.calls().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Scripted {
    server: ToolServer,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    lines: Vec<Line>,
    calls: Vec<ScriptedCall>,
}

/// One scripted result.
struct Line {
    tool: String,
    /// `None` matches any arguments.
    arguments: Option<Value>,
    outcome: ToolOutcome,
    /// How often it was returned.
    uses: usize,
}

/// A call that a [`Scripted`] server received.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScriptedCall {
    /// The name of the tool.
    pub tool: String,
    /// The arguments.
    pub arguments: RawJson,
    /// Whether the script contained a result for it.
    pub is_answered: bool,
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripted {
    /// A server named `scripted`, without tools.
    pub fn new() -> Self {
        Self::with_options(ServeOptions::new("scripted", "1.0.0"))
    }

    /// A server with these options, without tools.
    pub fn with_options(options: ServeOptions) -> Self {
        Self { server: ToolServer::new(options), script: Arc::default() }
    }

    /// Adds a tool that accepts any object.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.tool_of(ToolSpec::new(name, description))
    }

    /// Adds a tool with this definition, such as one with a schema.
    #[must_use]
    pub fn tool_of(self, spec: ToolSpec) -> Self {
        self.server.add_served_tool(Arc::new(ScriptedTool { spec, script: self.script.clone() }));
        self
    }

    /// Sets the result of calls of `tool` with these arguments. The order of members does not matter. Several results
    /// for the same call are returned in turn; the last one repeats. Arguments that cannot be serialized match no call.
    #[must_use]
    pub fn on_call<A: Serialize + ?Sized>(
        self,
        tool: impl Into<String>,
        arguments: &A,
        outcome: impl Into<ToolOutcome>,
    ) -> Self {
        let arguments = serde_json::to_value(arguments).unwrap_or(Value::Null);
        self.add(tool.into(), Some(arguments), outcome.into())
    }

    /// Sets the result of every call of `tool` that has no other scripted result.
    #[must_use]
    pub fn on_any_call(self, tool: impl Into<String>, outcome: impl Into<ToolOutcome>) -> Self {
        self.add(tool.into(), None, outcome.into())
    }

    /// The server, to add prompts and resources, or to serve over another transport.
    pub fn server(&self) -> &ToolServer {
        &self.server
    }

    /// The calls received so far, in order.
    pub fn calls(&self) -> Vec<ScriptedCall> {
        lock(&self.script).calls.clone()
    }

    fn add(self, tool: String, arguments: Option<Value>, outcome: ToolOutcome) -> Self {
        lock(&self.script).lines.push(Line { tool, arguments, outcome, uses: 0 });
        self
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Script {
    fn answer(&mut self, tool: &str, arguments: &RawJson) -> Option<ToolOutcome> {
        let value: Option<Value> = arguments.decode().ok();
        let fits = |line: &&mut Line, is_exact: bool| {
            line.tool == tool && line.arguments.is_some() == is_exact
        };
        let exact = self.lines.iter_mut().filter(|line| fits(line, true));
        let mut lines: Vec<&mut Line> = exact.filter(|line| line.arguments == value).collect();
        if lines.is_empty() {
            lines = self.lines.iter_mut().filter(|line| fits(line, false)).collect();
        }
        let unused = lines.iter().position(|line| line.uses == 0);
        let line = match unused {
            Some(index) => Some(lines.swap_remove(index)),
            None => lines.pop(),
        };
        let outcome = line.map(|line| {
            line.uses += 1;
            line.outcome.clone()
        });
        self.calls.push(ScriptedCall {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            is_answered: outcome.is_some(),
        });
        outcome
    }
}

impl Connect for Scripted {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        let server = self.server.in_process();
        Box::pin(async move { server.connect().await })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("lines", &lock(&self.script).lines.len())
            .finish_non_exhaustive()
    }
}

struct ScriptedTool {
    spec: ToolSpec,
    script: Arc<Mutex<Script>>,
}

impl ServedTool for ScriptedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(
        &self,
        arguments: RawJson,
        _call: Call,
    ) -> BoxFuture<'_, Result<ToolOutcome, ServeError>> {
        let name = &self.spec.name;
        let outcome = lock(&self.script).answer(name, &arguments);
        Box::pin(async move {
            outcome.ok_or_else(|| {
                let arguments = arguments.as_str();
                let text = format!("no scripted result for `{name}` with {arguments}");
                ServeError::InvalidParams(text)
            })
        })
    }
}
