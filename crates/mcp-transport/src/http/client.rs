//! Connections, shared between all servers of a host.

mod connector;
mod names;
mod quiet;
mod response;
mod stream;

use std::{error::Error, fmt, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri, header};
use http_body_util::Full;
use hyper_util::{
    client::{legacy::Client, proxy::matcher::Matcher},
    rt::TokioTimer,
};

pub(super) use self::response::{HttpError, Response};
use self::{connector::Connector, quiet::QuietExecutor};
use crate::{error::ConnectError, tls::TlsOptions};

/// A request that a server has turned away unseen is sent again so often.
const MOST_REPEATS: u32 = 2;

/// How connections are made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpClientOptions {
    /// How long connecting may take, TLS included. Default 10 s.
    pub connect_timeout: Duration,
    /// Whom to trust, and who we are.
    pub tls: TlsOptions,
    /// Whether the proxies named by the environment are used. Default yes.
    pub proxy_from_environment: bool,
    /// A Unix socket to connect to, whatever the URL says.
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
/// On hyper's own client: what is built upon it elsewhere, redirects and cookies and limits for whole requests,
/// would have to be switched off here, and costs as much per request as all the rest.
#[derive(Clone)]
pub struct HttpClient(Arc<Pool>);

struct Pool {
    client: Client<Connector, Full<Bytes>>,
    /// The proxies that see requests as they are, and want to be told who we are in each.
    proxies: Option<Arc<Matcher>>,
}

impl HttpClient {
    /// A pool with the defaults.
    pub fn new() -> Result<Self, ConnectError> {
        Self::with_options(&HttpClientOptions::default())
    }

    /// A pool of its own.
    pub fn with_options(options: &HttpClientOptions) -> Result<Self, ConnectError> {
        // A socket file has no proxy.
        let use_proxies = options.proxy_from_environment && options.unix_socket.is_none();
        Self::by_way_of(use_proxies.then(Matcher::from_env), options)
    }

    fn by_way_of(
        proxies: Option<Matcher>,
        options: &HttpClientOptions,
    ) -> Result<Self, ConnectError> {
        let proxies = proxies.map(Arc::new);
        let connector = Connector::new(options, proxies.clone())?;
        let client = Client::builder(QuietExecutor)
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(90))
            .build(connector);
        let sees_requests = |proxies: &Arc<Matcher>| {
            proxies.intercept(&Uri::from_static("http://a.invalid")).is_some()
        };
        Ok(Self(Arc::new(Pool { client, proxies: proxies.filter(sees_requests) })))
    }

    pub(super) async fn execute(
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

    /// Names us to a proxy that sees the request as it is. One that does not has been told when the tunnel was dug.
    fn introduce(&self, request: &mut Request<Full<Bytes>>) {
        let Some(proxies) = &self.0.proxies else { return };
        if request.uri().scheme_str() != Some("http") {
            return;
        }
        let proxy = proxies.intercept(request.uri());
        if let Some(user) = proxy.as_ref().and_then(|proxy| proxy.basic_auth()) {
            request.headers_mut().entry(header::PROXY_AUTHORIZATION).or_insert(user.clone());
        }
    }
}

/// Whether an HTTP/2 server says that it never looked at the request.
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

#[cfg(test)]
mod tests;
