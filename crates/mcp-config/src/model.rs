//! The one shape every dialect is read into.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{
    name::ServerName,
    redact::{Args, Line},
    secret_map::SecretMap,
    template::{SecretText, Template},
};

/// One MCP server as configured: how to reach it and how to treat it.
///
/// Nothing here is expanded; see [`expand`](crate::expand()). Fields that are `None` or empty mean
/// "the host's default".
///
/// ```
/// use mcp_config::{ServerConfig, Stdio, Transport};
/// let mut config = ServerConfig::new("files".parse()?, Transport::Stdio(Stdio::new("mcp-files")));
/// config.tools.deny.push("delete_*".into());
/// # Ok::<(), mcp_config::NameError>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Its name: the key it stands under.
    pub name: ServerName,
    /// How it is reached.
    pub transport: Transport,
    /// Whether it may be started. `true` unless the file says otherwise.
    pub enabled: bool,
    /// How long to wait for it.
    pub timeouts: Timeouts,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// Which of its tools stay in the prompt when the others are searched for.
    pub always_load: AlwaysLoad,
    /// Whether its file vouches for it. `false` unless said; whether that counts depends on the
    /// scope, see [`Candidate::is_trusted`](crate::Candidate::is_trusted).
    pub trust: bool,
    /// Caps on what it may say.
    pub limits: Limits,
    /// When to connect, if it differs from the host's habit.
    pub connect: Option<ConnectMode>,
    /// The protocol era or revision to insist on.
    pub era: Option<EraPin>,
    /// How it identifies the user, when that is not to be found out.
    pub auth: Option<AuthKind>,
    /// What it is for, in its owner's words.
    pub description: Option<String>,
    /// Fields we do not understand, by key, to be written back.
    pub extra: BTreeMap<String, serde_json::Value>,
}

impl ServerConfig {
    /// A server with every setting at its default.
    pub fn new(name: ServerName, transport: Transport) -> Self {
        Self {
            name,
            transport,
            enabled: true,
            timeouts: Timeouts::default(),
            tools: ToolFilter::default(),
            always_load: AlwaysLoad::default(),
            trust: false,
            limits: Limits::default(),
            connect: None,
            era: None,
            auth: None,
            description: None,
            extra: BTreeMap::new(),
        }
    }
}

impl fmt::Debug for ServerConfig {
    // By hand because nobody knows what fields we do not understand may hold: their keys must do.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.extra.keys().collect();
        out.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("transport", &self.transport)
            .field("enabled", &self.enabled)
            .field("timeouts", &self.timeouts)
            .field("tools", &self.tools)
            .field("always_load", &self.always_load)
            .field("trust", &self.trust)
            .field("limits", &self.limits)
            .field("connect", &self.connect)
            .field("era", &self.era)
            .field("auth", &self.auth)
            .field("description", &self.description)
            .field("extra", &keys)
            .finish()
    }
}

/// How a server is reached: the `type` of an entry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A child process spoken to over stdin and stdout.
    Stdio(Stdio),
    /// Streamable HTTP.
    Http(Remote),
    /// HTTP with server-sent events, the transport of 2024-11-05.
    Sse(Remote),
    /// WebSocket.
    Ws(Remote),
    /// In the host's own process.
    Sdk(Sdk),
}

impl Transport {
    /// The word for it in our own files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
            Self::Ws(_) => "ws",
            Self::Sdk(_) => "sdk",
        }
    }

    /// The endpoint, for the three transports that have one.
    pub fn remote(&self) -> Option<&Remote> {
        match self {
            Self::Http(remote) | Self::Sse(remote) | Self::Ws(remote) => Some(remote),
            Self::Stdio(_) | Self::Sdk(_) => None,
        }
    }

    pub(crate) fn remote_mut(&mut self) -> Option<&mut Remote> {
        match self {
            Self::Http(remote) | Self::Sse(remote) | Self::Ws(remote) => Some(remote),
            Self::Stdio(_) | Self::Sdk(_) => None,
        }
    }
}

/// A program to start.
#[derive(Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Stdio {
    /// The program.
    pub command: Template,
    /// Its arguments.
    pub args: Vec<Template>,
    /// Variables set for it.
    pub env: SecretMap,
    /// Variables passed on from the host's environment, by name.
    pub env_pass: Vec<String>,
    /// Variables removed from what it would inherit.
    pub env_unset: Vec<String>,
    /// A file of `KEY=value` lines to set as well.
    pub env_file: Option<Template>,
    /// The directory to start it in.
    pub cwd: Option<Template>,
}

