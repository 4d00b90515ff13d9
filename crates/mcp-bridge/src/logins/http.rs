//! An HTTP client that is made when it is first needed: reading the system's certificates takes a while.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use futures_core::future::BoxFuture;
use mcp_auth::{HttpClient, HttpError, HttpRequest, HttpResponse, ReqwestClient};

#[derive(Debug, Default)]
pub(super) struct LazyClient {
    /// A file of certificate authorities to trust, besides the system's.
    ca: Option<PathBuf>,
    client: OnceLock<Arc<ReqwestClient>>,
}

impl LazyClient {
    pub(super) fn trusting(ca: &str) -> Self {
        Self { ca: Some(ca.into()), client: OnceLock::new() }
    }

    async fn client(&self) -> Result<Arc<ReqwestClient>, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let ca = self.ca.clone();
        let make = move || {
            let unusable = |error: std::io::Error| HttpError::Unreachable(Some(error.into()));
            let roots = ca.map(|ca| std::fs::read(ca).map_err(unusable)).transpose()?;
            ReqwestClient::trusting(roots.as_slice())
        };
        let client = tokio::task::spawn_blocking(make).await;
        let client = client.map_err(|error| HttpError::Unreachable(Some(error.into())))??;
        Ok(self.client.get_or_init(|| Arc::new(client)).clone())
    }
}

impl HttpClient for LazyClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(async move { self.client().await?.send(request).await })
    }
}
