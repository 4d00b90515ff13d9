//! Server identity, capabilities and log messages.

use std::fmt;

use mcp_jsonrpc::RawJson;

use crate::open::{Open, open};

open! {
    /// The name and version of an implementation. For display only.
    pub struct Implementation {
        /// The name.
        lenient name: String = "name",
        /// The version.
        lenient version: String = "version",
        /// The display name.
        optional title: Option<String> = "title",
        /// The description.
        optional description: Option<String> = "description",
        /// The website.
        optional website_url: Option<String> = "websiteUrl",
        /// The icons.
        optional icons: Option<RawJson> = "icons",
    }

    /// The capabilities of a server.
    #[derive(Default)]
    pub struct ServerCapabilities {
        /// The server has tools.
        optional tools: Option<ListChanged> = "tools",
        /// The server has resources.
        optional resources: Option<ResourcesCapability> = "resources",
        /// The server has prompts.
        optional prompts: Option<ListChanged> = "prompts",
        /// The server completes arguments.
        optional completions: Option<RawJson> = "completions",
        /// The server sends log messages.
        optional logging: Option<RawJson> = "logging",
        /// The server runs tasks (2025-11-25).
        optional tasks: Option<RawJson> = "tasks",
        /// The extensions that the server supports.
        optional extensions: Option<RawJson> = "extensions",
        /// Experimental capabilities.
        optional experimental: Option<RawJson> = "experimental",
    }

    /// The capability of a list.
    pub struct ListChanged {
        /// The server notifies of changes of the list.
        lenient list_changed: bool = "listChanged",
    }

    /// The capability for resources.
    pub struct ResourcesCapability {
        /// The server supports subscriptions to resources.
        lenient subscribe: bool = "subscribe",
        /// The server notifies of changes of the list.
        lenient list_changed: bool = "listChanged",
    }

    /// The result of `server/discover`.
    pub struct DiscoverResult {
        /// The supported revisions.
        required supported_versions: Vec<String> = "supportedVersions",
        /// The capabilities.
        optional capabilities: Option<ServerCapabilities> = "capabilities",
        /// Instructions for the model. Foreign text.
        optional instructions: Option<String> = "instructions",
        /// The server's identity in drafts of the revision.
        optional server_info: Option<Implementation> = "serverInfo",
        /// Metadata, with the server's identity in the published revision.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The result of `initialize`.
    pub struct InitializeResult {
        /// The negotiated revision.
        required protocol_version: String = "protocolVersion",
        /// The capabilities.
        optional capabilities: Option<ServerCapabilities> = "capabilities",
        /// The server's identity.
        optional server_info: Option<Implementation> = "serverInfo",
        /// Instructions for the model. Foreign text.
        optional instructions: Option<String> = "instructions",
    }

    /// A log message of a server.
    pub struct LogMessage {
        /// The severity, as the server wrote it.
        lenient level: String = "level",
        /// The name of the logger.
        optional logger: Option<String> = "logger",
        /// The message: any JSON. Foreign.
        nullable data: Option<RawJson> = "data",
    }
}

impl Implementation {
    /// An implementation with this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::of(()) }
    }
}

/// The severity of a log message ([RFC 5424](https://www.rfc-editor.org/rfc/rfc5424#section-6.2.1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the severities of syslog, which are fixed")]
#[expect(missing_docs, reason = "the severities of syslog")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Notice => "notice",
            LogLevel::Warning => "warning",
            LogLevel::Error => "error",
            LogLevel::Critical => "critical",
            LogLevel::Alert => "alert",
            LogLevel::Emergency => "emergency",
        }
    }

    /// Parses the name on the wire.
    pub fn parse(text: &str) -> Option<Self> {
        use LogLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
        [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency]
            .into_iter()
            .find(|level| level.as_str() == text)
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
