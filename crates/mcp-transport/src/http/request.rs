//! One request over HTTP: credentials, challenges and redirects.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use mcp_jsonrpc::{FailureCause, Loss};
use url::Url;

use super::{
    loss::{broken, lost, permanent},
    session::Session,
};
use crate::{
    authorize::{Credentials, Target},
    net::{
        authorized::{self, Attempt, Outcome, authorized},
        origin::resolve,
        response::Response,
    },
};

const MOST_REDIRECTS: u32 = 5;

/// A request to send.
#[derive(Clone)]
pub(super) struct OutgoingRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    /// How long the server may take to begin its response.
    pub(super) patience: Option<Duration>,
}

impl OutgoingRequest {
    /// A request without a body and without a time limit.
    pub(super) fn new(method: Method, url: Url, headers: HeaderMap) -> Self {
        Self { method, url, headers, body: None, patience: None }
    }
}

/// Sends a request, handles challenges and redirects, and returns the final response.
pub(super) async fn send(session: &Session, request: OutgoingRequest) -> Result<Response, Loss> {
    let authorizer = session.settings.options.authorizer.as_deref();
    authorized(authorizer, &mut Sending { session, request, redirects: 0 }).await
}

async fn execute(
    session: &Session,
    request: &OutgoingRequest,
    headers: &HeaderMap,
) -> Result<Response, Loss> {
    let other;
    let uri = if request.url == session.settings.url {
        &session.settings.uri
    } else {
        let strange = |_| permanent(FailureCause::Local, "the URL is not valid for HTTP");
        other = request.url.as_str().parse().map_err(strange)?;
        &other
    };
    let sent = session.lock().reachability.sent();
    let response = session.client.execute(&request.method, uri, headers, request.body.as_ref());
    let response = match request.patience {
        None => response.await,
        Some(patience) => {
            if let Ok(response) = tokio::time::timeout(patience, response).await {
                response
            } else {
                let reason = format!("the server did not begin to respond within {patience:?}");
                return Err(lost(FailureCause::TimedOut, reason));
            }
        }
    };
    response.map_err(|error| {
        let loss = broken(&request.url, &error);
        session.lock().reachability.failed(sent, &loss);
        loss
    })
}

/// A request and the redirects it has followed.
struct Sending<'a> {
    session: &'a Session,
    request: OutgoingRequest,
    redirects: u32,
}

impl Attempt for Sending<'_> {
    type Response = Response;
    type Error = Loss;

    fn target(&self) -> Target<'_> {
        Target::new(self.request.method.as_str(), self.request.url.as_str())
    }

    async fn send(&mut self, credentials: &Credentials) -> Result<Outcome<Response>, Loss> {
        let request = &mut self.request;
        let mut headers = Cow::Borrowed(&request.headers);
        if !credentials.headers.is_empty() {
            authorized::insert(credentials, headers.to_mut())?;
        }
        let response = execute(self.session, request, &headers).await?;
        let (status, url) = (response.status(), request.url.as_str());
        self.session.note_status(status.as_u16());
        let stamp = credentials.stamp;
        if let Some(challenge) = authorized::challenge(url, status, response.headers(), stamp) {
            self.session.lock().known.challenge = Some(Box::new(challenge.clone()));
            return Ok(Outcome::Challenged(challenge, Box::pin(discard(response))));
        }
        let Some(target) = redirection(request, &response) else {
            return Ok(Outcome::Done(response));
        };
        self.redirects += 1;
        let moved = FailureCause::Status(status.as_u16());
        if self.redirects > MOST_REDIRECTS {
            return Err(permanent(moved, "the server redirected too many times"));
        }
        request.url = target
            .map_err(|why| permanent(moved, format!("a redirect was not followed: {why}")))?;
        discard(response).await;
        Ok(Outcome::Moved)
    }
}

/// Reads an unwanted body to its end, so that the connection can be reused, within limits of length and time.
pub(super) async fn discard(mut response: Response) {
    const WORTH_READING: usize = 64 * 1024;
    const WORTH_WAITING: Duration = Duration::from_secs(1);
    let rest = async {
        let mut read = 0;
        while let Ok(Some(chunk)) = response.chunk().await {
            read += chunk.len();
            if read > WORTH_READING {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(WORTH_WAITING, rest).await;
}

/// Returns the target of a redirect. A POST is repeated only if the status requires the same method.
fn redirection(request: &OutgoingRequest, response: &Response) -> Option<Result<Url, String>> {
    let followed = match response.status() {
        // Only these two keep the method: <https://www.rfc-editor.org/rfc/rfc9110#section-15.4>
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
            request.method == Method::GET
        }
        _ => return None,
    };
    if !followed {
        return Some(Err(format!(
            "it would replace the {} by a GET (status {})",
            request.method,
            response.status().as_u16()
        )));
    }
    let location = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
    Some(match location {
        Some(location) => resolve(&request.url, location),
        None => Err("it has no valid `Location` header".into()),
    })
}
