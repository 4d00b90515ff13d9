//! Requests to URLs that a server chose. Each address is checked before connecting to it.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use mcp_jsonrpc::ErrorClass;
use url::{Host, Url};

use super::{
    connector::{Connector, ConnectorOptions, Route},
    guard::{Blocked, Guard, Zone},
    resolve::{Resolve, SystemResolver},
    single::{self, Carrier},
    tls::TlsOptions,
};
use crate::error::ConnectError;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Called right before every connection, with the host and the addresses it is pinned to.
pub type OnConnect = Arc<dyn Fn(&str, &[SocketAddr]) + Send + Sync>;

/// Sends requests under a [`Guard`].
///
/// Names are resolved and checked first, and the connection is made to exactly the checked addresses. Proxies from
/// the environment are used. Each request opens a new connection, since a pooled one would outlive its check.
/// Redirects are not followed.
pub struct GuardedClient {
    connector: Connector,
    resolver: Arc<dyn Resolve>,
    on_connect: Option<OnConnect>,
}

/// One request.
#[derive(Clone, Copy)]
pub struct FetchRequest<'a> {
    /// The method, in upper case.
    pub method: &'a str,
    /// The URL.
    pub url: &'a str,
    /// Header names and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body. Not sent if empty.
    pub body: &'a [u8],
    /// The addresses that are permitted.
    pub guard: &'a Guard,
    /// The maximum size of the response body, in bytes.
    pub most_bytes: usize,
    /// The time limit for the whole exchange.
    pub time_limit: Duration,
}

/// Omits the query, the headers and the body, which may contain secrets.
impl fmt::Debug for FetchRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchRequest")
            .field("method", &self.method)
            .field("url", &self.url.split(['?', '#']).next().unwrap_or_default())
            .finish_non_exhaustive()
    }
}

/// One response. `Debug` shows its status and size.
#[non_exhaustive]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Why a request failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchError {
    /// The address is not permitted; nothing was sent.
    Blocked(Blocked),
    /// The connection failed or broke.
    Unreachable(Option<Box<dyn std::error::Error + Send + Sync>>),
    /// The time limit was exceeded.
    TimedOut(Duration),
    /// The response has more bytes than this.
    TooLarge(usize),
}

impl FetchError {
    /// Returns the class, which says how to react.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unreachable(_) | Self::TimedOut(_) => ErrorClass::Transient,
            Self::Blocked(_) | Self::TooLarge(_) => ErrorClass::Permanent,
        }
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(_) => f.write_str("the address is not allowed"),
            Self::Unreachable(_) => f.write_str("it cannot be reached"),
            Self::TimedOut(limit) => write!(f, "no response within {} s", limit.as_secs()),
            Self::TooLarge(most) => write!(f, "the response has more than {most} bytes"),
        }
    }
}

impl std::error::Error for FetchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Blocked(why) => Some(why),
            Self::Unreachable(Some(cause)) => Some(&**cause),
            _ => None,
        }
    }
}

/// A checked destination.
struct Judged {
    uri: Uri,
    route: Route,
    /// The response proves that the guard's home is where its name resolves to: it comes over TLS from one of the
    /// checked addresses. A proxy resolves names separately, so a response through one may come from elsewhere.
    proves_home: bool,
}

impl GuardedClient {
    /// A client that trusts the certificate authorities of `tls`.
    pub fn new(tls: &TlsOptions) -> Result<Self, ConnectError> {
        let mut options = ConnectorOptions::new(tls, CONNECT_LIMIT);
        options.proxies = Some(Matcher::from_env());
        let connector = Connector::new(options)?;
        Ok(Self { connector, resolver: Arc::new(SystemResolver), on_connect: None })
    }

    /// Resolves names with `resolver`.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Calls `hook` right before every connection.
    #[must_use]
    pub fn on_connect(mut self, hook: OnConnect) -> Self {
        self.on_connect = Some(hook);
        self
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        let done = tokio::time::timeout(request.time_limit, self.exchange(request)).await;
        done.unwrap_or(Err(FetchError::TimedOut(request.time_limit)))
    }

