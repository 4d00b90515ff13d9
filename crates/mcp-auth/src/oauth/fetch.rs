//! Sends login requests. Every URL is checked before it is requested, and responses are bounded.

use std::sync::Arc;

use mcp_transport::net::Guard;
use zeroize::Zeroizing;

use crate::{
    error::{LoginError, Refusal},
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
};

/// The redirects followed for one document. Token requests follow none, because they contain secrets.
const MOST_REDIRECTS: usize = 3;
/// The revision whose authorization rules this crate follows. Requests for metadata name it, because revision 2025-03-26
/// lets servers respond by it: <https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization>.
const PROTOCOL_VERSION: &str = "2025-11-25";

#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    http: Arc<dyn HttpClient>,
    guard: Guard,
}

pub(crate) enum Document {
    Found(Zeroizing<Vec<u8>>),
    /// Not found; the next URL may have it.
    Missing,
}

impl Fetch {
    pub(crate) fn new(http: Arc<dyn HttpClient>, guard: Guard) -> Self {
        Self { http, guard }
    }

    /// Returns the same client for a server configured by the user, with a guard for that server.
    pub(crate) fn for_server(&self, server: &str) -> Self {
        Self { http: self.http.clone(), guard: Guard::for_server(server) }
    }

    pub(crate) fn request(&self, method: &'static str, url: &str) -> HttpRequest {
        HttpRequest::new(method, url, self.guard.clone())
    }

    /// Checks a URL without sending a request.
    pub(crate) fn check(&self, url: &str, what: &'static str) -> Result<(), LoginError> {
        let checked = self.guard.check_url(url);
        checked.map(|_| ()).map_err(|why| LoginError::Blocked { what, why })
    }

    /// Sends a request for `asking`, which names it in errors.
    pub(crate) async fn send(
        &self,
        request: HttpRequest,
        asking: &'static str,
    ) -> Result<HttpResponse, LoginError> {
        let blocked = |why| LoginError::Blocked { what: asking, why };
        self.guard.check_url(&request.url).map_err(blocked)?;
        tracing::debug!(?request, asking, "login request");
        match self.http.send(request).await {
            Ok(response) => {
                tracing::debug!(status = response.status, asking, "login response");
                Ok(response)
            }
            Err(HttpError::Blocked(why)) => Err(blocked(why)),
            Err(source) => Err(LoginError::Http { asking, source }),
        }
    }

    /// Fetches a document, following a few redirects, each checked like the first URL.
    pub(crate) async fn document(
        &self,
        url: &str,
        asking: &'static str,
    ) -> Result<Document, LoginError> {
        let mut url = url.to_owned();
        for _ in 0..=MOST_REDIRECTS {
            let request = self
                .request("GET", &url)
                .header("accept", "application/json")
                .header("mcp-protocol-version", PROTOCOL_VERSION);
            let response = self.send(request, asking).await?;
            match response.status {
                200 => return Ok(Document::Found(response.body)),
                301 | 302 | 303 | 307 | 308 => match next(&url, &response) {
                    Some(location) => url = location,
                    None => return Ok(Document::Missing),
                },
                // Transient: treating them as missing would continue with the wrong URL.
                429 | 500..=599 => {
                    let refusal = Refusal::new("temporarily_unavailable", None);
                    return Err(LoginError::Refused { asking, refusal });
                }
                _ => return Ok(Document::Missing),
            }
        }
        Err(LoginError::BadDocument { what: asking, why: "too many redirects" })
    }
}

fn next(url: &str, response: &HttpResponse) -> Option<String> {
    let location = response.header("location")?;
    Some(url::Url::parse(url).ok()?.join(location).ok()?.into())
}
