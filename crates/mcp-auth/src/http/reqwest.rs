//! [`HttpClient`] on reqwest and rustls, with addresses checked and pinned before a connection is made.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use mcp_transport::BoxFuture;
use reqwest::{Client, ClientBuilder, Method, Response, redirect};
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::Verifier;
use url::{Host, Url};
use zeroize::Zeroizing;

use super::{HttpClient, HttpError, HttpRequest, HttpResponse};
use crate::guard::{Blocked, Guard, Zone};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Resolves names. The default asks the system.
pub trait Resolve: Send + Sync {
    /// The addresses of a host.
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, std::io::Result<Vec<SocketAddr>>>;
}

/// Hears of every connection right before it is made: the host, and the addresses it is pinned to.
pub type OnConnect = Arc<dyn Fn(&str, &[SocketAddr]) + Send + Sync>;

/// Sends the requests of logins with reqwest.
///
/// Names are resolved and judged first, and the connection is made to the very addresses that were judged.
/// Proxies that the environment names are used.
pub struct ReqwestClient {
    tls: ClientConfig,
    resolver: Arc<dyn Resolve>,
    on_connect: Option<OnConnect>,
}

impl ReqwestClient {
    /// A client that trusts what the operating system trusts. Installs no process-wide crypto provider.
    pub fn new() -> Result<Self, HttpError> {
        Self::trusting(&[])
    }

    /// A client that trusts these certificate authorities too: PEM, one or more in each.
    pub fn trusting(extra_roots: &[Vec<u8>]) -> Result<Self, HttpError> {
        let mut roots = Vec::new();
        for pem in extra_roots {
            for root in CertificateDer::pem_slice_iter(pem) {
                roots.push(root.map_err(unusable)?);
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new_with_extra_roots(roots, provider.clone()).map_err(unusable)?;
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .dangerous() // is what rustls calls any verifier but its own
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self { tls, resolver: Arc::new(System), on_connect: None })
    }

    /// Names are resolved by `resolver`.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.resolver = resolver;
        self
    }

