//! How a connection is made: straight, by way of a proxy, or to a socket file.

use std::{
    error::Error,
    io,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use http::Uri;
use hyper_util::{
    client::{
        legacy::connect::{HttpConnector, proxy::Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use mcp_jsonrpc::Trouble;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::{HttpClientOptions, names::Names, stream::Stream};
use crate::{error::ConnectError, trouble::FailedStep};

/// A connection on which nothing arrives is asked for a sign of life after so long, and as often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const MOST_PROBES: u32 = 3;
/// What was sent and not acknowledged for so long will not be.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

type Problem = Box<dyn Error + Send + Sync>;

/// Cheap to clone, as hyper's client does for each request.
#[derive(Clone)]
pub(super) struct Connector(Arc<Ways>);

struct Ways {
    tcp: HttpConnector<Names>,
    tls: Arc<ClientConfig>,
    /// Proxies are spoken to in HTTP/1.
    tls_to_proxy: Arc<ClientConfig>,
    proxies: Option<Arc<Matcher>>,
    #[cfg(unix)]
    unix_socket: Option<std::path::PathBuf>,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(
        options: &HttpClientOptions,
        proxies: Option<Arc<Matcher>>,
    ) -> Result<Self, ConnectError> {
        // Without this, what was meant for a socket of this machine would go over the network.
        #[cfg(not(unix))]
        if options.unix_socket.is_some() {
            let problem = "there are no Unix sockets here";
            return Err(ConnectError::InvalidOptions(problem.into()));
        }
        let tls_to_proxy = options.tls.client_config()?;
        let mut tls = tls_to_proxy.clone();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut tcp = HttpConnector::new_with_resolver(Names::default());
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Shared between the addresses of a host, so that a dead one does not use up all of it.
        tcp.set_connect_timeout(Some(options.connect_timeout));
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_keepalive_interval(Some(KEEP_ALIVE));
        tcp.set_keepalive_retries(Some(MOST_PROBES));
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        Ok(Self(Arc::new(Ways {
            tcp,
            tls: Arc::new(tls),
            tls_to_proxy: Arc::new(tls_to_proxy),
            proxies,
            #[cfg(unix)]
            unix_socket: options.unix_socket.clone(),
            limit: options.connect_timeout,
        })))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Problem;
    type Future = BoxFuture<'static, Result<Stream, Problem>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let ways = self.0.clone();
        Box::pin(async move {
            let limit = ways.limit;
            match tokio::time::timeout(limit, connect(ways, to)).await {
                Ok(connected) => connected,
                Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        })
    }
}

async fn connect(ways: Arc<Ways>, to: Uri) -> Result<Stream, Problem> {
    #[cfg(unix)]
    if let Some(path) = &ways.unix_socket {
        let socket = tokio::net::UnixStream::connect(path).await?;
        return secured(Stream::unix(socket), &to, &ways.tls).await;
    }
    match ways.proxies.as_ref().and_then(|proxies| proxies.intercept(&to)) {
        None => secured(dial(&ways, &to).await?, &to, &ways.tls).await,
        Some(proxy) => by_way_of(&proxy, ways, to).await,
    }
}

async fn by_way_of(proxy: &Intercept, ways: Arc<Ways>, to: Uri) -> Result<Stream, Problem> {
    if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
        return Err(no_way("only proxies that speak HTTP can be used".into()));
    }
    let mut to_proxy = ToProxy(ways.clone());
    if to.scheme_str() != Some("https") {
        // It reads the request and passes it on.
        return Ok(to_proxy.call(proxy.uri().clone()).await.map_err(no_way)?.leading_to_proxy());
    }
    let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
    if let Some(user) = proxy.basic_auth() {
        tunnel = tunnel.with_auth(user.clone());
    }
    let stream = tunnel.call(to.clone()).await.map_err(|error| no_way(error.into()))?;
    secured(stream, &to, &ways.tls).await
}

/// What failed on the way through a proxy. The library does not say how in a type.
fn no_way(error: Problem) -> Problem {
    FailedStep::new(Trouble::Proxy, error).into()
}

/// Connects to the proxy itself.
struct ToProxy(Arc<Ways>);

impl Service<Uri> for ToProxy {
    type Response = Stream;
    type Error = Problem;
    type Future = BoxFuture<'static, Result<Stream, Problem>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Self::Future {
        let ways = self.0.clone();
        Box::pin(
            async move { secured(dial(&ways, &proxy).await?, &proxy, &ways.tls_to_proxy).await },
        )
    }
}

async fn dial(ways: &Ways, to: &Uri) -> Result<Stream, Problem> {
    Ok(Stream::tcp(ways.tcp.clone().call(to.clone()).await?))
}

/// Speaks TLS over `stream` where the URL says so.
async fn secured(stream: Stream, to: &Uri, tls: &Arc<ClientConfig>) -> Result<Stream, Problem> {
    if to.scheme_str() != Some("https") {
        return Ok(stream);
    }
    // An IPv6 address stands in brackets.
    let host = to.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned())
        .map_err(|error| FailedStep::new(Trouble::Tls, error))?;
    let secure = TlsConnector::from(tls.clone()).connect(name, TokioIo::new(stream)).await?;
    Ok(Stream::tls(secure))
}
