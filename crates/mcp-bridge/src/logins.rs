//! Who the user is to remote servers: `mcp-auth`, plugged into the bridge.

mod headers;
mod http;
mod login;
mod settings;
mod store;

use std::{
    collections::HashMap,
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use mcp_auth::{
    Helper, HelperOptions, HttpClient, Interact, OAuth, OAuthOptions, OnEvent, Secret, Source,
    StaticAuth, StoreMode, Vault, signature,
};
use mcp_config::{AuthKind, Remote, ServerConfig};
use mcp_transport::{Authorize, ConnectError};

use self::{headers::WithHeaders, http::LazyClient, login::OAuthLogin, store::LazyStore};
use crate::{
    connector::{DefaultConnector, Identify, Identity},
    options::BridgeOptions,
    server::lock,
};

/// Every login of a user: gives each server the credentials that its configuration asks for.
///
/// A server with `headers` gets those, one with a `headersHelper` what the command prints, and any other
/// an OAuth login that is renewed for as long as it goes, with everything that its `oauth` says. One
/// with a client secret and a `tokenUrl` but no `authorizationUrl` logs in by itself, as that client. Nobody is bothered before somebody
/// [asks for a login](crate::Bridge::login): until then a server that wants one is `needs-auth`, remembered
/// for a quarter of an hour in all processes that share the folder.
///
/// Clones are the same logins.
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
/// use mcp_auth::LoopbackBrowser;
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
    /// By name, with the configuration they were made for: a token outlives its connection.
    known: Mutex<HashMap<String, (Remote, OAuth)>>,
}

/// How the user is reached for a login to the server of this configuration.
pub type InteractFor = Arc<dyn Fn(&ServerConfig) -> Arc<dyn Interact> + Send + Sync>;

/// How logins are made and kept.
///
/// ```
/// use mcp_bridge::LoginsOptions;
///
/// let mut options = LoginsOptions::in_folder("state/auth");
/// options.client_name = "my agent".into();
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct LoginsOptions {
    /// Where logins are kept that are not in the keyring, and the locks around them. Default: nowhere; then
    /// they last as long as the process.
    pub folder: Option<PathBuf>,
    /// Which store is used. Opened when the first login is looked for. Default: the keyring, or else a
    /// file in the folder.
    pub store: StoreMode,
    /// What users see on consent pages. Default: `MCP client`.
    pub client_name: String,
    /// What the user should do when the server of this name needs a login, as part of a sentence. Default:
    /// `log in to NAME`.
    pub hint: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// How the user is reached for a login to a server. Default: in the browser of this machine, at the
    /// port or the whole redirect address that the configuration may name.
    pub interact: Option<InteractFor>,
    /// Hears what the user should know of their logins.
    pub on_event: OnEvent,
    /// Who sends the requests of logins. Default: reqwest, trusting what the system trusts and the `ca` of
    /// the server's configuration.
    pub http: Option<Arc<dyn HttpClient>>,
}

impl LoginsOptions {
    /// Logins kept in the keyring where there is one, or else in `folder`.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::default() }
    }
}

impl Default for LoginsOptions {
    fn default() -> Self {
        Self {
            folder: None,
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
    /// Opens nothing yet.
    pub fn new(options: LoginsOptions) -> Self {
        let store = LazyStore::new(options.store, options.folder.clone(), options.on_event.clone());
        let (folder, on_event) = (options.folder.clone(), options.on_event.clone());
        Self::over(Arc::new(Vault::over(Arc::new(store), folder, on_event)), options)
    }

    /// Logins in a vault that is open already. The folder and the store of `options` are not used.
    pub fn over(vault: Arc<Vault>, options: LoginsOptions) -> Self {
        let http = options.http.clone().unwrap_or_else(|| Arc::new(LazyClient::default()));
        Self { inner: Arc::new(Inner { options, vault, http, known: Mutex::default() }) }
    }

    /// Where secrets are kept, and which servers are known to want a login.
    pub fn vault(&self) -> &Arc<Vault> {
        &self.inner.vault
    }

    /// The login to a server, whose variables are replaced already; `None` if it is no remote one or its
    /// headers are all there is. The same login every time, so that what is done to it here is seen by
    /// connections.
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
            }));
            identity.authorizer = Some(WithHeaders::around(Arc::new(oauth), remote));
        } else if let Some(helped) = helped(remote)? {
            identity.authorizer = Some(Arc::new(helped) as Arc<dyn Authorize>);
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

/// Whether the user logs in. Headers are credentials as often as not, so where they are set, and nothing
/// says otherwise, they have to do.
fn wants_oauth(config: &ServerConfig, remote: &Remote) -> bool {
    match config.auth {
        Some(AuthKind::OAuth) => true,
        Some(AuthKind::None | AuthKind::Headers) => false,
        _ if remote.headers_helper.is_some() => false,
        _ => remote.oauth.is_some() || remote.headers.is_empty(),
    }
}

/// Headers that a command prints, beside those of the configuration.
fn helped(remote: &Remote) -> Result<Option<StaticAuth>, ConnectError> {
    let Some(command) = &remote.headers_helper else { return Ok(None) };
    let mut words = command.expose().split_whitespace();
    let Some(program) = words.next() else {
        return Err(ConnectError::InvalidOptions("`headersHelper` is empty".into()));
    };
    let mut options = HelperOptions::new(program);
    options.args = words.map(str::to_owned).collect();
    let mut auth = StaticAuth::helper(remote.url.expose(), Arc::new(Helper::new(options)));
    for (name, value) in remote.headers.iter() {
        auth = auth.and_header(name, Source::Value(Secret::new(value.expose())));
    }
    Ok(Some(auth))
}
