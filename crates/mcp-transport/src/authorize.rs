//! Credentials for HTTP requests, and the handling of their refusal.
//!
//! The transports do not implement OAuth. They ask an [`Authorize`] for the headers of each request and pass it the
//! [`Challenge`] when a server responds with 401 or 403; `mcp-auth` has the implementations.

use std::fmt;

use futures_core::future::BoxFuture;
use mcp_jsonrpc::ErrorClass;

use crate::challenge::Challenge;

/// Supplies the credentials for the requests to one server.
pub trait Authorize: Send + Sync {
    /// Returns the headers to add to one request.
    ///
    /// # Cancel safety
    /// May be dropped at any time. Several requests may call this concurrently.
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>>;

    /// Handles a request that the server refused. `Ok` means that the request is worth retrying with fresh
    /// [`credentials`](Self::credentials).
    ///
    /// # Cancel safety
    /// As above. Several requests may be refused at once; [`Challenge::stamp`] tells whether the refused credentials
    /// have been replaced meanwhile.
    fn challenged<'a>(&'a self, challenge: &'a Challenge)
    -> BoxFuture<'a, Result<(), AuthFailure>>;

    /// Returns the failure to report when the server refuses the new credentials too, with status 401. The request
    /// has failed.
    ///
    /// # Cancel safety
    /// As above.
    fn refused_again<'a>(&'a self, challenge: &'a Challenge) -> BoxFuture<'a, AuthFailure> {
        let reason = format!(
            "authentication failed: the server refused the new credentials too (status {})",
            challenge.status
        );
        Box::pin(std::future::ready(AuthFailure::needs_user(reason)))
    }
}

/// The HTTP request that needs credentials.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target<'a> {
    /// The HTTP method, in upper case.
    pub method: &'a str,
    /// The full URL.
    pub url: &'a str,
}

impl<'a> Target<'a> {
    /// Describes a request with this method to this URL.
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
    /// Identifies these credentials. The [`Challenge`] repeats it when they are refused.
    pub stamp: u64,
}

impl Credentials {
    /// Credentials in one header.
    pub fn header(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { headers: vec![(name.into(), value.into())], stamp: 0 }
    }

    /// Sets the stamp.
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

/// Why a request has no credentials, or none that the server would accept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthFailure {
    /// `Auth` when the user has to act, `Transient` when a later attempt may succeed.
    pub class: ErrorClass,
    /// What happened and what to do next, for people and models: no secrets, no foreign text.
    pub message: String,
}

impl AuthFailure {
    /// A failure that the user has to resolve; `message` says how.
    pub fn needs_user(message: impl Into<String>) -> Self {
        Self { class: ErrorClass::Auth, message: message.into() }
    }

    /// A failure for a server that refused its configured headers, each given as `` `x-key` ``.
    pub fn of_headers(status: u16, headers: impl IntoIterator<Item = String>) -> Self {
        let headers: Vec<String> = headers.into_iter().collect();
        let (what, next) = match (status, &headers[..]) {
            (403, _) => ("does not allow this with", "set the value of a user who may do it"),
            (_, []) => ("wants", "set a header with a key in its entry"),
            _ => ("does not accept", "set another value"),
        };
        let which = match &headers[..] {
            [] => "credentials".to_owned(),
            [only] => format!("the configured header {only}"),
            several => format!("the configured headers {}", several.join(", ")),
        };
        Self::needs_user(format!(
            "authentication failed (status {status}): the server {what} {which}; {next}"
        ))
    }

    /// A failure that may not recur on a later attempt.
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
    /// Sends these headers with every request.
    pub fn new(headers: Vec<(String, String)>) -> Self {
        Self(Credentials { headers, stamp: 0 })
    }

    /// Sends a bearer token with every request.
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
        let names = self.0.headers.iter().map(|(name, _)| format!("`{name}`"));
        let failure = AuthFailure::of_headers(challenge.status, names);
        Box::pin(std::future::ready(Err(failure)))
    }
}
