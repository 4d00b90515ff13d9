//! Why a login failed, in words for the person who must act on it.

use std::fmt;

use mcp_transport::{AuthFailure, ErrorClass};

use crate::{
    guard::Blocked, http::HttpError, interact::InteractError, source::SourceError,
    store::StoreError,
};

/// Why there is no login. No variant carries a secret, and foreign text only where it says so.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoginError {
    /// A request failed on its way.
    Http {
        /// What was asked.
        asking: &'static str,
        /// How it failed.
        source: HttpError,
    },
    /// A URL of the login is off limits; nothing was sent there.
    Blocked {
        /// What it was for.
        what: &'static str,
        /// Why.
        why: Blocked,
    },
    /// Nothing tells where to log in.
    NoAuthorizationServer,
    /// A document could not be understood.
    BadDocument {
        /// Which one.
        what: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server describes another resource than the one it is.
    ResourceMismatch,
    /// The authorization server's document names another issuer than the one that was asked.
    IssuerMismatch,
    /// The authorization server does not offer PKCE with S256.
    NoPkce,
    /// The server moved to another authorization server, where the configured client is not known.
    IssuerChanged,
    /// There is no way to get a client id here.
    NoClientId,
    /// The authorization server does not offer what this login needs.
    NotOffered(&'static str),
    /// The answer came from another authorization server than the one that was asked.
    WrongIssuer,
    /// The answer does not belong to this login.
    WrongState,
    /// The authorization server said no in the browser.
    Denied(Refusal),
    /// The authorization server said no to a request.
    Refused {
        /// To which one.
        asking: &'static str,
        /// How.
        refusal: Refusal,
    },
    /// The person was not there, or the browser could not be opened.
    Interaction(InteractError),
    /// It takes a person, and nobody can be asked from here.
    NeedsUser,
    /// It was tried as often as is decent.
    TooManyAttempts,
    /// The server wants permissions that it was already asked for and did not give.
    ScopeNotGranted,
    /// The server does not allow this to whoever is logged in.
    Forbidden,
    /// The server refuses every nonce, even the one it just gave.
    NonceRefused,
    /// The stored login ended, and a new one is needed.
    Ended,
    /// Our own credential could not be had.
    Credential(SourceError),
    /// Our own key or assertion does not work.
    BadCredential(&'static str),
    /// What the host or its user set cannot be used.
    BadSetting {
        /// What was set.
        setting: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The secret store failed.
    Store(StoreError),
}

/// What an authorization server says when it refuses.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The error code, such as `access_denied`: at most 64 characters of `a-z0-9_-.`, or `unknown`.
    pub code: String,
    /// Its description: foreign text, without control characters, cut at 300. Show it to people only.
    pub description: Option<String>,
}

impl Refusal {
    pub(crate) fn new(code: &str, description: Option<&str>) -> Self {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
        let is_code = !code.is_empty() && code.len() <= 64 && code.chars().all(fits);
        let clean = |text: &str| {
            text.chars().filter(|c| !c.is_control() && !is_invisible(*c)).take(300).collect()
        };
        Self {
            code: if is_code { code.to_owned() } else { "unknown".to_owned() },
            description: description.map(clean),
        }
    }
}

/// Characters that turn text around or hide it.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refusal").field(&self.code).finish()
    }
}

impl LoginError {
    /// Whose move it is.
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

    /// Whether a person who logs in can change anything about it.
    fn is_mended_by_login(&self) -> bool {
        matches!(
            self,
            Self::Denied(_)
                | Self::Refused { .. }
                | Self::Interaction(_)
                | Self::NeedsUser
                | Self::Ended
                | Self::TooManyAttempts
                | Self::ScopeNotGranted
        )
    }

    /// For the transport, and through it for people and models: `authentication failed`, why in our own
    /// words, and what to do next.
    pub(crate) fn to_failure(&self, hint: &str) -> AuthFailure {
        match self.class() {
            ErrorClass::Transient => AuthFailure::transient(format!(
                "authentication failed for now: {self}; it will be tried again"
            )),
            class => {
                let hint =
                    if self.is_mended_by_login() { format!("; {hint}") } else { String::new() };
                let mut failure =
                    AuthFailure::needs_user(format!("authentication failed: {self}{hint}"));
                failure.class = class;
                failure
            }
        }
    }
}

/// Codes by which a server says that it is not its day.
pub(crate) fn is_transient(code: &str) -> bool {
    matches!(code, "temporarily_unavailable" | "server_error" | "slow_down")
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { asking, .. } => write!(f, "asking for {asking} failed"),
            Self::Blocked { what, why } => write!(f, "{what} was not asked: {why}"),
            Self::NoAuthorizationServer => {
                f.write_str("the server wants a login and does not say where")
            }
            Self::BadDocument { what, why } => write!(f, "{what} cannot be used: {why}"),
            Self::ResourceMismatch => {
                f.write_str("the server describes itself as a different server")
            }
            Self::IssuerMismatch => {
                f.write_str("the authorization server's metadata names a different issuer")
            }
            Self::NoPkce => f.write_str("the authorization server does not offer PKCE with S256"),
            Self::IssuerChanged => f.write_str(
                "the server changed its authorization server, and the configured client id \
                 belongs to the old one",
            ),
            Self::NoClientId => f.write_str(
                "the authorization server registers no clients, and no client id is configured",
            ),
            Self::NotOffered(what) => write!(f, "the authorization server does not offer {what}"),
            Self::WrongIssuer => {
                f.write_str("the answer came from a different authorization server")
            }
            Self::WrongState => f.write_str("the answer does not belong to this login"),
            Self::Denied(refusal) => {
                write!(f, "the authorization server said no (`{}`)", refusal.code)
            }
            Self::Refused { asking, refusal } => {
                write!(f, "the authorization server refused {asking} (`{}`)", refusal.code)
            }
            Self::Interaction(_) => f.write_str("the login was not completed"),
            Self::NeedsUser => f.write_str("this server wants a login"),
            Self::TooManyAttempts => f.write_str("it was tried too often"),
            Self::ScopeNotGranted => {
                f.write_str("the permission that this needs was asked for and not given")
            }
            Self::Forbidden => f.write_str("the server does not allow this to this user"),
            Self::NonceRefused => f.write_str("the server refuses the nonces that it gives"),
            Self::Ended => f.write_str("the login has ended"),
            Self::Credential(_) => f.write_str("the configured credential cannot be read"),
            Self::BadCredential(why) => write!(f, "the configured credential is unfit: {why}"),
            Self::BadSetting { setting, why } => {
                write!(f, "the configured {setting} cannot be used: {why}")
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
    fn foreign_text_is_tamed() {
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
    fn a_failure_says_what_to_do_and_nothing_foreign() {
        let error = LoginError::Denied(Refusal::new("access_denied", Some("canary")));
        let failure = error.to_failure("run `mcp login docs`");
        assert_eq!(
            failure.message,
            "authentication failed: the authorization server said no (`access_denied`); \
             run `mcp login docs`"
        );
    }
}
