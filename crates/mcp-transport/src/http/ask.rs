//! One request over HTTP: credentials, challenges, redirects, and what becomes of it.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use mcp_jsonrpc::{Delivery, ErrorClass, Loss, Trouble};
use url::Url;

use super::{
    answer::lost,
    client::{HttpError, Response},
    origin::{resolve, shown},
    state::Shared,
};
use crate::{
    authorize::{AuthFailure, Target},
    challenge::Challenge,
    retry_after::retry_after,
    trouble::{self, causes},
};

/// A nonce, a login and a wider scope may each cost a challenge. Who is refused once more is refused.
const MOST_CHALLENGES: u32 = 4;
const MOST_REDIRECTS: u32 = 5;

/// What to ask.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    /// How long the answer may take to begin.
    pub(super) patience: Option<Duration>,
}

impl Shared {
    /// Asks, and comes back with whatever answer is not about credentials or another place.
    pub(super) async fn ask(&self, mut ask: Ask) -> Result<Response, Loss> {
        let (mut challenges, mut redirects) = (0, 0);
        loop {
            let (headers, stamp) = self.authorize(&ask).await?;
            let response = self.execute(&ask, &headers).await?;
            let status = response.status();
            self.note_status(status.as_u16());
            if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                challenges += 1;
                let challenge = challenge(&ask.url, &response, stamp);
                self.lock().known.challenge = Some(Box::new(challenge.clone()));
                let authorizer = self.settings.options.authorizer.as_ref();
                let Some(authorizer) = authorizer.filter(|_| challenges < MOST_CHALLENGES) else {
                    return Err(refused(&challenge));
                };
                discard(response).await;
                authorizer.challenged(&challenge).await.map_err(|failure| failed(&failure))?;
            } else if let Some(target) = redirection(&ask, &response) {
                redirects += 1;
                let moved = Trouble::Status(status.as_u16());
                if redirects > MOST_REDIRECTS {
                    return Err(permanent(moved, "the server redirects in a circle"));
                }
                ask.url = target.map_err(|why| {
                    permanent(moved, format!("a redirect was not followed: {why}"))
                })?;
                discard(response).await;
            } else {
                return Ok(response);
            }
        }
    }

    /// The headers with the credentials of the moment in them, and which credentials those are.
    async fn authorize<'a>(&self, ask: &'a Ask) -> Result<(Cow<'a, HeaderMap>, u64), Loss> {
        let Some(authorizer) = &self.settings.options.authorizer else {
            return Ok((Cow::Borrowed(&ask.headers), 0));
        };
        let target = Target::new(ask.method.as_str(), ask.url.as_str());
        let credentials =
            authorizer.credentials(target).await.map_err(|failure| failed(&failure))?;
        let mut headers = ask.headers.clone();
        for (name, value) in credentials.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_str(&value);
            let (Ok(name), Ok(mut value)) = (name, value) else {
                let reason = "the credentials have characters that no header can have";
                return Err(permanent(Trouble::Credentials, reason));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok((Cow::Owned(headers), credentials.stamp))
    }

    async fn execute(&self, ask: &Ask, headers: &HeaderMap) -> Result<Response, Loss> {
        let other;
        let uri = if ask.url == self.settings.url {
            &self.settings.uri
        } else {
            let strange = |_| permanent(Trouble::Local, "the URL is too strange");
            other = ask.url.as_str().parse().map_err(strange)?;
            &other
        };
        let answer = self.client.execute(&ask.method, uri, headers, ask.body.as_ref());
        let answer = match ask.patience {
            None => answer.await,
            Some(patience) => {
                if let Ok(answer) = tokio::time::timeout(patience, answer).await {
                    answer
                } else {
                    let reason = format!("the server did not begin to answer within {patience:?}");
                    return Err(lost(Trouble::TimedOut, reason));
                }
            }
        };
        answer.map_err(|error| broken(&ask.url, &error))
    }
}

