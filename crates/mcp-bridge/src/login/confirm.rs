//! Asks the user before a login page is opened.

use std::{fmt, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_auth::{
    InteractError, Secret,
    interact::{DeviceCode, Interact, Redirect, RedirectUri, Visit},
};

use crate::connect::{ConfirmPage, LoginPage};

/// Wraps `interact` with a confirmation of the page by the user.
pub(super) struct Confirming {
    pub(super) interact: Arc<dyn Interact>,
    pub(super) confirm: ConfirmPage,
    /// The URL of the MCP server that receives the token.
    pub(super) server: String,
}

impl Interact for Confirming {
    fn prepare<'a>(
        &'a self,
        fixed: Option<&'a RedirectUri>,
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, InteractError>> {
        Box::pin(async move {
            let redirect = self.interact.prepare(fixed).await?;
            let (confirm, server) = (self.confirm.clone(), self.server.clone());
            Ok(Box::new(ConfirmedRedirect { redirect, confirm, server }) as Box<dyn Redirect>)
        })
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<(), InteractError>> {
        Box::pin(async move {
            confirmed(&self.confirm, &code.verification_uri, &self.server).await?;
            self.interact.show_code(code).await
        })
    }
}

struct ConfirmedRedirect {
    redirect: Box<dyn Redirect>,
    confirm: ConfirmPage,
    server: String,
}

impl Redirect for ConfirmedRedirect {
    fn uri(&self) -> &str {
        self.redirect.uri()
    }

    fn visit(self: Box<Self>, visit: Visit<'_>) -> BoxFuture<'_, Result<Secret, InteractError>> {
        Box::pin(async move {
            confirmed(&self.confirm, visit.url, &self.server).await?;
            self.redirect.visit(visit).await
        })
    }
}

async fn confirmed(confirm: &ConfirmPage, page: &str, server: &str) -> Result<(), InteractError> {
    if confirm(LoginPage::new(page, server)).await { Ok(()) } else { Err(InteractError::Cancelled) }
}

impl fmt::Debug for Confirming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confirming").field("interact", &self.interact).finish_non_exhaustive()
    }
}
