//! Turns a server's configuration into a way to connect to it.

mod login;
#[cfg(any(feature = "http", feature = "ws"))]
mod remote;
#[cfg(feature = "sandbox")]
mod sandbox;
#[cfg(feature = "stdio")]
mod stdio;

use std::{
    collections::HashMap,
    fmt,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use mcp_config::{
    Environment, Expanded, ServerConfig, Transport,
    approval::Admissions,
    expand,
    expand::{AskInput, NoInputs},
};
use mcp_transport::{Authorize, Connect, ConnectError};

use crate::setters::setters;

pub use self::login::{ConfirmPage, Login, LoginFailure, LoginPage, LoginUser, UserMessage};
#[cfg(feature = "sandbox")]
pub use self::sandbox::{SandboxOptions, SandboxStatus, Sandboxes};
#[cfg(feature = "stdio")]
pub(crate) use self::stdio::withheld;

/// Resolves how to reach a server. Called before every connection, so that changed variables are picked up.
///
/// The bridge gets all transports and logins from here; a test can supply any [`Connect`].
pub trait Connector: Send + Sync {
    /// Returns how to reach the server that `config` describes.
    fn open(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError>;

    /// Returns the login of the server, without preparing a connection. Must not block.
    fn login(&self, config: &ServerConfig) -> Option<Arc<dyn Login>> {
        self.open(config).ok()?.login
    }

    /// Whether the server is known to have refused the current credentials, so that connecting is pointless. Must not
    /// block for long. Default: whether its login [is needed](Login::is_needed).
    fn is_refused(&self, config: &ServerConfig) -> bool {
        self.login(config).is_some_and(|login| login.is_needed())
    }
}

/// How to reach a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerRoute {
    /// Opens connections.
    pub connect: Arc<dyn Connect>,
    /// Logs the user in, if the server supports that.
    pub login: Option<Arc<dyn Login>>,
}

impl ServerRoute {
    /// Creates a route without a login.
    pub fn new(connect: Arc<dyn Connect>) -> Self {
        Self { connect, login: None }
    }
}

impl fmt::Debug for ServerRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRoute")
            .field("can_log_in", &self.login.is_some())
            .finish_non_exhaustive()
    }
}

/// The credentials for one server, and how to obtain them.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Identity {
    /// Provides the credentials for each request. `None`: only the headers of the configuration are sent.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// Logs the user in.
    pub login: Option<Arc<dyn Login>>,
    /// Whether the server recently refused these credentials, for servers without a login that tracks this.
    pub is_refused: bool,
}

