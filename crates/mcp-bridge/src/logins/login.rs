//! Logging in to one server with OAuth.

use std::{error::Error, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_auth::{Interact, LoginError, LoopbackBrowser, OAuth, Shown, Vault};

use crate::connector::{Login, TellUser};

pub(super) struct OAuthLogin {
    pub(super) oauth: OAuth,
    pub(super) vault: Arc<Vault>,
    /// Under which the vault knows the server.
    pub(super) signature: String,
    /// `None`: the browser of this machine.
    pub(super) interact: Option<Arc<dyn Interact>>,
    pub(super) port: Option<u16>,
}

impl Login for OAuthLogin {
    fn login(&self, tell: TellUser) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let done = match &self.interact {
                Some(interact) => self.oauth.login(&**interact).await,
                None => self.oauth.login(&browser(self.port, tell)).await,
            };
            done.map_err(|error| in_words(&error))
        })
    }

    fn logout(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(
            async move { self.oauth.logout().await.map(drop).map_err(|error| in_words(&error)) },
        )
    }

    fn is_needed(&self) -> bool {
        self.vault.needs_auth().is_marked_blocking(&self.signature)
    }
}

/// The browser of this machine. The page is told too, in case none appears.
fn browser(port: Option<u16>, tell: TellUser) -> LoopbackBrowser {
    let tell = move |shown: Shown<'_>| match shown {
        Shown::Page(url) => tell(format!("log in here if no browser appears: {url}")),
        Shown::Code(code) => {
            tell(format!("open {} and enter {}", code.verification_uri, code.user_code));
        }
        _ => {}
    };
    let browser = LoopbackBrowser::new().with_teller(Arc::new(tell));
    match port {
        Some(port) => browser.with_port(port),
        None => browser,
    }
}

fn in_words(error: &LoginError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
