//! The [`Bridge`]: connects servers and offers their tools.

mod errors;
mod mention;
mod offerings;
mod updates;

use std::{fmt, sync::Arc, time::Duration};

use mcp_client::{RawJson, ServerProfile};
use mcp_config::{Resolution, ServerConfig, custom::CustomTool};
use mcp_tool::{CallContext, Offer, Tool, ToolOutcome};
use serde_json::json;

pub use self::{
    errors::{NameTaken, OfferError, UnknownServer},
    mention::{Mention, MentionError},
    offerings::{Command, Instructions, ResourceRef, TemplateRef},
    updates::ResourceUpdates,
};
use crate::{
    builtin::{
        custom::{Custom, CustomToolError},
        resources,
    },
    connect::{LoginFailure, LoginUser, UserMessage},
    conversation::{Conversation, ConversationOptions, Snapshot},
    directory::{Directory, FailedCall},
    events::{Counters, Events},
    lifecycle::{Fact, ServerStatus},
    options::BridgeOptions,
    server::{
        Server,
        explain::{self, Explanation},
    },
    tools::{publish::Quarantined, registry::Registered, scope::Entry},
    trust::ApprovedServer,
};

/// Connects servers and offers their tools for the lifetime of a host.
///
/// The bridge handles transports, reconnects, tool names, trust and search. Clones share the same bridge. Its
/// connections close when the last clone, conversation and tool is dropped; [`shutdown`](Self::shutdown) closes them
/// gracefully.
///
/// ```no_run
/// use mcp_bridge::{Bridge, BridgeOptions, CallContext, RawJson, ServerConfig};
/// use mcp_config::{Stdio, Transport};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let bridge = Bridge::new(BridgeOptions::default());
/// let mut time = ServerConfig::new("time".parse()?, Transport::Stdio(Stdio::new("mcp-server-time")));
/// time.trust = true;
/// bridge.add_server_as_written(time);
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
    directory: Arc<Directory>,
    conversation: Conversation,
}

impl Bridge {
    /// Creates a bridge without servers.
    pub fn new(options: BridgeOptions) -> Self {
        let directory = Arc::new(Directory::new(options));
        directory.hub.registry.for_resources(resources::tools(&directory));
        let conversation = Conversation::new(directory.clone(), ConversationOptions::default());
        Self { directory, conversation }
    }

