//! What takes a person: opening a page, showing a code, handing back where the browser ended up.

pub(crate) mod loopback;
pub(crate) mod paste;
pub(crate) mod redirect;

use std::{fmt, io, time::Duration};

use mcp_transport::BoxFuture;

use self::redirect::RedirectUri;
use crate::{
    oauth::{callback::Expected, error::LoginError},
    secret::Secret,
};

/// How a login reaches the person. Implemented by [`LoopbackBrowser`](crate::LoopbackBrowser) and
/// [`Paste`](crate::Paste), and by hosts with a window of their own.
pub trait Interact: Send + Sync + fmt::Debug {
    /// Gets ready to receive a redirect, before the authorization server hears its address: at `fixed`, if
    /// the client is registered with that one, or else wherever it suits.
    fn prepare<'a>(
        &'a self,
        fixed: Option<&'a RedirectUri>,
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, InteractError>>;

    /// Shows the person which code to enter where. Returns once it is shown.
    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<(), InteractError>>;
}

/// One redirect that is waited for.
pub trait Redirect: Send {
    /// Its address, on this machine or `https`.
    fn uri(&self) -> &str;

    /// Sends the person to [`Visit::url`] and returns the whole URL that the browser was redirected to.
    ///
    /// # Cancel safety
    /// Dropped, it stops listening.
    fn visit(self: Box<Self>, visit: Visit<'_>) -> BoxFuture<'_, Result<Secret, InteractError>>;
}

/// Where to send the person, and how to tell whether what comes back is meant for us.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Visit<'a> {
    /// The page to open. It holds no secret that outlives the login, but it is nobody else's.
    pub url: &'a str,
    expected: &'a Expected,
}

/// What a redirect turned out to be.
#[derive(Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// The login goes on.
    Accepted,
    /// The authorization server said no; code and tamed description for the person.
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

    /// Judges a redirect, so that a page can be shown for it.
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

/// What the person enters on another device.
#[derive(Clone)]
#[non_exhaustive]
pub struct DeviceCode {
    /// The page to open on any device. Judged: `https`, or this machine.
    pub verification_uri: String,
    /// The same page with the code already in it, where offered.
    pub verification_uri_complete: Option<String>,
    /// What to enter there.
    pub user_code: String,
    /// How long it works.
    pub life: Duration,
}

impl fmt::Debug for DeviceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCode")
            .field("verification_uri", &self.verification_uri)
            .finish_non_exhaustive()
    }
}

/// Why the person could not be reached.
#[derive(Debug)]
#[non_exhaustive]
pub enum InteractError {
    /// Nothing could listen for the redirect.
    Listen(io::Error),
    /// No browser could be opened.
    Browser(io::Error),
    /// The redirect address that is configured is not on this machine, so nobody can listen there.
    Elsewhere,
    /// Nothing came back within this time.
    TimedOut(Duration),
    /// The person gave up.
    Cancelled,
    /// This way of asking cannot do that.
    Unsupported(&'static str),
}

impl fmt::Display for InteractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(_) => f.write_str("could not listen for the answer of the browser"),
            Self::Browser(_) => f.write_str("could not open a browser"),
            Self::Elsewhere => f.write_str(
                "the redirect address that is configured is not on this machine, where its answer could \
                 be heard: open the page in any browser, and paste the address that it ends up at",
            ),
            Self::TimedOut(limit) => {
                write!(f, "nothing came back within {} minutes", limit.as_secs() / 60)
            }
            Self::Cancelled => f.write_str("it was given up"),
            Self::Unsupported(what) => write!(f, "there is no way to {what} here"),
        }
    }
}

impl std::error::Error for InteractError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Listen(error) | Self::Browser(error) => Some(error),
            _ => None,
        }
    }
}