setters! {
    Identity {
        with_authorizer => authorizer(authorizer: Arc<dyn Authorize>) = Some(authorizer);
        with_login => login(login: Arc<dyn Login>) = Some(login);
        with_refused => is_refused(is_refused: bool) = is_refused;
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// Determines the credentials for a remote server: the extension point for logins and secret stores.
pub trait Identify: Send + Sync {
    /// Returns the credentials for the server of `config`. The variables of `config` are already expanded.
    fn identify(&self, config: &ServerConfig) -> Result<Identity, ConnectError>;
}

#[cfg(feature = "stdio")]
type AdjustStdio = Box<dyn Fn(&ServerConfig, &mut mcp_transport::StdioOptions) + Send + Sync>;

/// Connects by the `type` of each entry.
///
/// `stdio` starts a program and `sdk` finds a server [registered](Self::register) here. `http`, `sse` and `ws` need the
/// corresponding features. The error for a transport that was compiled out names it.
#[derive(Default)]
pub struct DefaultConnector {
    in_process: HashMap<String, Arc<dyn Connect>>,
    identify: Option<Arc<dyn Identify>>,
    workspace: Option<PathBuf>,
    inputs: Option<Arc<dyn AskInput + Send + Sync>>,
    admissions: Option<Arc<RwLock<Admissions>>>,
    #[cfg(feature = "stdio")]
    adjust_stdio: Option<AdjustStdio>,
    #[cfg(feature = "sandbox")]
    sandboxes: Option<Sandboxes>,
    #[cfg(any(feature = "http", feature = "ws"))]
    remote: remote::Remote,
}

impl DefaultConnector {
    /// Creates a connector without in-process servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The `type`s of entries that this build supports. A host can derive the capabilities it declares to its own
    /// clients from it, such as `mcpCapabilities` of an agent that speaks ACP.
    ///
    /// ```
    /// let sse = mcp_bridge::connect::DefaultConnector::transports().any(|kind| kind == "sse");
    /// assert_eq!(sse, cfg!(feature = "http"));
    /// ```
    pub fn transports() -> impl Iterator<Item = &'static str> {
        let all = [
            ("stdio", cfg!(feature = "stdio")),
            ("http", cfg!(feature = "http")),
            ("sse", cfg!(feature = "http")),
            ("ws", cfg!(feature = "ws")),
            ("sdk", true),
        ];
        all.into_iter().filter(|(_, is_built)| *is_built).map(|(kind, _)| kind)
    }

    /// Registers an in-process server, for entries of type `sdk`.
    #[must_use]
    pub fn register(mut self, name: impl Into<String>, server: Arc<dyn Connect>) -> Self {
        self.in_process.insert(name.into(), server);
        self
    }

    /// Sets the source of credentials for remote servers. Default: only the headers of the entry are sent.
    #[must_use]
    pub fn identify(mut self, identify: Arc<dyn Identify>) -> Self {
        self.identify = Some(identify);
        self
    }

    /// Sets the project's folder, the value of `${workspaceFolder}` in entries.
    #[must_use]
    pub fn in_workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Sets the values of `${input:name}` in entries. Called before every connection, so it must not block: return
    /// values that the user has given before. Default: no inputs.
    #[must_use]
    pub fn inputs(mut self, inputs: Arc<dyn AskInput + Send + Sync>) -> Self {
        self.inputs = Some(inputs);
        self
    }

    /// Checks every expanded entry again before each connection, against the policy and the approvals. A host that
    /// reloads its files stores the new admissions in the same lock. Default: no check.
    #[must_use]
    pub fn admitting(mut self, admissions: Arc<RwLock<Admissions>>) -> Self {
        self.admissions = Some(admissions);
        self
    }

    /// Starts local servers in sandboxes. Default: without, and an entry that asks for a sandbox is refused.
    #[cfg(feature = "sandbox")]
    #[must_use]
    pub fn sandboxes(mut self, sandboxes: Sandboxes) -> Self {
        self.sandboxes = Some(sandboxes);
        self
    }

    /// Changes the options of local servers before each start, for settings without a configuration key.
    ///
    /// ```
    /// use mcp_bridge::connect::DefaultConnector;
    ///
    /// let connector = DefaultConnector::new().adjust_stdio(|config, options| {
    ///     if config.name.as_str() == "build" {
    ///         options.max_message = 256 << 20;
    ///     }
    /// });
    /// ```
    #[cfg(feature = "stdio")]
    #[must_use]
    pub fn adjust_stdio(
        mut self,
        adjust: impl Fn(&ServerConfig, &mut mcp_transport::StdioOptions) + Send + Sync + 'static,
    ) -> Self {
        self.adjust_stdio = Some(Box::new(adjust));
        self
    }

    /// Changes the options of HTTP and SSE servers before each connection.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn adjust_http(
        mut self,
        adjust: impl Fn(&ServerConfig, &mut mcp_transport::HttpOptions) + Send + Sync + 'static,
    ) -> Self {
        self.remote.adjust_http = Some(Box::new(adjust));
        self
    }

    /// Changes the options of WebSocket servers before each connection.
    #[cfg(feature = "ws")]
    #[must_use]
    pub fn adjust_ws(
        mut self,
        adjust: impl Fn(&ServerConfig, &mut mcp_transport::WsOptions) + Send + Sync + 'static,
    ) -> Self {
        self.remote.adjust_ws = Some(Box::new(adjust));
        self
    }

    /// Expands an entry. Done every time, because the environment of this process and the files it names may have
    /// changed. Only the returned value is used to start or connect.
    fn expanded(&self, config: &ServerConfig) -> Result<Expanded, ConnectError> {
        let mut environment = Environment::current();
        environment.workspace.clone_from(&self.workspace);
        let inputs: &dyn AskInput = match &self.inputs {
            Some(inputs) => &**inputs,
            None => &NoInputs,
        };
        match &self.admissions {
            Some(admissions) => {
                let admissions = admissions.read().unwrap_or_else(PoisonError::into_inner);
                admissions.expand(config, &environment, inputs).map_err(|error| error.to_string())
            }
            None => expand(config, &environment, inputs).map_err(|error| error.to_string()),
        }
        .map_err(ConnectError::InvalidOptions)
    }

    #[cfg(feature = "stdio")]
    fn stdio(
        &self,
        config: &ServerConfig,
        program: &mcp_config::Stdio,
    ) -> Result<ServerRoute, ConnectError> {
        let mut options = stdio::options(program, config.trust);
        options.wrap = self.wrap(config, program)?;
        if let Some(adjust) = &self.adjust_stdio {
            adjust(config, &mut options);
        }
        Ok(ServerRoute::new(Arc::new(mcp_transport::Stdio::new(options))))
    }

    /// Returns the launcher of the server's sandbox; `None` without a sandbox.
    #[cfg(feature = "stdio")]
    #[cfg_attr(
        not(feature = "sandbox"),
        expect(clippy::unused_self, reason = "same signature as with the feature")
    )]
    fn wrap(
        &self,
        config: &ServerConfig,
        program: &mcp_config::Stdio,
    ) -> Result<Option<mcp_transport::process::WrapCommand>, ConnectError> {
        #[cfg(feature = "sandbox")]
        if let Some(sandboxes) = &self.sandboxes {
            return Ok(sandboxes.wrap(config));
        }
        match &program.sandbox {
            Some(profile) if profile.level != mcp_config::sandbox::Level::Off => {
                let problem = format!(
                    "`sandbox` of {} is `{profile}`, and this host starts no servers in sandboxes",
                    config.name
                );
                Err(ConnectError::InvalidOptions(problem))
            }
            _ => Ok(None),
        }
    }

    #[cfg(any(feature = "http", feature = "ws"))]
    fn remote(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        let identity = self.identity(config)?;
        let connect = self.remote.open(config, identity.authorizer)?;
        Ok(ServerRoute { connect, login: identity.login })
    }

    #[cfg(not(any(feature = "http", feature = "ws")))]
    #[expect(clippy::unused_self, reason = "same signature as with the features")]
    fn remote(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        Err(left_out(config))
    }

    fn identity(&self, expanded: &ServerConfig) -> Result<Identity, ConnectError> {
        match &self.identify {
            Some(identify) => identify.identify(expanded),
            None => Ok(Identity::default()),
        }
    }
}