    /// Adds a server after the existing ones, replacing a server of the same name. Its tools appear once it is
    /// connected, or at once if the catalogue has them.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn add_server(&self, server: ApprovedServer) {
        self.directory.add_server(server.into_config());
    }

    /// Adds every usable server of a resolution, each with the trust that its scope gives it.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn add_servers(&self, resolution: &Resolution) {
        ApprovedServer::all(resolution).for_each(|server| self.add_server(server));
    }

    /// Adds a server and honours its `trust` setting: for entries that the host wrote or decided on itself. Use
    /// [`add_servers`](Self::add_servers) for entries from files, so that a file cannot declare its own servers
    /// trusted.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn add_server_as_written(&self, config: ServerConfig) {
        self.add_server(ApprovedServer::trust_as_written(config));
    }

    /// Removes a server and closes its connection gracefully.
    ///
    /// # Errors
    /// Returns [`UnknownServer`] if no server has this name.
    pub async fn remove_server(&self, server: &str) -> Result<(), UnknownServer> {
        self.directory.take_server(server).ok_or_else(|| unknown(server))?.stop().await;
        Ok(())
    }

    /// Removes a server at once, and closes its connection gracefully after its calls in flight. Another server of the
    /// same name may be added in the meantime.
    ///
    /// # Errors
    /// Returns [`UnknownServer`] if no server has this name.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn retire_server(&self, server: &str) -> Result<(), UnknownServer> {
        let server = self.directory.take_server(server).ok_or_else(|| unknown(server))?;
        self.directory.retire(&server);
        tokio::spawn(async move { server.retire().await });
        Ok(())
    }

    /// Adds a tool of the host. It is part of every prompt.
    ///
    /// # Errors
    /// If another tool has its name.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Result<(), NameTaken> {
        let name = tool.spec().name.clone();
        let is_free = self.directory.hub.registry.add_host(Arc::new(Registered::host(tool)));
        if is_free { Ok(()) } else { Err(NameTaken { name }) }
    }

    /// Adds a tool composed of other tools. It is part of every prompt.
    ///
    /// Each step is an ordinary call: rules that deny a call to the model deny it here too.
    ///
    /// ```no_run
    /// use mcp_bridge::{Bridge, tool::CustomTool};
    ///
    /// # fn example(bridge: Bridge) -> Result<(), Box<dyn std::error::Error>> {
    /// bridge.add_custom(CustomTool::parse(
    ///     r#"{"name": "my_issues", "steps": [{"tool": "github/list_issues", "fixed": {"assignee": "me"}}]}"#,
    /// )?)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the name is taken or invalid, or if the parameters are not an object schema.
    pub fn add_custom(&self, tool: CustomTool) -> Result<(), CustomToolError> {
        let (name, claims_reading) = (tool.name.clone(), tool.read_only);
        let raw: Arc<str> = format!("{:#}", tool.to_json()).into();
        let custom = Custom::new(tool, &self.directory)?;
        let mut registered = Registered::own(Entry::Scoped(Arc::new(custom)));
        registered.claims_reading = claims_reading;
        registered.raw = raw;
        if self.directory.hub.registry.add_host(Arc::new(registered)) {
            Ok(())
        } else {
            Err(CustomToolError::NameTaken(name))
        }
    }

    /// Returns the definition of a server's tool exactly as the server published it, for review. It is neither
    /// completed nor sanitized, so do not show it. `tool` is the name under which models call the tool.
    pub fn published(&self, tool: &str) -> Option<RawJson> {
        let (_, all) = self.directory.hub.registry.all();
        let found = all.iter().find(|registered| registered.tool.spec().name == tool)?;
        found.tool.spec().server()?;
        RawJson::parse(found.raw.to_string()).ok()
    }

    /// Removes a tool of the host, composed or not. Returns whether the tool existed.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.directory.hub.registry.remove_host(name)
    }

    /// Connects every server that is not started lazily, and waits until each is connected or has failed. To wait for
    /// less time, put a timeout around the call: connecting continues in the background.
    ///
    /// Has no effect on servers that are already started.
    pub async fn start(&self) {
        let servers = self.directory.servers();
        let eager: Vec<_> =
            servers.iter().filter(|server| !self.directory.is_lazy(&server.config)).collect();
        for server in &eager {
            server.tell(Fact::Wanted);
        }
        for server in eager {
            // Each connection attempt has its own limit; this one only bounds the wait.
            let limit = Duration::from_secs(3600);
            if server.config.enabled && server.is_starting() {
                server.settled(limit).await;
            }
        }
    }

    /// Returns the tools for the turn that begins now, in the bridge's own conversation.
    pub fn snapshot(&self) -> Snapshot {
        self.conversation.snapshot()
    }

    /// Returns the bridge's own conversation.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Opens a separate conversation over the same connections: for a sub-agent or another user.
    pub fn start_conversation(&self, options: ConversationOptions) -> Conversation {
        Conversation::new(self.directory.clone(), options)
    }

    /// Calls a tool of the bridge's own conversation by name.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call.
    pub async fn call(&self, name: &str, arguments: RawJson, context: CallContext) -> ToolOutcome {
        self.conversation.call(name, arguments, context).await
    }

    /// Returns the status of each server, in the order they were added.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.directory.servers().iter().map(|server| server.status()).collect()
    }

    /// Waits until a server's status satisfies `is_it` and returns it, or `None` if no server has this name.
    pub async fn wait_for(
        &self,
        server: &str,
        is_it: impl FnMut(&ServerStatus) -> bool,
    ) -> Option<ServerStatus> {
        let mut status = self.directory.server(server)?.watch();
        status.wait_for(is_it).await.ok().map(|status| status.clone())
    }

    /// Connects a server now if it is stopped, has failed, or waits for its next attempt. Has no effect on a server
    /// that needs a login; [`reconnect`](Self::reconnect) retries that too.
    ///
    /// # Errors
    /// Returns [`UnknownServer`] if no server has this name.
    pub fn connect(&self, server: &str) -> Result<(), UnknownServer> {
        self.tell(server, Fact::Connect)
    }

    /// Starts a stopped server. Has no effect on a server that has failed, waits for its next attempt, or needs a
    /// login.
    ///
    /// # Errors
    /// Returns [`UnknownServer`] if no server has this name.
    pub fn wake(&self, server: &str) -> Result<(), UnknownServer> {
        self.tell(server, Fact::Wanted)
    }

    /// Closes a server's connection, discards the state learnt from it, and connects again at once.
    ///
    /// # Errors
    /// Returns [`UnknownServer`] if no server has this name.
    pub fn reconnect(&self, server: &str) -> Result<(), UnknownServer> {
        self.tell(server, Fact::Reconnect)
    }

    /// Enables a disabled server. It starts when it is needed, or through [`connect`](Self::connect).
    ///
    /// # Errors
    /// Returns [`UnknownServer`] if no server has this name.
    pub fn enable(&self, server: &str) -> Result<(), UnknownServer> {
        self.tell(server, Fact::Enable)
    }

    /// Closes a server's connection. The server stays stopped until [`enable`](Self::enable) is called.
    ///
    /// # Errors
    /// Returns [`UnknownServer`] if no server has this name.
    pub fn disable(&self, server: &str) -> Result<(), UnknownServer> {
        self.tell(server, Fact::Disable)
    }

    /// Logs the user in to a server, reconnects, and returns once the server is connected or has failed; its tools are
    /// in the next snapshot. The wait is bounded by [`BridgeOptions::start_limit`]; the returned status has the result.
    /// `tell` shows messages to the user during the login, such as a URL to open. The user requested the login, so only
    /// a rule for `mcp:<server>:login` can deny it.
    ///
    /// # Errors
    /// Returns an error if the login failed; the connection is unchanged.
    pub async fn login(
        &self,
        server: &str,
        tell: UserMessage,
    ) -> Result<ServerStatus, LoginFailure> {
        let server = self.server_to_log_in(server)?;
        let mut context = CallContext::default();
        context.approved = true;
        let allowed = self.permitted(&server, Offer::Login, json!({}), context).await;
        allowed.map_err(|refused| {
            let text = refused.text_content();
            LoginFailure::Denied(text.strip_prefix("denied: ").unwrap_or(&text).to_owned())
        })?;
        server.login(LoginUser::new(tell), false).await
    }

    fn server_to_log_in(&self, name: &str) -> Result<Arc<Server>, LoginFailure> {
        self.directory.server(name).ok_or_else(|| LoginFailure::UnknownServer(name.to_owned()))
    }

    /// Logs the user out of a server. The server then needs a login.
    ///
    /// # Errors
    /// Returns an error if the logout failed; the login is unchanged.
    pub async fn logout(&self, server: &str) -> Result<(), LoginFailure> {
        self.server_to_log_in(server)?.logout().await
    }

    /// Returns the quarantined tools of a server, with the reasons.
    pub fn quarantined(&self, server: &str) -> Vec<Quarantined> {
        let server = self.directory.server(server);
        server.map(|server| server.live().quarantined.clone()).unwrap_or_default()
    }

    /// Explains the state of a server: cause, evidence and remedy.
    pub fn explain(&self, server: &str) -> Option<Explanation> {
        self.directory.server(server).map(|server| explain::explain(&server))
    }

    /// Returns the profile of a connected server: name, version, revision, capabilities and instructions. This is
    /// untrusted text.
    pub fn profile(&self, server: &str) -> Option<ServerProfile> {
        self.directory.server(server)?.live().profile.clone()
    }

    /// Explains why servers do not work. Servers that fail for the same reason share one explanation.
    pub fn explain_all(&self) -> Vec<Explanation> {
        explain::explain_all(&self.directory.servers())
    }

    /// Subscribes to all events from now on.
    pub fn events(&self) -> Events {
        self.directory.hub.bus.subscribe()
    }

    /// Returns the number of events of each kind so far.
    pub fn counters(&self) -> Counters {
        self.directory.hub.bus.counters()
    }

    /// Returns the calls that ended without a result, oldest first.
    pub fn failed_calls(&self) -> Vec<FailedCall> {
        self.directory.failed_calls()
    }

    /// Closes all connections gracefully and concurrently.
    pub async fn shutdown(&self) {
        let servers = self.directory.servers().into_iter().chain(self.directory.retired());
        let tasks: Vec<_> =
            servers.map(|server| tokio::spawn(async move { server.stop().await })).collect();
        let writes = self.directory.hub.take_writes();
        for task in tasks.into_iter().chain(writes) {
            let _ = task.await;
        }
    }

    fn tell(&self, server: &str, fact: Fact) -> Result<(), UnknownServer> {
        let server = self.directory.server(server).ok_or_else(|| unknown(server))?;
        server.tell(fact);
        Ok(())
    }
}

fn unknown(server: &str) -> UnknownServer {
    UnknownServer { name: server.to_owned() }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge")
            .field("servers", &self.directory.servers().len())
            .finish_non_exhaustive()
    }
}
