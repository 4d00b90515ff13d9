//! The options of a gateway, with their defaults.

use std::{fmt, sync::Arc, time::Duration};

use mcp_bridge::BridgeOptions;
use mcp_server::ServeOptions;
use mcp_types::LogLevel;

use crate::consent::ClientConsent;

/// Which tools are offered to clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a list, no list, or whichever is shorter")]
pub enum ToolMode {
    /// Every tool; with more than [`BridgeOptions::search_threshold`] tools the same as [`Search`](Self::Search).
    #[default]
    Auto,
    /// Every tool.
    All,
    /// `tool_search`, `tool_list`, `tool_call`, `tool_read`, and the tools that are always loaded.
    Search,
}

/// The options of a [`Gateway`](crate::Gateway).
///
/// ```
/// use mcp_gateway::{ClientConsent, GatewayOptions, ToolMode};
///
/// let options = GatewayOptions::new("gateway", "1.0.0")
///     .with_mode(ToolMode::Search)
///     .with_consent(ClientConsent::default().with_trust_client(true));
/// assert!(options.consent.trust_client);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// Options of the server that clients connect to. The gateway sets resources, prompts, completions and default
    /// instructions.
    pub server: ServeOptions,
    /// Which tools are offered. Default: [`ToolMode::Auto`].
    pub mode: ToolMode,
    /// Whether `list_mcp_resources` and `read_mcp_resource` are offered if a server has resources. Turn it off for
    /// clients that have such tools themselves. Default yes.
    pub resource_tools: bool,
    /// How consent to calls is obtained. Default: from the user of the client, by elicitation.
    pub consent: ClientConsent,
    /// How long [`Gateway::open`](crate::Gateway::open) waits for servers without a catalogue. Default 5 s.
    pub open_timeout: Duration,
    /// How long calls in flight may continue when the gateway stops. Default 10 s.
    pub drain_timeout: Duration,
}

impl GatewayOptions {
    /// Default options with this server name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            server: ServeOptions::new(name, version),
            mode: ToolMode::default(),
            resource_tools: true,
            consent: ClientConsent::default(),
            // Some clients list the tools only once.
            open_timeout: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(10),
        }
    }

    /// Sets the options of the server that clients connect to.
    #[must_use]
    pub fn with_server(mut self, server: ServeOptions) -> Self {
        self.server = server;
        self
    }

    /// Sets which tools are offered.
    #[must_use]
    pub fn with_mode(mut self, mode: ToolMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether the tools for resources are offered.
    #[must_use]
    pub fn with_resource_tools(mut self, offered: bool) -> Self {
        self.resource_tools = offered;
        self
    }

    /// Sets how consent to calls is obtained.
    #[must_use]
    pub fn with_consent(mut self, consent: ClientConsent) -> Self {
        self.consent = consent;
        self
    }

    /// Sets how long opening waits for servers without a catalogue.
    #[must_use]
    pub fn with_open_timeout(mut self, timeout: Duration) -> Self {
        self.open_timeout = timeout;
        self
    }

    /// Sets how long calls in flight may continue when the gateway stops.
    #[must_use]
    pub fn with_drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// Adapts the options of the bridge to a gateway.
    pub(crate) fn configure(&self, bridge: &mut BridgeOptions) {
        bridge.approver = Arc::new(self.consent);
        // Each client sets its own level; modern servers send logs only if a request asks for them.
        bridge.client.log_level = Some(LogLevel::Info);
        bridge.tool_search = self.mode != ToolMode::All;
        if self.mode == ToolMode::Search {
            bridge.search_threshold = 0;
        }
    }
}

impl fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayOptions")
            .field("server", &self.server)
            .field("mode", &self.mode)
            .field("consent", &self.consent)
            .finish_non_exhaustive()
    }
}
