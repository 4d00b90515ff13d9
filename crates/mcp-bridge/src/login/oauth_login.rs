//! OAuth login to one server.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_auth::{
    OAuth,
    interact::{Interact, LoopbackBrowser, Shown},
    store::Vault,
};

use super::confirm::Confirming;
use crate::connect::{Login, LoginFailure, LoginUser, UserMessage};

pub(super) struct OAuthLogin {
    pub(super) oauth: OAuth,
    pub(super) vault: Arc<Vault>,
    /// The key of the server in the vault.
    pub(super) signature: String,
    /// `None`: the browser of this machine.
    pub(super) interact: Option<Arc<dyn Interact>>,
    pub(super) port: Option<u16>,
    /// The URL of the MCP server that receives the token.
    pub(super) server: String,
}

impl Login for OAuthLogin {
    fn login(&self, user: LoginUser) -> BoxFuture<'_, Result<(), LoginFailure>> {
        Box::pin(async move {
            let LoginUser { tell, confirm } = user;
            let interact = match &self.interact {
                Some(interact) => interact.clone(),
                None => Arc::new(browser(self.port, tell)),
            };
            let asking = Confirming { interact, confirm, server: self.server.clone() };
            self.oauth.login(&asking).await.map_err(LoginFailure::failed)
        })
    }

    fn confirms_page(&self) -> bool {
        true
    }

    fn logout(&self) -> BoxFuture<'_, Result<(), LoginFailure>> {
        Box::pin(async move { self.oauth.logout().await.map(drop).map_err(LoginFailure::failed) })
    }

    fn is_needed(&self) -> bool {
        self.vault.needs_auth().is_marked_blocking(&self.signature)
    }
}

/// The browser of this machine. The URL is also shown, in case the browser does not open.
fn browser(port: Option<u16>, tell: UserMessage) -> LoopbackBrowser {
    let tell = move |shown: Shown<'_>| match shown {
        Shown::Page(url) => tell(format!("log in here if no browser appears: {url}")),
        Shown::Code(code) => {
            tell(format!("open {} and enter {}", code.verification_uri, code.user_code));
        }
        _ => {}
    };
    let browser = LoopbackBrowser::new().with_message_handler(Arc::new(tell));
    match port {
        Some(port) => browser.with_port(port),
        None => browser,
    }
}
