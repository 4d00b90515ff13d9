//! For a machine without a browser: the person opens the page elsewhere and pastes where it ended up.

use std::{fmt, sync::Arc};

use mcp_transport::BoxFuture;

use super::{DeviceCode, Interact, InteractError, Redirect, Visit, redirect::RedirectUri};
use crate::secret::Secret;

/// Shows the URL, and returns the whole URL from the browser's address bar.
pub type AskForUrl =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<Secret, InteractError>> + Send + Sync>;
/// Shows a code.
pub type ShowCode = Arc<dyn Fn(&DeviceCode) + Send + Sync>;

/// Asks the person to open a page anywhere and to paste the address that the browser ended up at.
///
/// Nothing listens at the redirect address, so the browser shows an error page there; its address is what
/// counts. Any channel works: a terminal, a chat, a test. It is also the only way to a redirect address that
/// is not on this machine, such as a page that shows its own address.
#[derive(Clone)]
pub struct Paste {
    redirect_uri: String,
    ask: AskForUrl,
    show_code: Option<ShowCode>,
}

impl Paste {
    /// Asks with `ask`. The redirect goes to a port of this machine where nobody listens.
    pub fn new(ask: AskForUrl) -> Self {
        Self { redirect_uri: "http://127.0.0.1:33418/callback".to_owned(), ask, show_code: None }
    }

    /// With another redirect, as it was registered. A fixed one
    /// ([`OAuthOptions::redirect_uri`](crate::OAuthOptions::redirect_uri)) comes before it.
    #[must_use]
    pub fn with_redirect(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = uri.into();
        self
    }

    /// Shows device codes with `show`.
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
