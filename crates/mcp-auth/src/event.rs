//! Authentication events that a host can show to its user.

use std::{fmt, path::PathBuf, sync::Arc};

/// An authentication event. No event carries a secret or text from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthEvent {
    /// The keyring does not work on this machine, so secrets are kept in a file. Reported once.
    KeyringUnavailable {
        /// The reason, in our own words.
        reason: String,
        /// The file that holds the secrets.
        file: PathBuf,
    },
    /// The secrets file was damaged. It was moved, not overwritten.
    SecretsSetAside {
        /// The new path of the damaged file.
        kept: PathBuf,
    },
    /// A user has logged in to a server.
    LoggedIn {
        /// The server's signature.
        server: String,
    },
    /// An access token was renewed.
    Refreshed {
        /// The server's signature.
        server: String,
    },
    /// New tokens could not be stored: they work until this process ends.
    NotStored {
        /// The server's signature.
        server: String,
        /// The reason, in our own words.
        reason: String,
    },
    /// The login has ended, and the user has to log in again.
    LoginEnded {
        /// The server's signature.
        server: String,
    },
}

type Listener = dyn Fn(&AuthEvent) + Send + Sync;

/// A callback for [`AuthEvent`]s. By default events are only logged.
#[derive(Clone, Default)]
pub struct OnEvent(Option<Arc<Listener>>);

impl OnEvent {
    /// Calls `tell` with every event. It must not block.
    pub fn new(tell: impl Fn(&AuthEvent) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(crate) fn tell(&self, event: &AuthEvent) {
        tracing::info!(?event, "auth");
        if let Some(tell) = &self.0 {
            tell(event);
        }
    }
}

impl fmt::Debug for OnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "OnEvent(set)" } else { "OnEvent(unset)" })
    }
}
