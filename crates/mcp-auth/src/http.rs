//! The HTTP that logins need: one small request, one small answer.

#[cfg(feature = "reqwest")]
pub(crate) mod reqwest;

use std::{fmt, time::Duration};

use mcp_transport::{BoxFuture, ErrorClass};
use zeroize::Zeroizing;

use crate::{
    guard::{Blocked, Guard},
    secret::Secret,
};

/// Sends one request and reads the whole answer. A test double is a dozen lines.
pub trait HttpClient: Send + Sync + fmt::Debug {
    /// Sends `request`.
    ///
    /// Redirects are not followed: they are answers like any other. The answer is cut off with an error at
    /// the limits of the request, and [`HttpRequest::guard`] is asked about each address before it is
    /// connected to.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>>;
}

/// One request. `Debug` shows neither query, headers nor body.
#[non_exhaustive]
pub struct HttpRequest {
    /// In capitals.
    pub method: &'static str,
    /// Where to.
    pub url: String,
    /// Names in lower case, and values.
    pub headers: Vec<(&'static str, Secret)>,
    /// Nothing when it is empty.
    pub body: Secret,
    /// Which addresses may be connected to.
    pub guard: Guard,
    /// The most bytes the body of the answer may have.
    pub most_bytes: usize,
    /// How long it may take in all.
    pub time_limit: Duration,
}

impl HttpRequest {
    /// A request without headers and body.
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

/// One answer. `Debug` shows its status and size.
#[non_exhaustive]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Zeroizing<Vec<u8>>,
}

impl HttpResponse {
    /// This answer.
    pub fn new(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Self {
        Self { status, headers, body: Zeroizing::new(body) }
    }

    /// The first header of this name, in lower case.
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

/// Why there is no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum HttpError {
    /// The address is off limits; nothing was sent.
    Blocked(Blocked),
    /// No connection, or it broke.
    Unreachable(Option<Box<dyn std::error::Error + Send + Sync>>),
    /// It took longer than this.
    TimedOut(Duration),
    /// The answer has more bytes than this.
    TooLarge(usize),
}

impl HttpError {
    /// Whose move it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unreachable(_) | Self::TimedOut(_) => ErrorClass::Transient,
            Self::Blocked(_) | Self::TooLarge(_) => ErrorClass::Permanent,
        }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked(_) => f.write_str("the address is off limits"),
            Self::Unreachable(_) => f.write_str("it cannot be reached"),
            Self::TimedOut(limit) => write!(f, "no answer within {} s", limit.as_secs()),
            Self::TooLarge(most) => write!(f, "the answer has more than {most} bytes"),
        }
    }
}

impl std::error::Error for HttpError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Blocked(why) => Some(why),
            Self::Unreachable(Some(cause)) => Some(&**cause),
            _ => None,
        }
    }
}
