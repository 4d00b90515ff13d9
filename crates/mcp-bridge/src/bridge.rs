//! Servers in, tools out.

mod catalogue;
mod context;
mod core;
mod custom;
mod offers;
mod resources;
mod updates;

use std::{fmt, sync::Arc, time::Duration};

use mcp_client::RawJson;
use mcp_config::{CustomTool, ServerConfig};

pub use self::core::DeadLetter;
pub use self::{
    context::{Command, Instructions, ResourceRef, TemplateRef},
    custom::CustomToolError,
    updates::ResourceUpdates,
};
pub(crate) use self::{
    core::{Core, Whence},
    offers::{Offers, Remembered},
};
pub use crate::options::BridgeOptions;
use crate::{
    connector::{Connector, Login, TellUser},
    context::CallContext,
    events::{Counters, Events},
    explain::{self, Explanation},
    lease::{Lease, LeaseOptions, Snapshot},
    lifecycle::Fact,
    outcome::ToolOutcome,
    publish::Quarantined,
    registry::Registered,
    status::ServerStatus,
    tool::Tool,
};

/// Connects servers and offers their tools, all day long.
///
/// Everything is behind it: transports, reconnects, names, trust, search. Clones are the same bridge; it
/// ends, and its connections with it, when the last clone, lease and tool is dropped, or in good order
/// with [`shutdown`](Self::shutdown).
///
/// ```no_run
/// use mcp_bridge::{Bridge, BridgeOptions, CallContext, RawJson, ServerConfig};
/// use mcp_config::{Stdio, Transport};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let bridge = Bridge::new(BridgeOptions::default());
/// let mut time = ServerConfig::new("time".parse()?, Transport::Stdio(Stdio::new("mcp-server-time")));
/// time.trust = true;
/// bridge.add_server(time);
/// bridge.start().await;
/// let turn = bridge.snapshot();
/// for tool in turn.tools() {
///     println!("{}: {}", tool.spec().name, tool.spec().description);
/// }
/// let arguments = RawJson::parse(r#"{"timezone":"Europe/Berlin"}"#)?;
/// println!("{}", turn.call("mcp__time__get_current_time", arguments, CallContext::default()).await);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Bridge {
    core: Arc<Core>,
    lease: Lease,
}

impl Bridge {
    /// A bridge without servers.
    pub fn new(options: BridgeOptions) -> Self {
        let core = Arc::new(Core::new(options));
        core.registry.for_resources(resources::tools(&core));
        let lease = Lease::new(core.clone(), LeaseOptions::default());
        Self { core, lease }
    }

