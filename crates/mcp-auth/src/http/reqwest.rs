//! [`HttpClient`] over a `reqwest::Client` that the host built.

use std::{fmt, io};

use mcp_transport::BoxFuture;
use reqwest::{Client, Method};
use zeroize::Zeroizing;

use super::{HttpClient, HttpError, HttpRequest, HttpResponse};

/// Sends login requests with the host's `reqwest::Client`, for hosts that route all their traffic through one
/// client. Otherwise use [`GuardedClient`](crate::guard::GuardedClient).
///
/// Every URL is checked by the request's [`Guard`](crate::guard::Guard), and the limits on time and size apply. Three
/// guarantees of this crate depend on how the client was built, because reqwest resolves names, connects and follows
/// redirects internally:
///
/// - **Addresses are not checked.** A server may name a host inside the user's network. Build the client with a
///   `dns_resolver` that rejects non-public addresses.
/// - **Redirects.** Build the client with `redirect::Policy::none()`. A response from a different URL than the
///   requested one is rejected, but only after the redirected request was sent.
/// - **Trust.** Certificates are checked against the authorities that the client trusts.
///
/// The feature `reqwest` enables no TLS backend of reqwest: the host chooses one.
#[derive(Clone)]
pub struct ReqwestClient(Client);

impl ReqwestClient {
    /// Creates an adapter for `client`.
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let url = request.guard.check_url(&request.url).map_err(HttpError::Blocked)?;
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or(Method::GET);
        let mut outgoing = self.0.request(method, url.clone());
        for (name, value) in &request.headers {
            outgoing = outgoing.header(*name, value.expose());
        }
        if !request.body.is_empty() {
            outgoing = outgoing.body(request.body.expose().to_owned());
        }
        let mut response = outgoing.send().await.map_err(unreachable)?;
        if *response.url() != url {
            let why = io::Error::other("the client follows redirects");
            return Err(HttpError::Unreachable(Some(why.into())));
        }
        let headers = response.headers().iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let (status, headers) = (response.status().as_u16(), headers.collect());
        let mut body = Zeroizing::new(Vec::new());
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > request.most_bytes {
                return Err(HttpError::TooLarge(request.most_bytes));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(HttpResponse { status, headers, body })
    }
}

impl HttpClient for ReqwestClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(async move {
            let limit = request.time_limit;
            let done = tokio::time::timeout(limit, self.exchange(request)).await;
            done.unwrap_or(Err(HttpError::TimedOut(limit)))
        })
    }
}

impl fmt::Debug for ReqwestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestClient").finish_non_exhaustive()
    }
}

fn unreachable(error: reqwest::Error) -> HttpError {
    HttpError::Unreachable(Some(Box::new(error.without_url())))
}