impl Stdio {
    /// A program without arguments.
    pub fn new(command: impl Into<Template>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }
}

impl fmt::Debug for Stdio {
    // By hand because arguments may carry keys.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stdio")
            .field("command", &self.command)
            .field("args", &Args(&self.args))
            .field("env", &self.env)
            .field("env_pass", &self.env_pass)
            .field("env_unset", &self.env_unset)
            .field("env_file", &self.env_file)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// An endpoint to connect to.
#[derive(Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Remote {
    /// Its address.
    pub url: Template,
    /// Headers sent with every request.
    pub headers: SecretMap,
    /// A command whose output is a JSON object of more headers.
    pub headers_helper: Option<Template>,
    /// What is known beforehand for signing in.
    pub oauth: Option<Box<OAuth>>,
    /// Certificates.
    pub tls: Option<Box<Tls>>,
    /// Variables this entry defines for its own `url` and `headers` (goose).
    pub env: SecretMap,
    /// Variables the entry names without giving their values (goose).
    pub env_pass: Vec<String>,
}

impl Remote {
    /// An endpoint with nothing but its address.
    pub fn new(url: impl Into<Template>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

impl fmt::Debug for Remote {
    // By hand because an address may carry a password or a key in its query.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Remote")
            .field("url", &crate::signature::shown_url(self.url.unexpanded()))
            .field("headers", &self.headers)
            .field("headers_helper", &self.headers_helper.as_ref().map(Line))
            .field("oauth", &self.oauth)
            .field("tls", &self.tls)
            .field("env", &self.env)
            .field("env_pass", &self.env_pass)
            .finish()
    }
}

/// A server in the host's own process.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sdk {
    /// The name it was registered under, when it is not the server's own.
    pub server: Option<String>,
}

/// What an entry says about signing in.
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct OAuth {
    /// A client registered beforehand.
    pub client_id: Option<Template>,
    /// Its secret; better kept out of files.
    pub client_secret: Option<SecretText>,
    /// Scopes to ask for.
    pub scopes: Vec<String>,
    /// The loopback port the redirect must come back to.
    pub callback_port: Option<u16>,
    /// The whole redirect address, when it is fixed.
    pub redirect_uri: Option<Template>,
    /// Where the authorization server describes itself.
    pub metadata_url: Option<Template>,
    /// Where to send the user, without discovery.
    pub authorization_url: Option<Template>,
    /// Where to get tokens, without discovery.
    pub token_url: Option<Template>,
    /// The resource to ask a token for, when it is not the server's address.
    pub resource: Option<Template>,
}

/// Certificates for one server.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tls {
    /// A file of extra certificate authorities, in PEM.
    pub ca: Option<Template>,
    /// Our certificate, in PEM.
    pub cert: Option<Template>,
    /// The key to it, in PEM.
    pub key: Option<Template>,
}

/// How long to wait. `None` leaves it to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Timeouts {
    /// For the server to come up and shake hands.
    pub startup: Option<Duration>,
    /// For one call without a sign of progress.
    pub call: Option<Duration>,
    /// For one call in all.
    pub total: Option<Duration>,
}

/// Which tools are offered: globs over the server's own tool names; deny wins.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ToolFilter {
    /// If present, only these.
    pub allow: Option<Vec<String>>,
    /// Never these.
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Whether a tool of this name is offered. `*` stands for any text, `?` for one character.
    pub fn admits(&self, tool: &str) -> bool {
        let any = |globs: &[String]| globs.iter().any(|glob| crate::glob::matches(glob, tool));
        !any(&self.deny) && self.allow.as_deref().is_none_or(any)
    }
}

/// Which tools stay loaded when the rest is left to search.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AlwaysLoad {
    /// None in particular.
    #[default]
    No,
    /// Every tool of the server.
    All,
    /// These.
    Tools(Vec<String>),
}

/// Caps on what a server may say, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Of a tool's description.
    pub description: Option<usize>,
    /// Of a tool's output.
    pub output: Option<usize>,
}

/// When to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectMode {
    /// As the host starts.
    Eager,
    /// When first needed.
    Lazy,
}

/// The protocol to insist on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EraPin {
    /// Revisions with `initialize`, up to 2025-11-25.
    Legacy,
    /// Revisions after it.
    Modern,
    /// One revision, such as `2025-06-18`.
    Version(String),
}

/// How the user is identified to a remote server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthKind {
    /// Not at all: send nothing, and do not try to sign in.
    None,
    /// By the headers of the entry alone.
    Headers,
    /// By signing in.
    OAuth,
}