    /// Makes a server known, after those that are. Its tools appear when it is connected, or at once if
    /// they are remembered from last time. One of the same name is replaced.
    ///
    /// Its `trust` is taken at its word: whoever reads configurations puts the verdict of
    /// [`Candidate::is_trusted`](mcp_config::Candidate::is_trusted) there, not what a file says of itself.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn add_server(&self, config: ServerConfig) {
        self.core.add_server(config);
    }

    /// Forgets a server, and ends its connection in good order.
    pub async fn remove_server(&self, server: &str) -> bool {
        let server = self.core.take_server(server);
        match &server {
            Some(server) => server.stop().await,
            None => return false,
        }
        true
    }

    /// Forgets a server at once, and ends its connection in good order when the calls in flight are done.
    /// Another one of the same name may be added meanwhile. Returns whether there was one.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn retire_server(&self, server: &str) -> bool {
        let Some(server) = self.core.take_server(server) else { return false };
        self.core.retire(&server);
        tokio::spawn(async move { server.retire().await });
        true
    }

    /// Adds a tool of the host. It stays in every prompt. Returns whether its name was free.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> bool {
        self.core.registry.add_host(Arc::new(Registered::host(tool)))
    }

    /// Adds a tool made of others, which stays in every prompt.
    ///
    /// Each step is a call like any other: what a rule denies to a model it denies here too.
    ///
    /// ```no_run
    /// use mcp_bridge::{Bridge, CustomTool};
    ///
    /// # fn example(bridge: Bridge) -> Result<(), Box<dyn std::error::Error>> {
    /// bridge.add_custom(CustomTool::parse(
    ///     r#"{"name": "my_issues", "steps": [{"tool": "github/list_issues", "fixed": {"assignee": "me"}}]}"#,
    /// )?)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When its name is taken, or its schema is none.
    pub fn add_custom(&self, tool: CustomTool) -> Result<(), CustomToolError> {
        let (name, claims_reading) = (tool.name.clone(), tool.read_only);
        let raw: Arc<str> = format!("{:#}", tool.to_json()).into();
        let mut registered = Registered::host(Arc::new(custom::Custom::new(tool, &self.lease)?));
        registered.claims_reading = claims_reading;
        registered.raw = raw;
        if self.core.registry.add_host(Arc::new(registered)) {
            Ok(())
        } else {
            Err(CustomToolError::NameTaken(name))
        }
    }

    /// Takes a tool of the host away, made of others or not. Returns whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.core.registry.remove_host(name)
    }

    /// Connects every server that is not to be started later, and waits until each has settled one way
    /// or the other. Whoever has no time for that puts a limit on it: connecting goes on.
    ///
    /// Starting what is started does nothing.
    pub async fn start(&self) {
        let servers = self.core.servers();
        let eager: Vec<_> =
            servers.iter().filter(|server| !self.core.is_lazy(&server.config)).collect();
        for server in &eager {
            server.tell(Fact::Wanted);
        }
        for server in eager {
            // Without a limit of its own: each attempt has one.
            let limit = Duration::from_secs(3600);
            if server.config.enabled && server.is_coming_up() {
                server.settled(limit, false).await;
            }
        }
    }

    /// The tools for the turn that begins now, in the bridge's own conversation.
    pub fn snapshot(&self) -> Snapshot {
        self.lease.snapshot()
    }

    /// The bridge's own conversation.
    pub fn conversation(&self) -> &Lease {
        &self.lease
    }

    /// A conversation of its own over the same connections: for a sub-agent, or another user.
    pub fn lease(&self, options: LeaseOptions) -> Lease {
        Lease::new(self.core.clone(), options)
    }

    /// Calls a tool of the bridge's own conversation by name.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up.
    pub async fn call(&self, name: &str, arguments: RawJson, context: CallContext) -> ToolOutcome {
        self.lease.call(name, arguments, context).await
    }

    /// What is known of each server, in order.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.core.servers().iter().map(|server| server.status()).collect()
    }

    /// Waits until a server's state satisfies `is_it`. Returns the state; `None` if there is no such server.
    pub async fn wait_for(
        &self,
        server: &str,
        is_it: impl FnMut(&ServerStatus) -> bool,
    ) -> Option<ServerStatus> {
        let mut status = self.core.server(server)?.watch();
        status.wait_for(is_it).await.ok().map(|status| status.clone())
    }

    /// Connects a server now, if it is not connected or connecting.
    pub fn connect(&self, server: &str) -> bool {
        self.tell(server, Fact::Wanted)
    }

    /// Drops a server's connection, and what was learnt from it, and connects again at once.
    pub fn reconnect(&self, server: &str) -> bool {
        self.tell(server, Fact::Reconnect)
    }

    /// Lets a server be started again. It starts when it is needed, or by [`connect`](Self::connect).
    pub fn enable(&self, server: &str) -> bool {
        self.tell(server, Fact::Enable)
    }

    /// Ends a server's connection. Nothing starts it again but [`enable`](Self::enable).
    pub fn disable(&self, server: &str) -> bool {
        self.tell(server, Fact::Disable)
    }

    /// Logs the user in to a server, and connects again. `tell` shows the user something on the way, such
    /// as an address to open.
    ///
    /// # Errors
    /// What to tell the user.
    pub async fn login(&self, server: &str, tell: TellUser) -> Result<(), String> {
        match self.core.server(server) {
            Some(server) => server.login(tell).await,
            None => Err(format!("there is no server called {server}")),
        }
    }

    /// Logs the user out of a server, which from then on needs a login.
    ///
    /// # Errors
    /// What to tell the user.
    pub async fn logout(&self, server: &str) -> Result<(), String> {
        match self.core.server(server) {
            Some(server) => server.logout().await,
            None => Err(format!("there is no server called {server}")),
        }
    }

    /// Tools of a server that were set aside, and why.
    pub fn quarantined(&self, server: &str) -> Vec<Quarantined> {
        let server = self.core.server(server);
        server.map(|server| server.live().quarantined.clone()).unwrap_or_default()
    }

    /// Why a server is in the state it is in: cause, evidence, and what to do.
    pub fn explain(&self, server: &str) -> Option<Explanation> {
        self.core.server(server).map(|server| explain::explain(&server))
    }

    /// Why servers do not work. Several that fail for one reason are one explanation.
    pub fn explain_all(&self) -> Vec<Explanation> {
        explain::explain_all(&self.core.servers())
    }

    /// Hears of everything that happens from now on.
    pub fn events(&self) -> Events {
        self.core.bus.subscribe()
    }

    /// How often what happened.
    pub fn counters(&self) -> Counters {
        self.core.bus.counters()
    }

    /// Calls that failed on their way, the oldest first.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.core.dead_letters()
    }

    /// Ends every connection in good order, all at once.
    pub async fn shutdown(&self) {
        let servers = self.core.servers().into_iter().chain(self.core.retired());
        let tasks: Vec<_> =
            servers.map(|server| tokio::spawn(async move { server.stop().await })).collect();
        let writes = std::mem::take(&mut *crate::server::lock(&self.core.writes));
        for task in tasks.into_iter().chain(writes) {
            let _ = task.await;
        }
    }

    fn tell(&self, server: &str, fact: Fact) -> bool {
        let server = self.core.server(server);
        server.map(|server| server.tell(fact)).is_some()
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("servers", &self.core.servers().len())
            .finish_non_exhaustive()
    }
}

impl crate::server::Server {
    pub(crate) fn way_to_log_in(&self) -> Option<Arc<dyn Login>> {
        let connector: Arc<dyn Connector> = self.core.upgrade()?.options.connector.clone();
        connector.login(&self.config)
    }
}
