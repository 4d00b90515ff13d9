//! The traits through which a login reaches the user.

use std::{fmt, time::Duration};

use mcp_transport::BoxFuture;

use super::{callback::Expected, redirect::RedirectUri};
use crate::{
    error::{InteractError, LoginError},
    secret::Secret,
};

/// Reaches the user during a login. Implemented by [`LoopbackBrowser`](crate::interact::LoopbackBrowser) and
/// [`Paste`](crate::interact::Paste), and by hosts with their own window.
pub trait Interact: Send + Sync + fmt::Debug {
    /// Prepares to receive a redirect, before the redirect URL is sent to the authorization server. Uses `fixed` if
    /// the client is registered with that URL, else a URL of its choice.
    fn prepare<'a>(
        &'a self,
        fixed: Option<&'a RedirectUri>,
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, InteractError>>;

    /// Shows the user the device code and the page to enter it. Returns once it is shown.
    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<(), InteractError>>;
}

/// One expected redirect.
pub trait Redirect: Send {
    /// Returns the redirect URL, which is on this machine or `https`.
    fn uri(&self) -> &str;

    /// Sends the user to [`Visit::url`] and returns the whole URL that the browser was redirected to.
    ///
    /// # Cancel safety
    /// Dropping the future stops listening.
    fn visit(self: Box<Self>, visit: Visit<'_>) -> BoxFuture<'_, Result<Secret, InteractError>>;
}

/// The page to open, and the check of the redirect that follows.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Visit<'a> {
    /// The page to open. It contains no secret that outlives the login, but show it to the user only.
    pub url: &'a str,
    expected: &'a Expected,
}

/// The result of checking a redirect.
#[derive(Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// The login goes on.
    Accepted,
    /// The authorization server denied the login: its error code and sanitized description, for the user.
    Denied(String, Option<String>),
    /// It came from a different authorization server. Nothing in it may be shown.
    WrongIssuer,
    /// It does not belong to this login. Keep waiting.
    NotOurs,
}

impl<'a> Visit<'a> {
    pub(crate) fn new(url: &'a str, expected: &'a Expected) -> Self {
        Self { url, expected }
    }

    /// Checks a redirect, so that a page can be shown for it.
    pub fn judge(&self, redirected: &Secret) -> Verdict {
        match self.expected.code(redirected.expose()) {
            Ok(_) => Verdict::Accepted,
            Err(LoginError::Denied(refusal)) => Verdict::Denied(refusal.code, refusal.description),
            Err(LoginError::WrongIssuer) => Verdict::WrongIssuer,
            Err(_) => Verdict::NotOurs,
        }
    }
}

impl fmt::Debug for Visit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let page = self.url.split('?').next().unwrap_or_default();
        f.debug_struct("Visit").field("page", &page).finish_non_exhaustive()
    }
}

/// A device code for the user to enter on any device.
#[derive(Clone)]
#[non_exhaustive]
pub struct DeviceCode {
    /// The page to open on any device. Checked: `https`, or on this machine.
    pub verification_uri: String,
    /// The same page with the code already entered, if the server offers one.
    pub verification_uri_complete: Option<String>,
    /// The code to enter there.
    pub user_code: String,
    /// How long the code is valid.
    pub life: Duration,
}

impl fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCode")
            .field("verification_uri", &self.verification_uri)
            .finish_non_exhaustive()
    }
}