    async fn exchange(&self, request: FetchRequest<'_>) -> Result<Fetched, FetchError> {
        let url = request.guard.check_url(request.url).map_err(FetchError::Blocked)?;
        let judged = self.judge(request.guard, &url).await?;
        let mut headers = HeaderMap::with_capacity(request.headers.len() + 1);
        for (name, value) in request.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(unreachable)?;
            let mut value = HeaderValue::from_str(value).map_err(unreachable)?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let method = Method::from_bytes(request.method.as_bytes()).map_err(unreachable)?;
        let body = Bytes::copy_from_slice(request.body);
        let outgoing = single::request(method, &judged.uri, headers, body).map_err(unreachable)?;
        self.send(outgoing, judged, request.guard, request.most_bytes).await
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        to: Judged,
        guard: &Guard,
        most_bytes: usize,
    ) -> Result<Fetched, FetchError> {
        let stream = self.connector.single(&to.uri, to.route).await;
        let stream = stream.map_err(|error| FetchError::Unreachable(Some(error)))?;
        let (mut sender, connection) = http1::handshake(stream).await.map_err(unreachable)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(unreachable)?;
            if to.proves_home {
                guard.prove_home();
            }
            let (head, mut incoming) = response.into_parts();
            let headers = head.headers.iter().filter_map(|(name, value)| {
                Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
            });
            let mut body = Vec::new();
            while let Some(frame) = incoming.frame().await {
                let Ok(chunk) = frame.map_err(unreachable)?.into_data() else { continue };
                if body.len() + chunk.len() > most_bytes {
                    return Err(FetchError::TooLarge(most_bytes));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(Fetched { status: head.status.as_u16(), headers: headers.collect(), body })
        };
        Carrier::new(pin!(connection)).carry(exchange).await
    }

    /// Resolves the host of `url` and checks its addresses.
    async fn judge(&self, guard: &Guard, url: &Url) -> Result<Judged, FetchError> {
        let uri: Uri = url.as_str().parse().map_err(unreachable)?;
        let port = url.port_or_known_default().unwrap_or(443);
        let (host, addresses) = match url.host() {
            Some(Host::Ipv4(address)) => {
                (address.to_string(), vec![SocketAddr::new(address.into(), port)])
            }
            Some(Host::Ipv6(address)) => {
                (address.to_string(), vec![SocketAddr::new(address.into(), port)])
            }
            Some(Host::Domain(name)) => (name.to_owned(), self.addresses(name, port, &uri).await?),
            None => return Err(FetchError::Blocked(Blocked::NotAUrl)),
        };
        let at: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
        let is_home = is_home(guard, url);
        if is_home {
            guard.check_home(&at).map_err(FetchError::Blocked)?;
        } else {
            let home = self.home_addresses(guard).await?;
            let check = || at.iter().try_for_each(|address| guard.check_address(*address, &home));
            if check() == Err(Blocked::Unproven) {
                self.look_home(guard).await;
            }
            check().map_err(FetchError::Blocked)?;
        }
        if let Some(hook) = &self.on_connect {
            hook(&host, &addresses);
        }
        // Proxies are not used for this machine.
        let is_here = |address: &IpAddr| Zone::of(*address) == Zone::Loopback;
        let may_be_elsewhere = at.is_empty() || !at.iter().all(is_here);
        let route = match self.proxy(&uri).filter(|_| may_be_elsewhere) {
            Some(proxy) => Route::Proxy(proxy),
            None => Route::Pinned(addresses),
        };
        let proves_home = is_home && matches!(route, Route::Pinned(_));
        Ok(Judged { uri, route, proves_home })
    }

    /// Sends a request to the MCP server to prove that it is where its name resolves to. Any response will do, since
    /// the certificate has been checked by then.
    async fn look_home(&self, guard: &Guard) {
        let Some(url) = home_url(guard) else { return };
        let looked = async {
            let judged = Box::pin(self.judge(guard, &url)).await?;
            let head = single::request(Method::HEAD, &judged.uri, HeaderMap::new(), Bytes::new());
            self.send(head.map_err(unreachable)?, judged, guard, 0).await
        };
        if let Err(error) = looked.await {
            tracing::debug!(%error, "the server is not where its name points");
        }
    }

    async fn home_addresses(&self, guard: &Guard) -> Result<Vec<IpAddr>, FetchError> {
        let Some((name, port)) = guard.home() else { return Ok(Vec::new()) };
        let uri = home_url(guard).and_then(|url| url.as_str().parse().ok()).unwrap_or_default();
        Ok(self.addresses(name, port, &uri).await?.iter().map(SocketAddr::ip).collect())
    }

    /// Returns the addresses of a host. Empty if only a proxy can resolve it: then no direct connection is possible,
    /// and the proxy's administrator decides which hosts are permitted.
    async fn addresses(
        &self,
        host: &str,
        port: u16,
        uri: &Uri,
    ) -> Result<Vec<SocketAddr>, FetchError> {
        match self.resolver.resolve(host, port).await {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses),
            _ if self.proxy(uri).is_some() => Ok(Vec::new()),
            Ok(_) => Err(FetchError::Unreachable(None)),
            Err(error) => Err(unreachable(error)),
        }
    }

    /// Returns the proxy for `uri`. Only encrypted requests leave this machine.
    fn proxy(&self, uri: &Uri) -> Option<Intercept> {
        (uri.scheme_str() == Some("https")).then(|| self.connector.proxy(uri)).flatten()
    }
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedClient").finish_non_exhaustive()
    }
}

/// Whether `url` has the host and port of the MCP server, which has a name, and is encrypted.
fn is_home(guard: &Guard, url: &Url) -> bool {
    let port = url.port_or_known_default();
    url.scheme() == "https"
        && guard.home().is_some_and(|(name, at)| url.host_str() == Some(name) && port == Some(at))
}

fn home_url(guard: &Guard) -> Option<Url> {
    let (name, port) = guard.home()?;
    Url::parse(&format!("https://{name}:{port}/")).ok()
}

fn unreachable(error: impl std::error::Error + Send + Sync + 'static) -> FetchError {
    FetchError::Unreachable(Some(Box::new(error)))
}
