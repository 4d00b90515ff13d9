//! Login on a machine without a browser: the user opens the page elsewhere and pastes the redirect URL.

use std::{fmt, sync::Arc};

use mcp_transport::BoxFuture;

use super::{
    interface::{DeviceCode, Interact, Redirect, Visit},
    redirect::RedirectUri,
};
use crate::{error::InteractError, secret::Secret};

/// Shows the URL, and returns the URL from the browser's address bar after the redirect.
pub type AskForUrl =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<Secret, InteractError>> + Send + Sync>;
/// Shows a code.
pub type ShowCode = Arc<dyn Fn(&DeviceCode) + Send + Sync>;

/// Asks the user to open a page in any browser and to paste the URL that it is redirected to.
///
/// Nothing listens at the redirect URL, so the browser shows an error page there; only the URL is needed. It can be
/// asked for in a terminal, a chat or a test. This is also the only way to use a redirect URL that is not on this
/// machine.
#[derive(Clone)]
pub struct Paste {
    redirect_uri: String,
    ask: AskForUrl,
    show_code: Option<ShowCode>,
}

impl Paste {
    /// Asks with `ask`. The redirect URL is an unused port on this machine.
    pub fn new(ask: AskForUrl) -> Self {
        Self { redirect_uri: "http://127.0.0.1:33418/callback".to_owned(), ask, show_code: None }
    }

    /// Sets the redirect URL that the client was registered with. A fixed one
    /// ([`OAuthOptions::redirect_uri`](crate::OAuthOptions::redirect_uri)) has precedence.
    #[must_use]
    pub fn with_redirect(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = uri.into();
        self
    }

    /// Sets the function that shows device codes.
    #[must_use]
    pub fn with_codes(mut self, show: ShowCode) -> Self {
        self.show_code = Some(show);
        self
    }
}

impl Interact for Paste {
    fn prepare<'a>(
        &'a self,
        fixed: Option<&'a RedirectUri>,
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, InteractError>> {
        let uri = fixed.map_or(&*self.redirect_uri, RedirectUri::as_str).to_owned();
        let ask = self.ask.clone();
        Box::pin(async move { Ok(Box::new(Pasted { uri, ask }) as Box<dyn Redirect>) })
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<(), InteractError>> {
        Box::pin(async move {
            let show = self.show_code.as_ref().ok_or(InteractError::Unsupported("show a code"))?;
            show(code);
            Ok(())
        })
    }
}

struct Pasted {
    uri: String,
    ask: AskForUrl,
}

impl Redirect for Pasted {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn visit(self: Box<Self>, visit: Visit<'_>) -> BoxFuture<'_, Result<Secret, InteractError>> {
        (self.ask)(visit.url.to_owned())
    }
}

impl fmt::Debug for Paste {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paste").field("redirect_uri", &self.redirect_uri).finish_non_exhaustive()
    }
}
