//! The credential loop: obtain credentials, send the request, handle a challenge, retry.

use futures_core::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use mcp_jsonrpc::{Delivery, ErrorClass, FailureCause, Loss};

use crate::{
    authorize::{AuthFailure, Authorize, Credentials, Target},
    challenge::Challenge,
};

/// A nonce, a login and a wider scope may each need a challenge. One more is a refusal.
const MOST_CHALLENGES: u32 = 4;
/// The error code of a challenge that only requires another nonce.
const NONCE_WANTED: &str = "use_dpop_nonce";

/// A request that can be sent again with other credentials.
pub(crate) trait Attempt {
    type Response;
    type Error: From<Loss>;

    fn target(&self) -> Target<'_>;

    /// Sends the request with `credentials`.
    async fn send(
        &mut self,
        credentials: &Credentials,
    ) -> Result<Outcome<Self::Response>, Self::Error>;

    /// The error for a request that was refused with all available credentials.
    fn refused(&self, loss: Loss) -> Self::Error {
        loss.into()
    }
}

pub(crate) enum Outcome<R> {
    Done(R),
    /// The server refused the credentials. The future cleans up before the next attempt.
    Challenged(Challenge, BoxFuture<'static, ()>),
    /// The target has changed after a redirect.
    #[cfg(feature = "http")]
    Moved,
}

/// Sends a request until the response is not a challenge.
pub(crate) async fn authorized<A: Attempt>(
    authorizer: Option<&dyn Authorize>,
    attempt: &mut A,
) -> Result<A::Response, A::Error> {
    let mut challenges = 0;
    let mut was_renewed = false;
    loop {
        let credentials = match authorizer {
            None => Credentials::default(),
            Some(authorizer) => authorizer.credentials(attempt.target()).await.map_err(failed)?,
        };
        let (challenge, clear_up) = match attempt.send(&credentials).await? {
            Outcome::Done(response) => return Ok(response),
            #[cfg(feature = "http")]
            Outcome::Moved => continue,
            Outcome::Challenged(challenge, clear_up) => (challenge, clear_up),
        };
        challenges += 1;
        let Some(authorizer) = authorizer.filter(|_| challenges < MOST_CHALLENGES) else {
            return Err(attempt.refused(refused(&challenge)));
        };
        clear_up.await;
        if challenge.status == 401 && challenge.param("error") != Some(NONCE_WANTED) {
            // One renewal, one repeated request.
            if was_renewed {
                return Err(failed(authorizer.refused_again(&challenge).await).into());
            }
            was_renewed = true;
        }
        authorizer.challenged(&challenge).await.map_err(failed)?;
    }
}

/// Returns the challenge in a response, if it is one.
pub(crate) fn challenge(
    url: &str,
    status: StatusCode,
    headers: &HeaderMap,
    stamp: u64,
) -> Option<Challenge> {
    if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return None;
    }
    let mut challenge = Challenge::new(status.as_u16(), url);
    for header in headers.get_all(header::WWW_AUTHENTICATE) {
        challenge.read(&String::from_utf8_lossy(header.as_bytes()));
    }
    let nonce = headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
    challenge.dpop_nonce = nonce.map(str::to_owned);
    challenge.stamp = stamp;
    Some(challenge)
}

/// Inserts credentials into the headers of a request, replacing headers of the same name.
pub(crate) fn insert(credentials: &Credentials, headers: &mut HeaderMap) -> Result<(), Loss> {
    for (name, value) in &credentials.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value)) else {
            let reason = "the credentials have characters that no header can have";
            let class = ErrorClass::Permanent;
            return Err(Loss::new(Delivery::NotSent, class, FailureCause::Credentials, reason));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(())
}

fn failed(failure: AuthFailure) -> Loss {
    Loss::new(Delivery::NotSent, failure.class, FailureCause::Credentials, failure.message)
}

/// The loss for a refused request without other credentials to try.
fn refused(challenge: &Challenge) -> Loss {
    let (class, cause, reason) = match challenge.status {
        401 => (
            ErrorClass::Auth,
            FailureCause::Credentials,
            "authentication failed: the server wants a login (status 401)",
        ),
        _ if challenge.param("error") == Some("insufficient_scope") => (
            ErrorClass::Auth,
            FailureCause::Credentials,
            "authentication failed: the login does not cover this (status 403)",
        ),
        // Some frameworks also respond with this status to an unknown path.
        status => (
            ErrorClass::Permanent,
            FailureCause::Status(status),
            "the server does not allow this (status 403)",
        ),
    };
    Loss::new(Delivery::NotSent, class, cause, reason)
}
