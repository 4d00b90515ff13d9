//! The configuration of one server, independent of dialect.

use std::{collections::BTreeMap, fmt, time::Duration};

use mcp_sandbox::Profile;

use super::{
    address::shown_url,
    name::ServerName,
    secret_map::SecretMap,
    shown::{Args, Line},
    template::{SecretText, Template},
};

/// The configuration of one MCP server: how to connect to it and how to treat it.
///
/// Templates are unexpanded; see [`expand`](crate::expand()). Fields that are `None` or empty mean the host's
/// default.
///
/// ```
/// use mcp_config::{ServerConfig, Stdio, Transport};
/// let mut config = ServerConfig::new("files".parse()?, Transport::Stdio(Stdio::new("mcp-files")));
/// config.tools.deny.push("delete_*".into());
/// # Ok::<(), mcp_config::model::NameError>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Its name, which is its key in the file.
    pub name: ServerName,
    /// How it is reached.
    pub transport: Transport,
    /// Whether it may be started. Defaults to `true`.
    pub enabled: bool,
    /// How long to wait for it.
    pub timeouts: Timeouts,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
    /// Which of its tools stay in the prompt when the others are found by search.
    pub always_load: AlwaysLoad,
    /// Whether its file declares it trusted. Defaults to `false`. Whether that counts depends on the scope,
    /// see [`Candidate::is_trusted`](crate::resolve::Candidate::is_trusted).
    pub trust: bool,
    /// Limits on the length of its text.
    pub limits: Limits,
    /// When to connect, if it differs from the host's default.
    pub connect: Option<ConnectMode>,
    /// The protocol era or revision to require.
    pub era: Option<EraPin>,
    /// How requests authenticate; `None` to detect it.
    pub auth: Option<AuthKind>,
    /// A description for users, as written in the file.
    pub description: Option<String>,
    /// Unknown fields, by key, which are written back.
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
    // Not derived: unknown fields may hold secrets, so only their keys are printed.
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

/// The transport of a server: the `type` of an entry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A child process with messages on stdin and stdout.
    Stdio(Stdio),
    /// Streamable HTTP.
    Http(Remote),
    /// HTTP with server-sent events, the transport of revision 2024-11-05.
    Sse(Remote),
    /// WebSocket.
    Ws(Remote),
    /// In the host's own process.
    Sdk(Sdk),
}

impl Transport {
    /// The value of `type` in our own files.
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
    /// Inherited variables to remove.
    pub env_unset: Vec<String>,
    /// How much of the host's environment it inherits.
    pub inherit_env: InheritEnv,
    /// A file of `KEY=value` lines with more variables, which expansion reads. A relative path begins at the workspace
    /// folder; `env` takes precedence.
    pub env_file: Option<Template>,
    /// The directory to start it in.
    pub cwd: Option<Template>,
    /// Its sandbox; `None` means the host's default for its trust.
    pub sandbox: Option<Profile>,
}

impl Stdio {
    /// A program without arguments.
    pub fn new(command: impl Into<Template>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }
}

impl fmt::Debug for Stdio {
    // Not derived: arguments may contain keys.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stdio")
            .field("command", &self.command)
            .field("args", &Args(&self.args))
            .field("env", &self.env)
            .field("env_pass", &self.env_pass)
            .field("env_unset", &self.env_unset)
            .field("inherit_env", &self.inherit_env)
            .field("env_file", &self.env_file)
            .field("cwd", &self.cwd)
            .field("sandbox", &self.sandbox)
            .finish()
    }
}

/// How much of the host's environment a program inherits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum InheritEnv {
    /// The variables that programs need and that hold no secrets.
    #[default]
    Safe,
    /// Every variable, secrets included.
    All,
}

/// An endpoint to connect to.
#[derive(Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Remote {
    /// Its URL.
    pub url: Template,
    /// Headers sent with every request.
    pub headers: SecretMap,
    /// A command whose output is a JSON object of more headers.
    pub headers_helper: Option<Template>,
    /// Known OAuth settings.
    pub oauth: Option<Box<OAuth>>,
    /// Certificates.
    pub tls: Option<Box<Tls>>,
    /// Variables this entry defines for its own `url` and `headers` (goose).
    pub env: SecretMap,
    /// Variables the entry names without giving their values (goose).
    pub env_pass: Vec<String>,
}

impl Remote {
    /// An endpoint with only a URL.
    pub fn new(url: impl Into<Template>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

impl fmt::Debug for Remote {
    // Not derived: a URL may contain a password, or a key in its query.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Remote")
            .field("url", &shown_url(self.url.unexpanded()))
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
    /// The name it was registered under, if that is not the server's name.
    pub server: Option<String>,
}

/// OAuth settings of an entry.
#[derive(Clone, Debug, PartialEq, Default)]
#[non_exhaustive]
pub struct OAuth {
    /// The id of a client registered in advance.
    pub client_id: Option<Template>,
    /// The client's secret; better kept out of files.
    pub client_secret: Option<SecretText>,
    /// Scopes to request.
    pub scopes: Vec<String>,
    /// The loopback port of the redirect URI.
    pub callback_port: Option<u16>,
    /// The complete redirect URI, if it is fixed.
    pub redirect_uri: Option<Template>,
    /// URL of the authorization server's metadata.
    pub metadata_url: Option<Template>,
    /// The authorization endpoint, to skip discovery.
    pub authorization_url: Option<Template>,
    /// The token endpoint, to skip discovery.
    pub token_url: Option<Template>,
    /// The resource to request a token for, if it is not the server's URL.
    pub resource: Option<Template>,
}

/// Certificates for one server.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tls {
    /// A file of extra certificate authorities, in PEM.
    pub ca: Option<Template>,
    /// The client certificate, in PEM.
    pub cert: Option<Template>,
    /// The private key of the client certificate, in PEM.
    pub key: Option<Template>,
}

/// Timeouts. `None` means the host's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Timeouts {
    /// For the server to start and initialize.
    pub startup: Option<Duration>,
    /// For one call without progress.
    pub call: Option<Duration>,
    /// For one call in total.
    pub total: Option<Duration>,
}

/// Which tools are offered: globs over the server's tool names. Deny takes precedence.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ToolFilter {
    /// If present, only these tools are offered.
    pub allow: Option<Vec<String>>,
    /// Tools that are never offered.
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Whether a tool of this name is offered. `*` matches any text, `?` one character.
    pub fn admits(&self, tool: &str) -> bool {
        let any =
            |globs: &[String]| globs.iter().any(|glob| crate::model::glob::matches(glob, tool));
        !any(&self.deny) && self.allow.as_deref().is_none_or(any)
    }
}

/// Which tools stay in the prompt when the others are found by search.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AlwaysLoad {
    /// No tool.
    #[default]
    No,
    /// Every tool of the server.
    All,
    /// These tools.
    Tools(Vec<String>),
}

/// Limits on the length of a server's text, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Limits {
    /// For a tool's description.
    pub description: Option<usize>,
    /// For a tool's output.
    pub output: Option<usize>,
}

/// When to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectMode {
    /// When the host starts.
    Eager,
    /// When first needed.
    Lazy,
}

/// The protocol era or revision to require.
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

/// How requests to a remote server authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthKind {
    /// Without credentials, and without a login.
    None,
    /// With the headers of the entry only.
    Headers,
    /// With OAuth.
    OAuth,
}
