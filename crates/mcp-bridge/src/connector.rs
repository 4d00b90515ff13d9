//! From a configuration to a way to its server.

#[cfg(any(feature = "http", feature = "ws"))]
mod remote;
#[cfg(feature = "stdio")]
mod stdio;

use std::{collections::HashMap, fmt, path::PathBuf, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_config::{AskInput, Environment, Expanded, NoInputs, ServerConfig, Transport, expand};
use mcp_transport::{Authorize, Connect, ConnectError};

/// Finds the way to a server. Called before every connection, so that a rotated variable is picked up.
///
/// Everything a bridge knows of transports and logins comes from here; a test gives it any
/// [`Connect`](mcp_transport::Connect) it likes.
pub trait Connector: Send + Sync {
    /// The way to the server that `config` describes.
    fn open(&self, config: &ServerConfig) -> Result<Way, ConnectError>;

    /// How the user logs in to it, without preparing a connection. Must not block.
    fn login(&self, config: &ServerConfig) -> Option<Arc<dyn Login>> {
        self.open(config).ok()?.login
    }
}

/// A way to a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct Way {
    /// Opens connections.
    pub connect: Arc<dyn Connect>,
    /// Logs the user in, where that can be done.
    pub login: Option<Arc<dyn Login>>,
}

impl Way {
    /// A way that nobody logs in to.
    pub fn new(connect: Arc<dyn Connect>) -> Self {
        Self { connect, login: None }
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").field("can_log_in", &self.login.is_some()).finish_non_exhaustive()
    }
}

/// Shows the user something while they log in, such as an address to open.
pub type TellUser = Arc<dyn Fn(String) + Send + Sync>;

/// Logs the user in to one server, and out.
pub trait Login: Send + Sync {
    /// Logs in. `tell` shows the user something on the way.
    ///
    /// # Errors
    /// What to tell the user. Never a token, a header or a body.
    fn login(&self, tell: TellUser) -> BoxFuture<'_, Result<(), String>>;

    /// Ends the login, here and if possible at the server.
    ///
    /// # Errors
    /// What to tell the user.
    fn logout(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Whether the server is known to want a login, so that nobody knocks in vain. Asked when a server is
    /// added; must not block for long. Default: no.
    fn is_needed(&self) -> bool {
        false
    }
}

/// Who we are to one server, and how to become somebody.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Identity {
    /// Gives the credentials for each request. `None`: the headers of the configuration are all there is.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// Logs the user in.
    pub login: Option<Arc<dyn Login>>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// Finds out who we are to a remote server: where logins and secret stores are plugged in.
pub trait Identify: Send + Sync {
    /// Who we are to the server of `config`, whose variables are replaced already.
    fn identify(&self, config: &ServerConfig) -> Result<Identity, ConnectError>;
}

/// Connects by the `type` of each configuration.
///
/// `stdio` starts a program, `sdk` finds a server [registered](Self::register) here, `http`, `sse` and `ws`
/// are reached if the features of those names are on. A transport that was left out is refused by name.
#[derive(Default)]
pub struct DefaultConnector {
    in_process: HashMap<String, Arc<dyn Connect>>,
    identify: Option<Arc<dyn Identify>>,
    workspace: Option<PathBuf>,
    inputs: Option<Arc<dyn AskInput + Send + Sync>>,
    #[cfg(any(feature = "http", feature = "ws"))]
    remote: remote::Remote,
}

impl DefaultConnector {
    /// One that knows no in-process servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The `type`s of configurations that this build reaches. What a host tells its own clients of itself
    /// follows from it, such as `mcpCapabilities` of an agent that speaks ACP.
    ///
    /// ```
    /// let sse = mcp_bridge::DefaultConnector::transports().any(|kind| kind == "sse");
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

    /// Makes an in-process server known, for configurations of type `sdk`.
    #[must_use]
    pub fn register(mut self, name: impl Into<String>, server: Arc<dyn Connect>) -> Self {
        self.in_process.insert(name.into(), server);
        self
    }

    /// Asks somebody who we are to remote servers. Default: whoever the configuration's headers say.
    #[must_use]
    pub fn identify(mut self, identify: Arc<dyn Identify>) -> Self {
        self.identify = Some(identify);
        self
    }

    /// Makes the project's folder known: what `${workspaceFolder}` stands for in configurations.
    #[must_use]
    pub fn in_workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Answers `${input:name}` in configurations. Asked before every connection, so it must not block: let it
    /// know what the user has said before. Default: nothing is answered.
    #[must_use]
    pub fn inputs(mut self, inputs: Arc<dyn AskInput + Send + Sync>) -> Self {
        self.inputs = Some(inputs);
        self
    }

    /// Read every time: the environment of this process, and files it names, may have changed.
    fn expanded(&self, config: &ServerConfig) -> Result<Expanded, ConnectError> {
        let mut environment = Environment::current();
        environment.workspace.clone_from(&self.workspace);
        let expanded = match &self.inputs {
            Some(inputs) => expand(config, &environment, &**inputs),
            None => expand(config, &environment, &NoInputs),
        };
        expanded.map_err(|error| ConnectError::InvalidOptions(error.to_string()))
    }

    #[cfg(any(feature = "http", feature = "ws"))]
    fn remote(&self, config: &ServerConfig) -> Result<Way, ConnectError> {
        let identity = self.identity(config)?;
        let connect = self.remote.open(config, identity.authorizer)?;
        Ok(Way { connect, login: identity.login })
    }

    #[cfg(not(any(feature = "http", feature = "ws")))]
    #[expect(clippy::unused_self, reason = "it is asked like the one that reaches them")]
    fn remote(&self, config: &ServerConfig) -> Result<Way, ConnectError> {
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
    fn open(&self, config: &ServerConfig) -> Result<Way, ConnectError> {
        let expanded = self.expanded(config)?;
        match &expanded.transport {
            #[cfg(feature = "stdio")]
            Transport::Stdio(program) => Ok(Way::new(Arc::new(stdio::connect(program)))),
            Transport::Sdk(sdk) => {
                let name = sdk.server.as_deref().unwrap_or(config.name.as_str());
                let server = self.in_process.get(name).ok_or_else(|| {
                    let problem = format!("no in-process server is registered as `{name}`");
                    ConnectError::InvalidOptions(problem)
                })?;
                Ok(Way::new(server.clone()))
            }
            other if other.remote().is_some() => self.remote(&expanded),
            _ => Err(left_out(&expanded)),
        }
    }

    fn login(&self, config: &ServerConfig) -> Option<Arc<dyn Login>> {
        // Local programs have no logins, and most servers are local.
        config.transport.remote()?;
        self.identity(&*self.expanded(config).ok()?).ok()?.login
    }
}

fn left_out(config: &ServerConfig) -> ConnectError {
    let kind = config.transport.kind();
    ConnectError::InvalidOptions(format!("this host was built without the transport `{kind}`"))
}
