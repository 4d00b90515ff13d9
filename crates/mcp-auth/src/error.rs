//! Login errors, worded for the user who must act on them.

mod interact;

use std::fmt;

use mcp_safe::text::is_hidden;
use mcp_transport::{ErrorClass, auth::AuthFailure, net::Blocked};

pub use self::interact::InteractError;
use crate::{credentials::SourceError, http::HttpError, store::StoreError};

/// The reason why a login failed. No variant carries a secret; foreign text appears only where documented.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoginError {
    /// A request could not be completed.
    Http {
        /// The requested item.
        asking: &'static str,
        /// The cause.
        source: HttpError,
    },
    /// A URL of the login is not allowed; nothing was sent there.
    Blocked {
        /// The requested item.
        what: &'static str,
        /// The reason.
        why: Blocked,
    },
    /// No document names an authorization server.
    NoAuthorizationServer,
    /// A document is invalid.
    BadDocument {
        /// The document.
        what: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The resource metadata describes a different resource.
    ResourceMismatch,
    /// The authorization server metadata names a different issuer than the requested one.
    IssuerMismatch,
    /// The authorization server does not offer PKCE with S256.
    NoPkce,
    /// The server changed its authorization server; the configured client is registered with the old one.
    IssuerChanged,
    /// No client id is configured and none can be registered.
    NoClientId,
    /// The authorization server does not support a feature that this login needs.
    NotOffered(&'static str),
    /// The redirect came from a different authorization server.
    WrongIssuer,
    /// The redirect does not belong to this login.
    WrongState,
    /// The authorization server denied the login in the browser.
    Denied(Refusal),
    /// The authorization server refused a request.
    Refused {
        /// The requested item.
        asking: &'static str,
        /// The error of the response.
        refusal: Refusal,
    },
    /// The user did not respond, or the browser could not be opened.
    Interaction(InteractError),
    /// The login requires the user, and this caller cannot prompt.
    NeedsUser,
    /// The server rejected a token that was just issued.
    NewTokenRefused,
    /// The limit of login attempts was reached.
    TooManyAttempts,
    /// The server requires scopes that were already requested and not granted.
    ScopeNotGranted,
    /// The server does not permit this to the logged-in user.
    Forbidden,
    /// The server rejects every `DPoP` nonce, including the one it just issued.
    NonceRefused,
    /// The stored login ended, and a new one is needed.
    Ended,
    /// The configured credential could not be read.
    Credential(SourceError),
    /// The configured key or assertion is invalid.
    BadCredential(&'static str),
    /// A setting of the host or its user is invalid.
    BadSetting {
        /// The setting.
        setting: &'static str,
        /// The reason.
        why: &'static str,
    },
    /// The secret store failed.
    Store(StoreError),
}

/// An OAuth error response of an authorization server.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The error code, such as `access_denied`: at most 64 characters of `a-z0-9_-.`, or `unknown`.
    pub code: String,
    /// The error description: foreign text without control characters, cut at 300. Show it to users only.
    pub description: Option<String>,
}

impl Refusal {
    pub(crate) fn new(code: &str, description: Option<&str>) -> Self {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
        let is_code = !code.is_empty() && code.len() <= 64 && code.chars().all(fits);
        let clean = |text: &str| text.chars().filter(|c| !is_hidden(*c)).take(300).collect();
        Self {
            code: if is_code { code.to_owned() } else { "unknown".to_owned() },
            description: description.map(clean),
        }
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refusal").field(&self.code).finish()
    }
}

impl LoginError {
    /// Returns the class, which says who must act.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Http { source, .. } => source.class(),
            Self::Refused { refusal, .. } if is_transient(&refusal.code) => ErrorClass::Transient,
            Self::NonceRefused => ErrorClass::Transient,
            Self::Store(error) => error.class(),
            Self::Credential(error) => error.class(),
            Self::Denied(_)
            | Self::Refused { .. }
            | Self::Interaction(_)
            | Self::NeedsUser
            | Self::NewTokenRefused
            | Self::Ended
            | Self::IssuerChanged
            | Self::NoClientId
            | Self::TooManyAttempts
            | Self::ScopeNotGranted
            | Self::Forbidden
            | Self::BadCredential(_) => ErrorClass::Auth,
            _ => ErrorClass::Permanent,
        }
    }

    /// Whether a new login by the user can resolve this error.
    fn is_resolved_by_login(&self) -> bool {
        matches!(
            self,
            Self::Denied(_)
                | Self::Refused { .. }
                | Self::Interaction(_)
                | Self::NeedsUser
                | Self::NewTokenRefused
                | Self::Ended
                | Self::TooManyAttempts
                | Self::ScopeNotGranted
        )
    }

    /// Converts the error for the transport, which shows it to users and models: `authentication failed`, the reason
    /// in our own words, and the next step.
    pub(crate) fn to_failure(&self, hint: &str) -> AuthFailure {
        match self.class() {
            ErrorClass::Transient => AuthFailure::transient(format!(
                "authentication failed temporarily: {self}; it will be retried"
            )),
            class => {
                let hint =
                    if self.is_resolved_by_login() { format!("; {hint}") } else { String::new() };
                let mut failure =
                    AuthFailure::needs_user(format!("authentication failed: {self}{hint}"));
                failure.class = class;
                failure
            }
        }
    }
}

