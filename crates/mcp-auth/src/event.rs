//! What a host may want to tell its user, as it happens.

use std::{fmt, path::PathBuf, sync::Arc};

/// Something worth telling. No event carries a secret or text from a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthEvent {
    /// The keyring does not work here, so secrets go to a file. Told once.
    KeyringUnavailable {
        /// Why, in our words.
        reason: String,
        /// Where secrets are kept instead.
        file: PathBuf,
    },
    /// The file with the secrets could not be read. It was moved, not overwritten.
    SecretsSetAside {
        /// Where it is now.
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
        /// Why, in our words.
        reason: String,
    },
    /// The login has ended, and the user has to log in again.
    LoginEnded {
        /// The server's signature.
        server: String,
    },
}

type Listener = dyn Fn(&AuthEvent) + Send + Sync;

/// Who is told. The default tells nobody but the log.
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
