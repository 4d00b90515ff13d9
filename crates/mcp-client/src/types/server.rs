//! Who a server is and what it can do.

use std::fmt;

use mcp_jsonrpc::RawJson;

use super::open::open;

open! {
    /// The name and version a program gives itself. For people: nothing should depend on it.
    pub struct Implementation {
        /// Its name.
        lenient name: String = "name",
        /// Its version.
        lenient version: String = "version",
        /// What to show people.
        optional title: Option<String> = "title",
        /// What it is for.
        optional description: Option<String> = "description",
        /// Where to read more.
        optional website_url: Option<String> = "websiteUrl",
        /// Pictures to show with it.
        optional icons: Option<RawJson> = "icons",
    }

    /// What a server can do.
    #[derive(Default)]
    pub struct ServerCapabilities {
        /// It has tools.
        optional tools: Option<ListChanged> = "tools",
        /// It has resources.
        optional resources: Option<ResourcesCapability> = "resources",
        /// It has prompts.
        optional prompts: Option<ListChanged> = "prompts",
        /// It completes arguments.
        optional completions: Option<RawJson> = "completions",
        /// It sends log messages.
        optional logging: Option<RawJson> = "logging",
        /// It runs tasks (2025-11-25).
        optional tasks: Option<RawJson> = "tasks",
        /// It speaks these extensions.
        optional extensions: Option<RawJson> = "extensions",
        /// It tries these things out.
        optional experimental: Option<RawJson> = "experimental",
    }

    /// A list that may change.
    pub struct ListChanged {
        /// And tells when it does.
        lenient list_changed: bool = "listChanged",
    }

    /// What a server does with resources.
    pub struct ResourcesCapability {
        /// Tells when a resource changes.
        lenient subscribe: bool = "subscribe",
        /// Tells when the list changes.
        lenient list_changed: bool = "listChanged",
    }

    /// The answer to `server/discover`.
    pub(crate) struct DiscoverResult {
        /// The revisions it speaks.
        required supported_versions: Vec<String> = "supportedVersions",
        /// What it can do.
        optional capabilities: Option<ServerCapabilities> = "capabilities",
        /// How to use it. Foreign text.
        optional instructions: Option<String> = "instructions",
        /// Where drafts had the server's identity.
        optional server_info: Option<Implementation> = "serverInfo",
        /// Where it is now.
        optional meta: Option<RawJson> = "_meta",
    }

    /// The answer to `initialize`.
    pub(crate) struct InitializeResult {
        /// The revision to speak.
        required protocol_version: String = "protocolVersion",
        /// What it can do.
        optional capabilities: Option<ServerCapabilities> = "capabilities",
        /// Who it is.
        optional server_info: Option<Implementation> = "serverInfo",
        /// How to use it. Foreign text.
        optional instructions: Option<String> = "instructions",
    }

    /// A line of a server's log.
    pub struct LogMessage {
        /// How bad it is, as the server put it.
        lenient level: String = "level",
        /// Which part of the server.
        optional logger: Option<String> = "logger",
        /// Anything. Foreign.
        nullable data: Option<RawJson> = "data",
    }
}

impl Implementation {
    /// A name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            description: None,
            website_url: None,
            icons: None,
            extra: super::Extra::default(),
        }
    }
}

/// How bad a log message must be to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the levels of syslog, which has had no new one since 1982"
)]
#[expect(missing_docs, reason = "the levels of syslog")]
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
    /// As it is written on the wire.
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
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
