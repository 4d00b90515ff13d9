//! Logging the user in to a server: user interaction, the [`Login`] trait, and login failures.

use std::{error::Error, fmt, sync::Arc};

use futures_core::future::BoxFuture;

/// Shows a message to the user during a login, such as a URL to open.
pub type UserMessage = Arc<dyn Fn(String) + Send + Sync>;

/// Asks the user whether a page may be opened. Called before the page is opened; `false` cancels the login.
pub type ConfirmPage = Arc<dyn Fn(LoginPage) -> BoxFuture<'static, bool> + Send + Sync>;

/// The page of a login, and the server that receives the token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginPage {
    /// The URL of the page, without its query.
    pub page: String,
    /// The URL of the MCP server that receives the token.
    pub token_for: String,
}

impl LoginPage {
    /// A login at `page` with a token for the server at `token_for`. Queries and fragments are removed.
    pub fn new(page: &str, token_for: &str) -> Self {
        let place = |url: &str| url.split(['?', '#']).next().unwrap_or_default().to_owned();
        Self { page: place(page), token_for: place(token_for) }
    }
}

/// How a login interacts with the user.
#[derive(Clone)]
#[non_exhaustive]
pub struct LoginUser {
    /// Shows a message during the login, such as a URL to open.
    pub tell: UserMessage,
    /// Asks before a page is opened.
    pub confirm: ConfirmPage,
}

impl LoginUser {
    /// For a user who requested the login: every page is confirmed without a question.
    pub fn new(tell: UserMessage) -> Self {
        Self { tell, confirm: Arc::new(|_| Box::pin(std::future::ready(true))) }
    }
}

impl fmt::Debug for LoginUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginUser").finish_non_exhaustive()
    }
}

/// Logs the user in to and out of one server.
pub trait Login: Send + Sync {
    /// Logs in, with the help of the user.
    ///
    /// # Errors
    /// Returns [`LoginFailure::Cancelled`] if the user cancelled, otherwise [`LoginFailure::failed`] with the cause.
    /// Its text must not contain a token, a header or a body.
    fn login(&self, user: LoginUser) -> BoxFuture<'_, Result<(), LoginFailure>>;

    /// Whether [`login`](Self::login) calls [`LoginUser::confirm`] before it opens a page. If not, the user is asked
    /// before `login` is called, without the URL of the page. Default: no.
    fn confirms_page(&self) -> bool {
        false
    }

    /// Ends the login, locally and if possible at the server.
    ///
    /// # Errors
    /// As for [`login`](Self::login).
    fn logout(&self) -> BoxFuture<'_, Result<(), LoginFailure>>;

    /// Whether the server is known to require a login, which avoids a futile connection attempt. Called when a server
    /// is added; must not block for long. Default: no.
    fn is_needed(&self) -> bool {
        false
    }
}

/// Why a login or a logout failed.
///
/// `Display` describes this level only; [`source`](Error::source) has the cause, and [`report`](Self::report) prints
/// both in one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoginFailure {
    /// The bridge has no server of this name.
    UnknownServer(String),
    /// The server of this name does not support login: its credentials are in its configuration.
    NoLogin(String),
    /// A rule or the user denied it, for this reason.
    Denied(String),
    /// The user cancelled it.
    Cancelled,
    /// It failed, for this reason.
    Failed(Box<dyn Error + Send + Sync>),
}

impl LoginFailure {
    /// Creates a failure from an error or a text.
    ///
    /// ```
    /// use mcp_bridge::connect::LoginFailure;
    ///
    /// let failure = LoginFailure::failed("the account is locked");
    /// assert_eq!(failure.report(), "authentication failed: the account is locked");
    /// ```
    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }

    /// The failure and its causes in one line.
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        let mut source = self.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        text
    }
}

impl fmt::Display for LoginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownServer(name) => write!(f, "unknown server: {name}"),
            Self::NoLogin(name) => write!(
                f,
                "authentication failed: mcp server {name} does not support login; set its credentials in the configuration"
            ),
            Self::Denied(reason) => write!(f, "the login was denied: {reason}"),
            Self::Cancelled => f.write_str("authentication failed: the login was cancelled"),
            Self::Failed(_) => f.write_str("authentication failed"),
        }
    }
}

impl Error for LoginFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(cause) => Some(&**cause),
            _ => None,
        }
    }
}
