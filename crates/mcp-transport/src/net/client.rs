//! The connection pool, shared between all servers of a host.

use std::{error::Error, fmt, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri, header};
use http_body_util::Full;
use hyper_util::{
    client::{legacy::Client, proxy::matcher::Matcher},
    rt::TokioTimer,
};

use super::{
    connector::{Connector, ConnectorOptions},
    deferred_wake::DeferringExecutor,
    response::{HttpError, Response},
    tls::TlsOptions,
};
use crate::{error::ConnectError, setters::setters};

/// How often a request is resent after the server has declined it unprocessed.
const MOST_REPEATS: u32 = 2;

/// How connections are opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpClientOptions {
    /// The time limit for connecting, including TLS. Default 10 s.
    pub connect_timeout: Duration,
    /// Trusted certificate authorities and the client certificate.
    pub tls: TlsOptions,
    /// Whether to use the proxies configured in the environment. Default yes.
    pub proxy_from_environment: bool,
    /// A Unix socket to connect to, instead of the host of the URL.
    pub unix_socket: Option<PathBuf>,
}

impl Default for HttpClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            tls: TlsOptions::default(),
            proxy_from_environment: true,
            unix_socket: None,
        }
    }
}

/// A pool of connections. Clones share it, and a host needs only one.
///
/// Built directly on hyper's client: the redirects, cookies and request timeouts of higher-level clients would have
/// to be disabled here, and cost as much per request as all the rest.
#[derive(Clone)]
pub struct HttpClient(Arc<Pool>);

struct Pool {
    client: Client<Connector, Full<Bytes>>,
    /// Set if requests are forwarded by proxies unencrypted, and need a `Proxy-Authorization` header each.
    introduces: Option<Connector>,
}

impl HttpClient {
    /// A pool with the defaults.
    pub fn new() -> Result<Self, ConnectError> {
        Self::with_options(&HttpClientOptions::default())
    }

    /// A pool with these options.
    pub fn with_options(options: &HttpClientOptions) -> Result<Self, ConnectError> {
        // Proxies do not apply to Unix sockets.
        let use_proxies = options.proxy_from_environment && options.unix_socket.is_none();
        Self::by_way_of(use_proxies.then(Matcher::from_env), options)
    }

    fn by_way_of(
        proxies: Option<Matcher>,
        options: &HttpClientOptions,
    ) -> Result<Self, ConnectError> {
        let connector = Connector::new(ConnectorOptions {
            proxies,
            unix_socket: options.unix_socket.clone(),
            ..ConnectorOptions::new(&options.tls, options.connect_timeout)
        })?;
        let sees_requests = connector.proxy(&Uri::from_static("http://a.invalid")).is_some();
        let introduces = sees_requests.then(|| connector.clone());
        let client = Client::builder(DeferringExecutor)
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .build(connector);
        Ok(Self(Arc::new(Pool { client, introduces })))
    }

    pub(crate) async fn execute(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: Option<&Bytes>,
    ) -> Result<Response, HttpError> {
        let mut repeats = 0;
        loop {
            let mut request = Request::new(Full::new(body.cloned().unwrap_or_default()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = uri.clone();
            *request.headers_mut() = headers.clone();
            self.introduce(&mut request);
            match self.0.client.request(request).await {
                Ok(response) => return Ok(Response::new(response)),
                Err(error) if repeats < MOST_REPEATS && was_not_seen(&error) => repeats += 1,
                Err(error) => return Err(HttpError::Request(error)),
            }
        }
    }

    /// Adds the proxy's credentials to a forwarded request. A tunnel sends them when it is established.
    fn introduce(&self, request: &mut Request<Full<Bytes>>) {
        let Some(connector) = &self.0.introduces else { return };
        if request.uri().scheme_str() != Some("http") {
            return;
        }
        let proxy = connector.proxy(request.uri());
        if let Some(user) = proxy.as_ref().and_then(|proxy| proxy.basic_auth()) {
            request.headers_mut().entry(header::PROXY_AUTHORIZATION).or_insert(user.clone());
        }
    }
}

/// Whether an HTTP/2 server reports that it did not process the request.
fn was_not_seen(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            let leaves = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
            let refuses = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
            return error.is_remote() && (leaves || refuses);
        }
        cause = error.source();
    }
    false
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").finish_non_exhaustive()
    }
}

setters! { HttpClientOptions {
    with_connect_timeout => connect_timeout: Duration,
    with_tls => tls: TlsOptions,
    with_proxy_from_environment => proxy_from_environment: bool,
    with_unix_socket => unix_socket: impl Into<Option<PathBuf>>,
}}

#[cfg(test)]
mod tests;
