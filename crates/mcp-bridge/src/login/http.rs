//! An HTTP client created on first use, because reading the system's certificates is slow.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use futures_core::future::BoxFuture;
use mcp_auth::{
    guard::GuardedClient,
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
};
use mcp_transport::net::TlsOptions;

#[derive(Debug, Default)]
pub(super) struct LazyClient {
    /// A file of certificate authorities to trust in addition to the system's.
    ca: Option<PathBuf>,
    client: OnceLock<Arc<GuardedClient>>,
}

impl LazyClient {
    pub(super) fn trusting(ca: &str) -> Self {
        Self { ca: Some(ca.into()), client: OnceLock::new() }
    }

    async fn client(&self) -> Result<Arc<GuardedClient>, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let ca = self.ca.clone();
        let make = move || {
            let mut tls = TlsOptions::default();
            if let Some(ca) = ca {
                tls.extra_roots.push(std::fs::read(ca).map_err(unusable)?);
            }
            GuardedClient::new(&tls).map_err(unusable)
        };
        let client = tokio::task::spawn_blocking(make).await;
        let client = client.map_err(unusable)??;
        Ok(self.client.get_or_init(|| Arc::new(client)).clone())
    }
}

impl HttpClient for LazyClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(async move { self.client().await?.send(request).await })
    }
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::Unreachable(Some(Box::new(error)))
}
