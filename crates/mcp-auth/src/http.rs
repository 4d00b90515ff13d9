//! The HTTP client trait for login requests.

mod guarded;
#[cfg(feature = "reqwest")]
mod reqwest;

use std::{fmt, time::Duration};

pub use mcp_transport::net::FetchError as HttpError;
use mcp_transport::{BoxFuture, net::Guard};
use zeroize::Zeroizing;

#[cfg(feature = "reqwest")]
pub use self::reqwest::ReqwestClient;
use crate::secret::Secret;

/// Sends one request and reads the whole response.
pub trait HttpClient: Send + Sync + fmt::Debug {
    /// Sends `request`.
    ///
    /// Redirects are returned, not followed. A response that exceeds the limits of the request is an error.
    /// Every address must pass [`HttpRequest::guard`] before it is connected to.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>>;
}

/// One request. `Debug` shows neither query, headers nor body.
#[non_exhaustive]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: &'static str,
    /// The URL.
    pub url: String,
    /// Header names, in lower case, and values.
    pub headers: Vec<(&'static str, Secret)>,
    /// The body. Empty for none.
    pub body: Secret,
    /// Decides which addresses may be connected to.
    pub guard: Guard,
    /// The largest accepted response body, in bytes.
    pub most_bytes: usize,
    /// The time limit for the whole exchange.
    pub time_limit: Duration,
}

impl HttpRequest {
    /// Creates a request without headers and body.
    pub fn new(method: &'static str, url: impl Into<String>, guard: Guard) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Secret::default(),
            guard,
            most_bytes: 256 * 1024,
            time_limit: Duration::from_secs(20),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, Secret::new(value)));
        self
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &url)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// One response. `Debug` shows its status and size.
#[non_exhaustive]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Header names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Zeroizing<Vec<u8>>,
}

impl HttpResponse {
    /// Creates a response.
    pub fn new(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Self {
        Self { status, headers, body: Zeroizing::new(body) }
    }

    /// Returns the first header named `name`, which must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}
