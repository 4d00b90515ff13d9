//! Logins to remote servers: connects `mcp-auth` to the bridge.

mod confirm;
mod headers;
mod http;
mod oauth_login;
mod settings;
mod store;

use std::{
    collections::HashMap,
    env, fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use mcp_auth::{
    Helper, HelperOptions, OAuth, OAuthOptions, OnEvent, Secret, Source, StaticAuth,
    http::HttpClient,
    interact::Interact,
    store::{StoreMode, Vault, signature},
};
use mcp_config::{Remote, ServerConfig, model::AuthKind};
use mcp_transport::ConnectError;

use self::{headers::WithHeaders, http::LazyClient, oauth_login::OAuthLogin, store::LazyStore};
use crate::{
    connect::{DefaultConnector, Identify, Identity},
    options::BridgeOptions,
    setters::setters,
    sync::lock,
};

/// The logins of a user: provides each server with the credentials that its configuration requires.
///
/// A server with `headers` gets those headers. A server with a `headersHelper` gets the headers that the command
/// prints. Any other server gets an OAuth login with its `oauth` settings, which is refreshed while possible. A server
/// with a client secret and a `tokenUrl` but no `authorizationUrl` uses the client credentials grant, without the user.
/// The user is not involved until a [login is requested](crate::Bridge::login): until then a server that requires a
/// login is `needs-auth`, which is remembered for 15 minutes by all processes that share the folder.
///
/// Clones share the same logins.
///
/// ```
/// use mcp_bridge::{Bridge, BridgeOptions, Logins, LoginsOptions};
///
/// let logins = Logins::new(LoginsOptions::in_folder("state/auth"));
/// let bridge = Bridge::new(BridgeOptions::with_logins(&logins));
/// ```
///
/// Outside a bridge, [`oauth`](Self::oauth) is the login to one server:
///
/// ```no_run
/// use mcp_auth::interact::LoopbackBrowser;
/// use mcp_bridge::{Logins, ServerConfig};
///
/// # async fn example(logins: Logins, docs: ServerConfig) -> Result<(), Box<dyn std::error::Error>> {
/// if let Some(login) = logins.oauth(&docs) {
///     login.login(&LoopbackBrowser::new()).await?;
///     login.logout().await?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Logins {
    inner: Arc<Inner>,
}

struct Inner {
    options: LoginsOptions,
    vault: Arc<Vault>,
    http: Arc<dyn HttpClient>,
    /// By name, with the configuration they were created for: a token outlives its connection.
    known: Mutex<HashMap<String, (Remote, OAuth)>>,
}

/// Creates the user interaction for a login to the server of this configuration.
pub type InteractFor = Arc<dyn Fn(&ServerConfig) -> Arc<dyn Interact> + Send + Sync>;

/// How logins are performed and stored.
///
/// ```
/// use mcp_bridge::LoginsOptions;
///
/// let options = LoginsOptions::in_folder("state/auth").with_client_name("my agent");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct LoginsOptions {
    /// The folder for locks, and for logins that are not in the keyring. Default: none; logins then last as long as the
    /// process.
    pub folder: Option<PathBuf>,
    /// The project's folder, where commands that print headers run. Use that of `Layers`, which approvals were given
    /// for. Default: the working directory of the host.
    pub project: Option<PathBuf>,
    /// The store to use. It is opened when the first login is looked up. Default: the keyring, or else a file in the
    /// folder.
    pub store: StoreMode,
    /// The name shown on consent pages. Default: `MCP client`.
    pub client_name: String,
    /// What the user should do when the server of this name needs a login, as part of a sentence. Default: `log in to
    /// NAME`.
    pub hint: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// How to interact with the user during a login. Default: the browser of this machine, with the redirect port or
    /// redirect URL of the configuration, if set.
    pub interact: Option<InteractFor>,
    /// Called with events about logins that concern the user.
    pub on_event: OnEvent,
    /// The HTTP client for logins. Default: the network stack of the transports, trusting the system's certificates and
    /// the `ca` of the server's configuration.
    pub http: Option<Arc<dyn HttpClient>>,
}

impl LoginsOptions {
    /// Stores logins in the keyring if available, or else in `folder`.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::default() }
    }
}

setters! {
    LoginsOptions {
        with_folder => folder(folder: impl Into<PathBuf>) = Some(folder.into());
        with_project => project(folder: impl Into<PathBuf>) = Some(folder.into());
        with_store => store(store: StoreMode) = store;
        with_client_name => client_name(name: impl Into<String>) = name.into();
        with_hint => hint(hint: impl Fn(&str) -> String + Send + Sync + 'static) = Arc::new(hint);
        with_interact => interact(interact: InteractFor) = Some(interact);
        with_on_event => on_event(on_event: OnEvent) = on_event;
        with_http => http(http: Arc<dyn HttpClient>) = Some(http);
    }
}

impl Default for LoginsOptions {
    fn default() -> Self {
        Self {
            folder: None,
            project: None,
            store: StoreMode::Auto,
            client_name: "MCP client".into(),
            hint: Arc::new(|server| format!("log in to {server}")),
            interact: None,
            on_event: OnEvent::default(),
            http: None,
        }
    }
}

impl fmt::Debug for LoginsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginsOptions")
            .field("folder", &self.folder)
            .field("store", &self.store)
            .field("client_name", &self.client_name)
            .finish_non_exhaustive()
    }
}