    /// `hook` hears of every connection before it is made.
    #[must_use]
    pub fn on_connect(mut self, hook: OnConnect) -> Self {
        self.on_connect = Some(hook);
        self
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let url = request.guard.check_url(&request.url).map_err(HttpError::Blocked)?;
        let (host, addresses) = self.judged(&request.guard, &url).await?;
        let client = self.client(&host, &addresses)?;
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or(Method::GET);
        let is_home = is_home(&request.guard, &url);
        let mut outgoing = client.request(method, url);
        for (name, value) in &request.headers {
            outgoing = outgoing.header(*name, value.expose());
        }
        if !request.body.is_empty() {
            outgoing = outgoing.body(request.body.expose().to_owned());
        }
        let mut response = outgoing.send().await.map_err(unreachable)?;
        if is_home && is_from(&response, &addresses) {
            request.guard.prove_home();
        }
        let headers = response.headers().iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let (status, headers) = (response.status().as_u16(), headers.collect());
        let mut body = Zeroizing::new(Vec::new());
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > request.most_bytes {
                return Err(HttpError::TooLarge(request.most_bytes));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(HttpResponse { status, headers, body })
    }

    /// The host of `url` and its addresses, all of them allowed.
    async fn judged(
        &self,
        guard: &Guard,
        url: &Url,
    ) -> Result<(String, Vec<SocketAddr>), HttpError> {
        let port = url.port_or_known_default().unwrap_or(443);
        let (host, addresses) = match url.host() {
            Some(Host::Ipv4(address)) => {
                (address.to_string(), vec![SocketAddr::new(address.into(), port)])
            }
            Some(Host::Ipv6(address)) => {
                (address.to_string(), vec![SocketAddr::new(address.into(), port)])
            }
            Some(Host::Domain(name)) => (name.to_owned(), self.addresses(name, port).await?),
            None => return Err(HttpError::Blocked(Blocked::NotAUrl)),
        };
        let at: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
        if is_home(guard, url) {
            guard.check_home(&at).map_err(HttpError::Blocked)?;
        } else {
            let home: Vec<IpAddr> = match guard.home() {
                Some((name, port)) => {
                    self.addresses(name, port).await?.iter().map(SocketAddr::ip).collect()
                }
                None => Vec::new(),
            };
            let check = || at.iter().try_for_each(|address| guard.check_address(*address, &home));
            if check() == Err(Blocked::Unproven) {
                self.look_home(guard).await;
            }
            check().map_err(HttpError::Blocked)?;
        }
        if let Some(hook) = &self.on_connect {
            hook(&host, &addresses);
        }
        Ok((host, addresses))
    }

    /// Asks the MCP server for anything at all, to see whether it is where its name points. Whatever it
    /// answers, the certificate has been checked by then.
    async fn look_home(&self, guard: &Guard) {
        let Some((name, port)) = guard.home() else { return };
        let Ok(url) = Url::parse(&format!("https://{name}:{port}/")) else { return };
        let looked = async {
            let (host, addresses) = Box::pin(self.judged(guard, &url)).await?;
            let head = self.client(&host, &addresses)?.head(url.clone());
            let response = head.send().await.map_err(unreachable)?;
            Ok::<_, HttpError>(is_from(&response, &addresses))
        };
        match looked.await {
            Ok(true) => guard.prove_home(),
            Ok(false) => tracing::debug!("a proxy answered, and nobody knows from where"),
            Err(error) => tracing::debug!(%error, "the server is not where its name points"),
        }
    }

    /// The addresses of a host. None where only a proxy can tell: then there is nothing to connect to
    /// directly, and the proxy's administrator decides what may be reached.
    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, HttpError> {
        match self.resolve(host, port).await {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses),
            _ if has_proxy() => Ok(Vec::new()),
            Ok(_) => Err(HttpError::Unreachable(None)),
            Err(error) => Err(error),
        }
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, HttpError> {
        let resolved = self.resolver.resolve(host, port).await;
        resolved.map_err(|error| HttpError::Unreachable(Some(Box::new(error))))
    }

    /// A client for one request. Logins are rare, and a pin that lives longer would outlive its check.
    fn client(&self, host: &str, addresses: &[SocketAddr]) -> Result<Client, HttpError> {
        let mut builder = ClientBuilder::new()
            .tls_backend_preconfigured(self.tls.clone())
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .resolve_to_addrs(host, addresses);
        let is_here = |address: &SocketAddr| Zone::of(address.ip()) == Zone::Loopback;
        if !addresses.is_empty() && addresses.iter().all(is_here) {
            // No proxy leads back to this machine.
            builder = builder.no_proxy();
        }
        builder.build().map_err(unreachable)
    }
}

impl HttpClient for ReqwestClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(async move {
            let limit = request.time_limit;
            let done = tokio::time::timeout(limit, self.exchange(request)).await;
            done.unwrap_or(Err(HttpError::TimedOut(limit)))
        })
    }
}

impl fmt::Debug for ReqwestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestClient").finish_non_exhaustive()
    }
}

/// Whether `url` is at the very place of the MCP server, which has a name and is asked for its certificate.
fn is_home(guard: &Guard, url: &Url) -> bool {
    let port = url.port_or_known_default();
    url.scheme() == "https"
        && guard.home().is_some_and(|(name, at)| url.host_str() == Some(name) && port == Some(at))
}

/// Whether an answer came from one of these addresses. A proxy looks names up by itself, so what it brings
/// may come from elsewhere: whoever owns the name can tell each of us another address.
fn is_from(response: &Response, addresses: &[SocketAddr]) -> bool {
    let peer = response.remote_addr();
    peer.is_some_and(|peer| addresses.iter().any(|address| address.ip() == peer.ip()))
}

fn has_proxy() -> bool {
    let names = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::Unreachable(Some(Box::new(error)))
}

fn unreachable(error: reqwest::Error) -> HttpError {
    HttpError::Unreachable(Some(Box::new(error.without_url())))
}

struct System;

impl Resolve for System {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}