/// Whether an OAuth error code reports a temporary condition of the server.
pub(crate) fn is_transient(code: &str) -> bool {
    matches!(code, "temporarily_unavailable" | "server_error" | "slow_down")
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { asking, .. } => write!(f, "the request for {asking} failed"),
            Self::Blocked { what, why } => write!(f, "the request for {what} was not sent: {why}"),
            Self::NoAuthorizationServer => f.write_str(
                "the server requires a login but does not name its authorization server",
            ),
            Self::BadDocument { what, why } => write!(f, "{what} cannot be used: {why}"),
            Self::ResourceMismatch => {
                f.write_str("the resource metadata describes a different server")
            }
            Self::IssuerMismatch => {
                f.write_str("the authorization server's metadata names a different issuer")
            }
            Self::NoPkce => f.write_str("the authorization server does not support PKCE with S256"),
            Self::IssuerChanged => f.write_str(
                "the server changed its authorization server, and the configured client id \
                 belongs to the old one",
            ),
            Self::NoClientId => f.write_str(
                "the authorization server does not register clients, and no client id is \
                 configured",
            ),
            Self::NotOffered(what) => write!(f, "the authorization server does not support {what}"),
            Self::WrongIssuer => {
                f.write_str("the redirect came from a different authorization server")
            }
            Self::WrongState => f.write_str("the redirect does not belong to this login"),
            Self::Denied(refusal) => {
                write!(f, "the authorization server denied the login (`{}`)", refusal.code)
            }
            Self::Refused { asking, refusal } => {
                let code = &refusal.code;
                write!(f, "the authorization server refused the request for {asking} (`{code}`)")
            }
            Self::Interaction(_) => f.write_str("the login was not completed"),
            Self::NeedsUser => f.write_str("this server requires a login"),
            Self::NewTokenRefused => {
                f.write_str("the server rejected the token that was just issued")
            }
            Self::TooManyAttempts => f.write_str("too many login attempts"),
            Self::ScopeNotGranted => {
                f.write_str("the required scope was requested but not granted")
            }
            Self::Forbidden => f.write_str("the server does not permit this to the logged-in user"),
            Self::NonceRefused => f.write_str("the server rejected its own DPoP nonce"),
            Self::Ended => f.write_str("the login has ended"),
            Self::Credential(_) => f.write_str("the configured credential cannot be read"),
            Self::BadCredential(why) => write!(f, "the configured credential is invalid: {why}"),
            Self::BadSetting { setting, why } => {
                write!(f, "the configured {setting} is invalid: {why}")
            }
            Self::Store(_) => f.write_str("the secret store failed"),
        }
    }
}

impl std::error::Error for LoginError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Http { source, .. } => Some(source),
            Self::Interaction(error) => Some(error),
            Self::Credential(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for LoginError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SourceError> for LoginError {
    fn from(error: SourceError) -> Self {
        Self::Credential(error)
    }
}

impl From<InteractError> for LoginError {
    fn from(error: InteractError) -> Self {
        Self::Interaction(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_sanitized() {
        let refusal = Refusal::new("<b>x", Some("a\u{1b}[31m\u{202e}b"));
        assert_eq!(refusal.code, "unknown");
        assert_eq!(refusal.description.as_deref(), Some("a[31mb"));
        assert_eq!(Refusal::new("access_denied", None).code, "access_denied");
        let long = Refusal::new("x", Some(&"y".repeat(1000)));
        assert_eq!(long.description.map(|text| text.len()), Some(300));
        assert!(!format!("{:?}", Refusal::new("x", Some("canary"))).contains("canary"));
    }

    #[test]
    fn a_login_is_suggested_only_where_it_helps() {
        for error in [LoginError::IssuerMismatch, LoginError::Forbidden, LoginError::NoPkce] {
            assert!(!error.to_failure("log in").message.contains("log in"), "{error}");
        }
    }

    #[test]
    fn a_failure_names_the_next_step_and_no_foreign_text() {
        let error = LoginError::Denied(Refusal::new("access_denied", Some("canary")));
        let failure = error.to_failure("run `mcp login docs`");
        assert_eq!(
            failure.message,
            "authentication failed: the authorization server denied the login (`access_denied`); \
             run `mcp login docs`"
        );
    }
}