/// Reads a body nobody wants to its end, so that the connection can be used again, unless it is long in any way.
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

fn challenge(url: &Url, response: &Response, stamp: u64) -> Challenge {
    let mut challenge = Challenge::new(response.status().as_u16(), url.as_str());
    for header in response.headers().get_all(header::WWW_AUTHENTICATE) {
        challenge.read(&String::from_utf8_lossy(header.as_bytes()));
    }
    let nonce = response.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
    challenge.dpop_nonce = nonce.map(str::to_owned);
    challenge.stamp = stamp;
    challenge
}

/// Where a redirect leads. A POST is repeated only where the server says that it is to stay one.
fn redirection(ask: &Ask, response: &Response) -> Option<Result<Url, String>> {
    let followed = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
            ask.method == Method::GET
        }
        _ => return None,
    };
    if !followed {
        return Some(Err(format!(
            "it would not stay a {} (status {})",
            ask.method,
            response.status().as_u16()
        )));
    }
    let location = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
    Some(match location {
        Some(location) => resolve(&ask.url, location),
        None => Err("it leads nowhere".into()),
    })
}

/// A refusal by status, for want of credentials.
fn refused(challenge: &Challenge) -> Loss {
    let reason = if challenge.status == 401 {
        "authentication failed: the server wants a login (status 401)"
    } else if challenge.param("error") == Some("insufficient_scope") {
        "authentication failed: the login does not cover this (status 403)"
    } else {
        let reason = "the server does not allow this (status 403)";
        return permanent(Trouble::Status(challenge.status), reason);
    };
    Loss::new(Delivery::NotSent, ErrorClass::Auth, Trouble::Credentials, reason)
}

fn failed(failure: &AuthFailure) -> Loss {
    let reason = failure.message.as_str();
    Loss::new(Delivery::NotSent, failure.class, Trouble::Credentials, reason)
}

fn permanent(trouble: Trouble, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(Delivery::NotSent, ErrorClass::Permanent, trouble, reason)
}

/// A request that did not get through, or whose answer did not.
pub(super) fn broken(url: &Url, error: &HttpError) -> Loss {
    let delivery = if error.is_connect() { Delivery::NotSent } else { Delivery::Unknown };
    let what = if error.is_connect() { "could not connect to" } else { "lost the connection to" };
    let class = if distrusts(error) { ErrorClass::Permanent } else { ErrorClass::Transient };
    let trouble = trouble::of(error);
    if error.is_hang_up() {
        let reason =
            format!("{what} {}: the server hung up before its answer was complete", shown(url));
        return Loss::new(delivery, class, trouble, reason);
    }
    // The innermost cause says most, and none of them names the URL, whose query may be secret.
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    Loss::new(delivery, class, trouble, format!("{what} {}: {cause}", shown(url)))
}

/// Whether the server's certificate is at fault, which no waiting will mend.
fn distrusts(error: &HttpError) -> bool {
    causes(error)
        .any(|cause| matches!(cause.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))))
}

/// A refusal by status, for any other reason.
pub(super) fn by_status(url: &Url, response: &Response) -> Loss {
    let status = response.status();
    let (delivery, class) = match status.as_u16() {
        408 | 425 | 429 => (Delivery::NotSent, ErrorClass::Transient),
        500..=599 => (Delivery::Unknown, ErrorClass::Transient),
        300..=499 => (Delivery::NotSent, ErrorClass::Permanent),
        _ => (Delivery::Unknown, ErrorClass::Permanent),
    };
    let reason = status.canonical_reason().unwrap_or("unknown status");
    let mut loss = Loss::new(
        delivery,
        class,
        Trouble::Status(status.as_u16()),
        format!("{} answered with status {} {reason}", shown(url), status.as_u16()),
    );
    if matches!(status.as_u16(), 429 | 503) {
        loss.retry_after = retry_after(response.headers());
    }
    loss
}
