//! Opens connections: direct, through a proxy, or to a Unix socket.

use std::{
    error::Error,
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use http::Uri;
use hyper_util::{
    client::{
        legacy::connect::{HttpConnector, dns::GaiResolver, proxy::Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use mcp_jsonrpc::FailureCause;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::{resolve::Names, stream::Stream, tls::TlsOptions};
use crate::{cause::FailedStep, error::ConnectError};

/// The idle time before a connection is probed, and the interval between probes.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const MOST_PROBES: u32 = 3;
/// A connection is closed if its data is not acknowledged for this long.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

pub(super) type Problem = Box<dyn Error + Send + Sync>;

/// The options of all connections of a connector.
pub(crate) struct ConnectorOptions<'a> {
    pub(crate) tls: &'a TlsOptions,
    /// The time limit for connecting, including TLS.
    pub(crate) connect_timeout: Duration,
    /// The proxies to use.
    pub(crate) proxies: Option<Matcher>,
    /// A Unix socket to connect to, instead of the host of the URL.
    pub(crate) unix_socket: Option<PathBuf>,
    /// The size of the send buffers, unless the system chooses it.
    pub(crate) send_buffer: Option<u32>,
    /// Whether the system ends a connection when data is not acknowledged, which also happens when the other side
    /// only does not read.
    pub(crate) keep_alive: bool,
}

impl<'a> ConnectorOptions<'a> {
    /// Options without proxies.
    pub(crate) fn new(tls: &'a TlsOptions, connect_timeout: Duration) -> Self {
        let proxies = None;
        Self {
            tls,
            connect_timeout,
            proxies,
            unix_socket: None,
            send_buffer: None,
            keep_alive: true,
        }
    }
}

/// Opens connections. Cheap to clone, which hyper's client does for each request.
#[derive(Clone)]
pub(crate) struct Connector(Arc<Setup>);

struct Setup {
    tcp: HttpConnector<Names>,
    /// For the pool, which also offers HTTP/2.
    #[cfg(feature = "http")]
    tls: Arc<ClientConfig>,
    /// For proxies and single exchanges, which use HTTP/1.1.
    tls_http1: Arc<ClientConfig>,
    proxies: Option<Matcher>,
    #[cfg(unix)]
    unix_socket: Option<PathBuf>,
    sockets: Sockets,
}

#[derive(Clone, Copy)]
struct Sockets {
    connect_timeout: Duration,
    send_buffer: Option<usize>,
    keep_alive: bool,
}

impl Sockets {
    fn connector(self, names: Names) -> HttpConnector<Names> {
        let mut tcp = HttpConnector::new_with_resolver(names);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_send_buffer_size(self.send_buffer);
        // Divided between the addresses of a host, so that an unresponsive one does not use all of it.
        tcp.set_connect_timeout(Some(self.connect_timeout));
        if self.keep_alive {
            tcp.set_keepalive(Some(KEEP_ALIVE));
            tcp.set_keepalive_interval(Some(KEEP_ALIVE));
            tcp.set_keepalive_retries(Some(MOST_PROBES));
            #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
            tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        }
        tcp
    }
}

/// How to open the connection for a single HTTP/1.1 exchange.
pub(super) enum Route {
    /// Connect to exactly these addresses.
    Pinned(Vec<SocketAddr>),
    /// Use this proxy, which resolves the name.
    Proxy(Intercept),
    /// Follow the options of the connector.
    #[cfg(feature = "ws")]
    Usual,
}

impl Connector {
    pub(crate) fn new(options: ConnectorOptions<'_>) -> Result<Self, ConnectError> {
        // Otherwise requests meant for a local socket would be sent over the network.
        #[cfg(not(unix))]
        if options.unix_socket.is_some() {
            let problem = "Unix sockets are not supported on this platform";
            return Err(ConnectError::InvalidOptions(problem.into()));
        }
        let mut tls = options.tls.client_config()?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let tls_http1 = Arc::new(tls.clone());
        #[cfg(feature = "http")]
        tls.alpn_protocols.insert(0, b"h2".to_vec());
        let sockets = Sockets {
            connect_timeout: options.connect_timeout,
            send_buffer: options.send_buffer.and_then(|size| size.try_into().ok()),
            keep_alive: options.keep_alive,
        };
        Ok(Self(Arc::new(Setup {
            tcp: sockets.connector(Names::System(GaiResolver::new())),
            sockets,
            #[cfg(feature = "http")]
            tls: Arc::new(tls),
            tls_http1,
            proxies: options.proxies,
            #[cfg(unix)]
            unix_socket: options.unix_socket,
        })))
    }

    /// Returns the proxy for requests to this URL.
    pub(super) fn proxy(&self, to: &Uri) -> Option<Intercept> {
        self.0.proxies.as_ref()?.intercept(to)
    }

    /// Opens a connection for one exchange.
    pub(super) async fn single(&self, to: &Uri, route: Route) -> Result<Stream, Problem> {
        let setup = &*self.0;
        let tls = &setup.tls_http1;
        let connected = async {
            match route {
                Route::Pinned(addresses) => {
                    let tcp = setup.sockets.connector(Names::Pinned(addresses.into()));
                    secured(dial(tcp, to).await?, to, tls).await
                }
                Route::Proxy(proxy) => self.tunnel(&proxy, to, tls).await,
                #[cfg(feature = "ws")]
                Route::Usual => match self.proxy(to) {
                    Some(proxy) => self.tunnel(&proxy, to, tls).await,
                    None => secured(dial(setup.tcp.clone(), to).await?, to, tls).await,
                },
            }
        };
        self.limited(connected).await
    }

    async fn limited(
        &self,
        connected: impl Future<Output = Result<Stream, Problem>>,
    ) -> Result<Stream, Problem> {
        match tokio::time::timeout(self.0.sockets.connect_timeout, connected).await {
            Ok(connected) => connected,
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    /// Opens a connection for the pool. HTTP/2 is offered, and proxies forward unencrypted requests.
    #[cfg(feature = "http")]
    async fn pooled(self, to: Uri) -> Result<Stream, Problem> {
        let setup = &*self.0;
        let connected = async {
            #[cfg(unix)]
            if let Some(path) = &setup.unix_socket {
                let socket = tokio::net::UnixStream::connect(path).await?;
                return secured(Stream::unix(socket), &to, &setup.tls).await;
            }
            match self.proxy(&to) {
                None => secured(dial(setup.tcp.clone(), &to).await?, &to, &setup.tls).await,
                Some(proxy) if to.scheme_str() == Some("https") => {
                    self.tunnel(&proxy, &to, &setup.tls).await
                }
                Some(proxy) => {
                    let mut to_proxy = ToProxy::new(&self, &proxy)?;
                    let stream = to_proxy.call(proxy.uri().clone()).await;
                    Ok(stream.map_err(proxy_failed)?.leading_to_proxy())
                }
            }
        };
        self.limited(connected).await
    }

    /// Opens a connection inside a tunnel through a proxy.
    async fn tunnel(
        &self,
        proxy: &Intercept,
        to: &Uri,
        tls: &Arc<ClientConfig>,
    ) -> Result<Stream, Problem> {
        let mut tunnel = Tunnel::new(proxy.uri().clone(), ToProxy::new(self, proxy)?);
        if let Some(user) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(user.clone());
        }
        let stream = tunnel.call(with_port(to)?).await;
        secured(stream.map_err(|error| proxy_failed(error.into()))?, to, tls).await
    }
}

#[cfg(feature = "http")]
impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Problem;
    type Future = BoxFuture<'static, Result<Stream, Problem>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        Box::pin(self.clone().pooled(to))
    }
}

/// Connects to the proxy.
struct ToProxy(Arc<Setup>);

impl ToProxy {
    fn new(connector: &Connector, proxy: &Intercept) -> Result<Self, Problem> {
        if matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
            return Ok(Self(connector.0.clone()));
        }
        Err(proxy_failed("only proxies that speak HTTP can be used".into()))
    }
}

impl Service<Uri> for ToProxy {
    type Response = Stream;
    type Error = Problem;
    type Future = BoxFuture<'static, Result<Stream, Problem>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Self::Future {
        let setup = self.0.clone();
        Box::pin(async move {
            secured(dial(setup.tcp.clone(), &proxy).await?, &proxy, &setup.tls_http1).await
        })
    }
}