impl Logins {
    /// Creates the logins without opening the store.
    pub fn new(options: LoginsOptions) -> Self {
        let store = LazyStore::new(options.store, options.folder.clone(), options.on_event.clone());
        let (folder, on_event) = (options.folder.clone(), options.on_event.clone());
        Self::over(Arc::new(Vault::over(Arc::new(store), folder, on_event)), options)
    }

    /// Uses a vault that is already open. The folder and the store of `options` are not used.
    pub fn over(vault: Arc<Vault>, options: LoginsOptions) -> Self {
        let http = options.http.clone().unwrap_or_else(|| Arc::new(LazyClient::default()));
        Self { inner: Arc::new(Inner { options, vault, http, known: Mutex::default() }) }
    }

    /// The vault with the secrets, and with the servers that are known to require a login.
    pub fn vault(&self) -> &Arc<Vault> {
        &self.inner.vault
    }

    /// Returns the OAuth login of a server, with expanded variables; `None` for a local server, or one that only uses
    /// headers. The login is shared with the connections of the server, so that changes are visible to them.
    pub fn oauth(&self, config: &ServerConfig) -> Option<OAuth> {
        let remote = config.transport.remote()?;
        if !wants_oauth(config, remote) {
            return None;
        }
        let mut known = lock(&self.inner.known);
        if let Some((same, oauth)) = known.get(config.name.as_str())
            && same == remote
        {
            return Some(oauth.clone());
        }
        let oauth = OAuth::new(self.oauth_options(config, remote));
        known.insert(config.name.to_string(), (remote.clone(), oauth.clone()));
        Some(oauth)
    }

    fn oauth_options(&self, config: &ServerConfig, remote: &Remote) -> OAuthOptions {
        let inner = &*self.inner;
        let own_roots = remote.tls.as_ref().and_then(|tls| tls.ca.as_ref());
        let http: Arc<dyn HttpClient> = match own_roots {
            Some(ca) if inner.options.http.is_none() => Arc::new(LazyClient::trusting(ca.expose())),
            _ => inner.http.clone(),
        };
        let mut options = OAuthOptions::new(remote.url.expose(), inner.vault.clone(), http);
        options.client_name.clone_from(&inner.options.client_name);
        options.hint = (inner.options.hint)(config.name.as_str());
        if let Some(oauth) = &remote.oauth {
            settings::apply(&mut options, oauth);
        }
        options
    }
}

impl Identify for Logins {
    fn identify(&self, config: &ServerConfig) -> Result<Identity, ConnectError> {
        let mut identity = Identity::default();
        let Some(remote) = config.transport.remote() else { return Ok(identity) };
        if let Some(oauth) = self.oauth(config) {
            identity.login = Some(Arc::new(OAuthLogin {
                oauth: oauth.clone(),
                vault: self.inner.vault.clone(),
                signature: signature(remote.url.expose()),
                interact: self.inner.options.interact.as_ref().map(|interact| interact(config)),
                port: remote.oauth.as_ref().and_then(|oauth| oauth.callback_port),
                server: remote.url.expose().to_owned(),
            }));
            identity.authorizer = Some(WithHeaders::around(Arc::new(oauth), remote));
        } else if let Some(configured) = configured(remote, self.inner.options.project.as_deref())?
        {
            let marks = self.inner.vault.needs_auth().clone();
            let configured = configured.remembering_refusals(marks);
            identity.is_refused = configured.is_refused_blocking();
            identity.authorizer = Some(Arc::new(configured));
        }
        Ok(identity)
    }
}

impl BridgeOptions {
    /// The defaults, with the user's logins to remote servers.
    pub fn with_logins(logins: &Logins) -> Self {
        let connector = DefaultConnector::new().identify(Arc::new(logins.clone()));
        Self { connector: Arc::new(connector), ..Self::default() }
    }
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").field("options", &self.inner.options).finish_non_exhaustive()
    }
}

/// Whether the server uses an OAuth login. Headers are often credentials, so a server with headers does not, unless its
/// configuration requests it.
fn wants_oauth(config: &ServerConfig, remote: &Remote) -> bool {
    match config.auth {
        Some(AuthKind::OAuth) => true,
        Some(AuthKind::None | AuthKind::Headers) => false,
        _ if remote.headers_helper.is_some() => false,
        _ => remote.oauth.is_some() || remote.headers.is_empty(),
    }
}

/// The headers of the configuration, and those that its command prints.
fn configured(remote: &Remote, project: Option<&Path>) -> Result<Option<StaticAuth>, ConnectError> {
    // The approval has shown the program that this command finds; do not derive another one from the entry here.
    let Some(command) = remote.helper_command(project, |name| env::var(name).ok()) else {
        return Ok(headers::configured(remote));
    };
    let Some((program, args)) = command.line.split_first() else {
        return Err(ConnectError::InvalidOptions("`headersHelper` is empty".into()));
    };
    let mut options = HelperOptions::new(program);
    options.args = args.to_vec();
    options.cwd = command.cwd;
    options.env = command.env;
    let mut auth = StaticAuth::helper(remote.url.expose(), Arc::new(Helper::new(options)));
    for (name, value) in remote.headers.iter() {
        auth = auth.and_header(name, Source::Value(Secret::new(value.expose())));
    }
    Ok(Some(auth))
}
