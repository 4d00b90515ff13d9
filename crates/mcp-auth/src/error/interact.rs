//! Errors of reaching the user.

use std::{fmt, io, time::Duration};

/// The reason why the user could not be reached.
#[derive(Debug)]
#[non_exhaustive]
pub enum InteractError {
    /// The redirect listener could not be opened.
    Listen(io::Error),
    /// No browser could be opened.
    Browser(io::Error),
    /// The configured redirect URL is not on this machine, so this program cannot listen there.
    Elsewhere,
    /// No redirect arrived within this time.
    TimedOut(Duration),
    /// The user cancelled the login.
    Cancelled,
    /// The host's [`Interact`](crate::interact::Interact) cannot do this.
    Unsupported(&'static str),
}

impl fmt::Display for InteractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(_) => f.write_str("could not listen for the redirect of the browser"),
            Self::Browser(_) => f.write_str("could not open a browser"),
            Self::Elsewhere => f.write_str(
                "the configured redirect URL is not on this machine, so the redirect cannot be \
                 received: open the page in any browser, and paste the address of the page it is \
                 redirected to",
            ),
            Self::TimedOut(limit) => {
                write!(f, "no redirect arrived within {} minutes", limit.as_secs() / 60)
            }
            Self::Cancelled => f.write_str("the login was cancelled"),
            Self::Unsupported(what) => write!(f, "this host cannot {what}"),
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