/// Marks a failure of a proxy. The library's error types do not distinguish it.
fn proxy_failed(error: Problem) -> Problem {
    FailedStep::new(FailureCause::Proxy, error).into()
}

/// Adds the default port to a URL. The tunnel assumes port 443 for a URL without one.
fn with_port(to: &Uri) -> Result<Uri, Problem> {
    if to.port().is_some() || to.scheme_str() == Some("https") {
        return Ok(to.clone());
    }
    let mut parts = to.clone().into_parts();
    parts.authority = Some(format!("{}:80", to.host().unwrap_or_default()).parse()?);
    Ok(Uri::from_parts(parts)?)
}

async fn dial(mut tcp: HttpConnector<Names>, to: &Uri) -> Result<Stream, Problem> {
    Ok(Stream::tcp(tcp.call(to.clone()).await?))
}

/// Performs the TLS handshake over `stream` if the URL requires it.
async fn secured(stream: Stream, to: &Uri, tls: &Arc<ClientConfig>) -> Result<Stream, Problem> {
    if to.scheme_str() != Some("https") {
        return Ok(stream);
    }
    // An IPv6 address is written in brackets.
    let host = to.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| FailedStep::new(FailureCause::Tls, error))?;
    let secure = TlsConnector::from(tls.clone()).connect(name, TokioIo::new(stream)).await?;
    Ok(Stream::tls(secure))
}
