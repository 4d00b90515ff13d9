//! The gateway: a bridge, a server in front of it, and a task that synchronizes their lists.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_bridge::{
    Bridge, BridgeOptions, Event, ServerConfig, ServerStatus, error::CustomToolError,
    tool::CustomTool,
};
use mcp_server::{ServeOptions, ToolServer};
use tokio::{sync::mpsc, task::AbortHandle};

use crate::{
    logins,
    options::{GatewayOptions, ToolMode},
    prompts::GatewayPrompts,
    questions::{ListChanges, QuestionRelay},
    reload::{CurrentServers, ServerChanges, replace_tools},
    resources::GatewayResources,
    runner::Runner,
    tools::GatewayTools,
};

/// How long responses may take to be written after the last call.
#[cfg(feature = "http")]
const CLOSE_GRACE: Duration = Duration::from_millis(300);

/// One MCP server in front of many. Dropping it stops the task that updates its lists.
#[derive(Debug)]
pub struct Gateway {
    both: Arc<BothSides>,
    servers: CurrentServers,
    custom: Mutex<Vec<CustomTool>>,
    open_timeout: Duration,
    drain_timeout: Duration,
    keeper: AbortHandle,
}

impl Gateway {
    /// Creates a gateway in front of `servers`, which are not started yet. Must be called within a tokio runtime.
    ///
    /// The gateway overrides these options of the bridge: `handler`, `approver`, `tool_search` and the log level.
    pub fn new(
        mut bridge: BridgeOptions,
        options: GatewayOptions,
        servers: Vec<ServerConfig>,
    ) -> Self {
        let changes = Arc::new(ListChanges::default());
        options.configure(&mut bridge);
        bridge.handler = Arc::new(QuestionRelay { changes: changes.clone() });
        let (policy, connector) = (bridge.policy.clone(), bridge.connector.clone());
        let bridge = Bridge::new(bridge);
        for server in &servers {
            bridge.add_server_as_written(server.clone());
        }
        let (resources, updated) = GatewayResources::new(&bridge);
        let server = ToolServer::new(front(options.server, options.mode, &bridge, resources));
        let tools = GatewayTools::new(Runner::new(&bridge, policy, options.resource_tools));
        let both = Arc::new(BothSides { bridge, server, tools, changes });
        let current = CurrentServers::new(servers);
        let (kept, followed) = (both.clone(), current.clone());
        let keeper = tokio::spawn(async move {
            tokio::join!(
                kept.follow_events(),
                kept.pass_updates(updated),
                logins::follow(&kept.bridge, &*connector, &followed)
            )
        });
        Self {
            both,
            servers: current,
            custom: Mutex::default(),
            open_timeout: options.open_timeout,
            drain_timeout: options.drain_timeout,
            keeper: keeper.abort_handle(),
        }
    }

    /// The bridge to the servers behind the gateway. Add and remove servers with [`set_servers`](Self::set_servers).
    pub fn bridge(&self) -> &Bridge {
        &self.both.bridge
    }

    /// The server that clients connect to, for transports other than those below, such as in process.
    pub fn server(&self) -> &ToolServer {
        &self.both.server
    }

    /// Connects servers without a catalogue, and offers all tools. Waits for slow servers up to
    /// [`open_timeout`](GatewayOptions::open_timeout); their tools are announced when they connect.
    ///
    /// # Cancel safety
    /// Connecting continues if the future is dropped.
    pub async fn open(&self) {
        let snapshot = self.both.bridge.snapshot();
        let is_unknown = |status: &ServerStatus| {
            let has_tools =
                snapshot.tools().iter().any(|tool| tool.spec().server() == Some(&*status.name));
            status.state.is_pending() && status.generation == 0 && !has_tools
        };
        let unknown: Vec<_> = self.both.bridge.status().into_iter().filter(is_unknown).collect();
        for status in &unknown {
            let _ = self.both.bridge.connect(&status.name);
        }
        let all = async {
            for status in &unknown {
                self.both.bridge.wait_for(&status.name, ServerStatus::is_settled).await;
            }
        };
        let _ = tokio::time::timeout(self.open_timeout, all).await;
        self.both.offer();
    }

    /// Replaces the servers behind the gateway, and starts new ones. Unchanged servers keep their connection; calls in
    /// flight to the others continue.
    pub fn set_servers(&self, servers: Vec<ServerConfig>) -> ServerChanges {
        let changes = self.servers.replace(&self.both.bridge, servers);
        // Tools of a changed server are offered until its successor is connected, so that lists do not shrink and grow
        // again.
        if changes.has_removed() {
            self.both.offer();
        }
        changes
    }