impl fmt::Debug for DefaultConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.in_process.keys().collect();
        f.debug_struct("DefaultConnector").field("in_process", &names).finish_non_exhaustive()
    }
}

impl Connector for DefaultConnector {
    fn open(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        let expanded = self.expanded(config)?;
        match &expanded.transport {
            #[cfg(feature = "stdio")]
            Transport::Stdio(program) => self.stdio(&expanded, program),
            Transport::Sdk(sdk) => {
                let name = sdk.server.as_deref().unwrap_or(config.name.as_str());
                let server = self.in_process.get(name).ok_or_else(|| {
                    let problem = format!("no in-process server is registered as `{name}`");
                    ConnectError::InvalidOptions(problem)
                })?;
                Ok(ServerRoute::new(server.clone()))
            }
            other if other.remote().is_some() => self.remote(&expanded),
            _ => Err(left_out(&expanded)),
        }
    }

    fn login(&self, config: &ServerConfig) -> Option<Arc<dyn Login>> {
        // Local programs do not have logins, and most servers are local.
        config.transport.remote()?;
        self.identity(&*self.expanded(config).ok()?).ok()?.login
    }

    fn is_refused(&self, config: &ServerConfig) -> bool {
        if config.transport.remote().is_none() {
            return false;
        }
        let identity = self.expanded(config).ok().and_then(|config| self.identity(&config).ok());
        identity.is_some_and(|identity| {
            identity.is_refused || identity.login.is_some_and(|login| login.is_needed())
        })
    }
}

fn left_out(config: &ServerConfig) -> ConnectError {
    let kind = config.transport.kind();
    ConnectError::InvalidOptions(format!("this host was built without the transport `{kind}`"))
}
