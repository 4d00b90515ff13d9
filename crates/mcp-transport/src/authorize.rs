//! Credentials for requests over HTTP, and what to do when they are refused.
//!
//! The transports know nothing of OAuth. They ask an [`Authorize`] for the headers of each request, and hand
//! it the [`Challenge`] when a server says 401 or 403; `mcp-auth` has the implementations.

use std::fmt;

use futures_core::future::BoxFuture;
use mcp_jsonrpc::ErrorClass;

use crate::challenge::Challenge;

/// Gives the requests to one server their credentials.
pub trait Authorize: Send + Sync {
    /// The headers that go with one request.
    ///
    /// # Cancel safety
    /// May be dropped at any time, and another request may ask at the same time.
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>>;

    /// The server refused a request. `Ok` means that it is worth another try with fresh
    /// [`credentials`](Self::credentials).
    ///
    /// # Cancel safety
    /// As above. Several requests may be refused at once; [`Challenge::stamp`] tells whether what was
    /// refused has been replaced meanwhile.
    fn challenged<'a>(&'a self, challenge: &'a Challenge)
    -> BoxFuture<'a, Result<(), AuthFailure>>;
}

/// What is about to be asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target<'a> {
    /// The HTTP method, in capitals.
    pub method: &'a str,
    /// The whole URL.
    pub url: &'a str,
}

impl<'a> Target<'a> {
    /// A request with this method to this URL.
    pub fn new(method: &'a str, url: &'a str) -> Self {
        Self { method, url }
    }
}

/// The headers that carry credentials. `Debug` shows their names only.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Credentials {
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// Which credentials these are. It comes back in the [`Challenge`] when they are refused.
    pub stamp: u64,
}

impl Credentials {
    /// One header.
    pub fn header(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { headers: vec![(name.into(), value.into())], stamp: 0 }
    }

    /// The same, with a stamp.
    #[must_use]
    pub fn stamped(mut self, stamp: u64) -> Self {
        self.stamp = stamp;
        self
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Credentials").field("headers", &names).field("stamp", &self.stamp).finish()
    }
}

/// Why there are no credentials, or none that would help.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthFailure {
    /// `Auth` when the user has to do something, `Transient` when it may pass.
    pub class: ErrorClass,
    /// What happened and what to do next, for people and models: no secrets, no foreign text.
    pub message: String,
}

impl AuthFailure {
    /// The user has to do something; `message` says what.
    pub fn needs_user(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Auth, message: message.into() }
    }

    /// It may pass.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Transient, message: message.into() }
    }
}

impl fmt::Display for AuthFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for AuthFailure {}

/// Headers that never change: a bearer token or an API key given by hand.
///
/// ```
/// use mcp_transport::StaticHeaders;
///
/// let bearer = StaticHeaders::bearer("s3cret");
/// assert!(!format!("{bearer:?}").contains("s3cret"));
/// ```
#[derive(Clone, Debug)]
pub struct StaticHeaders(Credentials);

impl StaticHeaders {
    /// These headers with every request.
    pub fn new(headers: Vec<(String, String)>) -> Self {
        Self(Credentials { headers, stamp: 0 })
    }

    /// A bearer token with every request.
    pub fn bearer(token: &str) -> Self {
        Self(Credentials::header("authorization", format!("Bearer {token}")))
    }
}

impl Authorize for StaticHeaders {
    fn credentials<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }

    fn challenged<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), AuthFailure>> {
        let what =
            if challenge.status == 403 { "does not allow this" } else { "refused the login" };
        let message = format!(
            "authentication failed: the server {what} with the credentials that are configured for it"
        );
        Box::pin(std::future::ready(Err(AuthFailure::needs_user(message))))
    }
}