    /// Replaces the custom tools. Returns those that were rejected.
    pub fn set_custom_tools(&self, tools: Vec<CustomTool>) -> Vec<CustomToolError> {
        let mut current = self.custom.lock().unwrap_or_else(PoisonError::into_inner);
        if *current == tools {
            return Vec::new();
        }
        let left_out = replace_tools(&self.both.bridge, &mut current, tools);
        self.both.offer();
        left_out
    }

    /// The number of running calls of clients.
    pub fn calls_in_flight(&self) -> usize {
        self.both.tools.calls().count()
    }

    /// Rejects new calls, and waits for calls in flight up to [`drain_timeout`](GatewayOptions::drain_timeout).
    pub async fn drain(&self) {
        let _ = tokio::time::timeout(self.drain_timeout, self.both.tools.calls().drain()).await;
    }

    /// Serves one client over stdin and stdout until stdin ends, or until `stop` completes and calls are drained.
    ///
    /// # Errors
    /// If reading or writing fails.
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self, stop: impl Future<Output = ()> + Send) -> std::io::Result<()> {
        let ending = async {
            stop.await;
            self.drain().await;
        };
        let input = crate::until::Until::new(tokio::io::stdin(), ending);
        self.both.server.serve_pipes(std::pin::pin!(input), tokio::io::stdout()).await
    }

    /// Serves Streamable HTTP until the listener fails, or until `stop` completes and calls are drained.
    ///
    /// # Errors
    /// If the listener fails.
    #[cfg(feature = "http")]
    pub async fn serve_http(
        &self,
        listener: impl mcp_server::http::Listen,
        options: mcp_server::http::HttpServeOptions,
        stop: impl Future<Output = ()>,
    ) -> std::io::Result<()> {
        let http = self.both.server.http(options);
        let mut serving = std::pin::pin!(http.serve(listener));
        tokio::select! {
            done = &mut serving => return done,
            () = stop => {}
        }
        tokio::select! {
            done = &mut serving => return done,
            () = self.drain() => {}
        }
        // Give the last responses time to be written.
        tokio::time::timeout(CLOSE_GRACE, serving).await.unwrap_or(Ok(()))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// Builds the server that clients connect to.
fn front(
    mut options: ServeOptions,
    mode: ToolMode,
    bridge: &Bridge,
    resources: GatewayResources,
) -> ServeOptions {
    let prompts = Arc::new(GatewayPrompts(bridge.clone()));
    options.resources = Some(Arc::new(resources));
    options.prompts = Some(prompts.clone());
    options.completions = Some(prompts);
    options.instructions.get_or_insert_with(|| {
        let names: Vec<String> = bridge.status().iter().map(|s| s.name.to_string()).collect();
        let names = if names.is_empty() { "none yet".into() } else { names.join(", ") };
        let search = match mode {
            ToolMode::All => "",
            _ => {
                " Tools that are not listed can be found with tool_search, and run with tool_read if they only read, \
                 else with tool_call."
            }
        };
        format!("One server in front of these: {names}.{search}")
    });
    options
}

/// A bridge and the server in front of it.
#[derive(Debug)]
struct BothSides {
    bridge: Bridge,
    server: ToolServer,
    tools: GatewayTools,
    changes: Arc<ListChanges>,
}

impl BothSides {
    /// Offers the current tools.
    fn offer(&self) {
        self.tools.offer(&self.server);
    }

    /// Offers the current tools and announces changed lists until the bridge is dropped.
    async fn follow_events(&self) {
        let mut events = self.bridge.events();
        loop {
            let event = tokio::select! {
                event = events.next() => match event {
                    Some(event) => event,
                    None => return,
                },
                () = self.changes.resources() => {
                    self.server.resources_changed();
                    continue;
                }
            };
            self.announce(&event);
        }
    }

    fn announce(&self, event: &Event) {
        match event {
            Event::ServerConnected { .. } => {
                self.offer();
                self.server.resources_changed();
                self.server.prompts_changed();
            }
            Event::ListChanged { .. }
            | Event::NeedsAuth { .. }
            | Event::ToolLoaded { .. }
            | Event::ServerDisconnected { .. }
            | Event::ServerError { .. }
            | Event::Missed(_) => self.offer(),
            // Not earlier: a client that lists again at once would get the old prompts.
            Event::ListsFetched { .. } if self.changes.take_prompts() => {
                self.server.prompts_changed();
            }
            _ => {}
        }
    }

    /// Announces updates of resources to the clients that have subscribed to them.
    async fn pass_updates(&self, mut updated: mpsc::Receiver<String>) {
        while let Some(uri) = updated.recv().await {
            self.server.resource_updated(&uri);
        }
    }
}
