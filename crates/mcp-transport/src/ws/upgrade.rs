//! The upgrade of a connection from HTTP: <https://www.rfc-editor.org/rfc/rfc6455#section-4.1>.
//!
//! The connection and the exchange are those of [`net`](crate::net), the key and its check those of tungstenite. The
//! headers are checked here because tungstenite's client logs the request with its credentials and requires a
//! subprotocol, which servers may omit.

use std::error::Error;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use hyper_util::rt::TokioIo;
use mcp_jsonrpc::{Delivery, ErrorClass, FailureCause, Loss};
use rustls::AlertDescription;
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};

use super::{address::Address, options::WsOptions};
use crate::{
    authorize::{Credentials, Target},
    cause::{self, causes},
    error::ConnectError,
    net::{
        authorized::{self, Attempt, Outcome},
        connector::Connector,
        stream::Stream,
        upgrade::{Upgraded, upgrade},
    },
    retry_after::retry_after,
};

/// The subprotocol to request. A server may omit it.
const SUBPROTOCOL: &str = "mcp";

/// An upgrade that can be retried with other credentials.
pub(super) struct Upgrade<'a> {
    pub(super) address: &'a Address,
    pub(super) options: &'a WsOptions,
    pub(super) connector: &'a Connector,
}

impl Attempt for Upgrade<'_> {
    type Response = (TokioIo<Stream>, Bytes);
    type Error = ConnectError;

    fn target(&self) -> Target<'_> {
        Target::new("GET", &self.options.url)
    }

    async fn send(
        &mut self,
        credentials: &Credentials,
    ) -> Result<Outcome<Self::Response>, ConnectError> {
        let key = generate_key();
        let headers = headers(&key, &self.options.headers, credentials)?;
        let exchange = upgrade(self.connector, &self.address.uri, headers);
        let exchange = tokio::time::timeout(self.options.connect_timeout, exchange).await;
        let (response, upgraded) = match exchange {
            Ok(Ok(exchanged)) => exchanged,
            Ok(Err(problem)) => return Err(self.failed(&*problem)),
            Err(_) => return Err(self.timed_out()),
        };
        // A response other than 101 is handled like any other HTTP response: <https://www.rfc-editor.org/rfc/rfc6455#section-4.1>
        let Some(Upgraded { stream, rest }) = upgraded else {
            let (status, url) = (response.status(), &self.options.url);
            let stamp = credentials.stamp;
            return match authorized::challenge(url, status, response.headers(), stamp) {
                // The connection is closed already.
                Some(challenge) => {
                    Ok(Outcome::Challenged(challenge, Box::pin(std::future::ready(()))))
                }
                None => Err(self.refused_by_status(&response)),
            };
        };
        self.verify(&response, &key)?;
        Ok(Outcome::Done((stream, rest)))
    }

    fn refused(&self, mut loss: Loss) -> ConnectError {
        loss.reason = format!("{}: {}", self.address, loss.reason).into();
        loss.into()
    }
}

impl Upgrade<'_> {
    /// Performs the checks that <https://www.rfc-editor.org/rfc/rfc6455#section-4.1> requires. The server may omit the
    /// subprotocol, but must not choose another one.
    fn verify(&self, response: &Response<()>, key: &str) -> Result<(), ConnectError> {
        let names = |name: &HeaderName, wanted: &str| {
            let values = response.headers().get_all(name).iter();
            let mut words =
                values.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
            words.any(|word| word.trim().eq_ignore_ascii_case(wanted))
        };
        let value = |name: HeaderName| response.headers().get(name);
        if !names(&header::UPGRADE, "websocket") || !names(&header::CONNECTION, "upgrade") {
            return Err(self.not_websocket("the response switches to another protocol"));
        }
        let accept = derive_accept_key(key.as_bytes());
        if value(header::SEC_WEBSOCKET_ACCEPT).is_none_or(|value| value != accept.as_str()) {
            return Err(self.not_websocket("`Sec-WebSocket-Accept` does not match the request"));
        }
        if value(header::SEC_WEBSOCKET_PROTOCOL).is_some_and(|value| value != SUBPROTOCOL) {
            return Err(self.not_websocket("the response selects a subprotocol other than `mcp`"));
        }
        if value(header::SEC_WEBSOCKET_EXTENSIONS).is_some() {
            return Err(self.not_websocket("the response uses an extension that was not requested"));
        }
        Ok(())
    }

    fn not_websocket(&self, problem: &str) -> ConnectError {
        let reason = format!("{} is not a valid WebSocket server: {problem}", self.address);
        permanent(FailureCause::NotMcp, reason).into()
    }

    fn refused_by_status(&self, response: &Response<()>) -> ConnectError {
        let status = response.status().as_u16();
        let (class, what) = match status {
            300..=399 => (ErrorClass::Permanent, "redirects, which is not followed"),
            404 | 410 => (ErrorClass::Permanent, "has no such path"),
            426 => (ErrorClass::Permanent, "requires another version of WebSocket"),
            408 | 425 | 429 | 500..=599 => (ErrorClass::Transient, "is temporarily unavailable"),
            _ => (ErrorClass::Permanent, "does not upgrade to WebSocket"),
        };
        let reason = format!("{}: the server {what} (status {status})", self.address);
        let mut loss = Loss::new(Delivery::NotSent, class, FailureCause::Status(status), reason);
        if class == ErrorClass::Transient {
            loss.retry_after = retry_after(response.headers());
        }
        loss.into()
    }

    fn timed_out(&self) -> ConnectError {
        let patience = self.options.connect_timeout;
        self.unreachable(FailureCause::TimedOut, &format!("no connection within {patience:?}"))
    }

    fn unreachable(&self, cause: FailureCause, why: &str) -> ConnectError {
        ConnectError::Unreachable { cause, reason: format!("{}: {why}", self.address) }
    }

    /// Returns the error for a failed exchange. If one side does not trust the other, a retry does not help.
    fn failed(&self, problem: &(dyn Error + 'static)) -> ConnectError {
        let cause = cause::of(problem);
        if let Some(error) = causes(problem).find_map(|source| source.downcast_ref()) {
            let why = format!("TLS failed: {error}");
            return match error {
                rustls::Error::AlertReceived(AlertDescription::InternalError) => {
                    self.unreachable(cause, &why)
                }
                _ => permanent(cause, format!("{}: {why}", self.address)).into(),
            };
        }
        if let Some(error) =
            causes(problem).find_map(|source| source.downcast_ref::<hyper::Error>())
        {
            if error.is_parse() {
                return self.not_websocket(&format!("the response is not HTTP/1.1: {error}"));
            }
            if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
                return self
                    .unreachable(cause, "the server closed the connection before it responded");
            }
        }
        // The innermost source is the most specific. None of the causes contains the URL, which may have a secret in
        // its query.
        let source = causes(problem).last().map(ToString::to_string).unwrap_or_default();
        match cause {
            FailureCause::TimedOut => self.timed_out(),
            FailureCause::UnknownHost => {
                self.unreachable(cause, &format!("the host is not known: {source}"))
            }
            _ => self.unreachable(cause, &source),
        }
    }
}

fn permanent(cause: FailureCause, reason: String) -> Loss {
    Loss::new(Delivery::NotSent, ErrorClass::Permanent, cause, reason)
}

/// Builds the headers of the upgrade. Credentials replace headers of the same name, and those of the handshake
/// replace both.
fn headers(
    key: &str,
    own: &[(String, String)],
    credentials: &Credentials,
) -> Result<HeaderMap, ConnectError> {
    let mut headers = HeaderMap::new();
    for (name, value) in own {
        let invalid = |problem: &str| {
            ConnectError::InvalidOptions(format!("the header `{}` {problem}", name.escape_debug()))
        };
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid("has a name that cannot be sent"))?;
        if is_ours(&name) {
            return Err(invalid("belongs to the WebSocket handshake itself"));
        }
        let mut value =
            HeaderValue::from_str(value).map_err(|_| invalid("has a value that cannot be sent"))?;
        // Headers of the configuration often contain keys.
        value.set_sensitive(true);
        headers.append(name, value);
    }
    authorized::insert(credentials, &mut headers)?;
    let key = HeaderValue::from_str(key).map_err(|error| {
        ConnectError::InvalidOptions(format!("the key of the handshake cannot be sent: {error}"))
    })?;
    headers.insert(header::SEC_WEBSOCKET_KEY, key);
    for (name, value) in [
        (header::CONNECTION, "Upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
        (header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(headers)
}

fn is_ours(name: &HeaderName) -> bool {
    let ours = [
        header::HOST,
        header::CONNECTION,
        header::UPGRADE,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
    ];
    ours.contains(name) || name.as_str().starts_with("sec-websocket-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(own: &[(&str, &str)], credentials: &[(&str, &str)]) -> Result<HeaderMap, String> {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let credentials = Credentials { headers: pairs(credentials), ..Credentials::default() };
        headers("key", &pairs(own), &credentials).map_err(|error| error.to_string())
    }

    #[test]
    fn headers_and_credentials_go_along_and_credentials_win() {
        let headers = sent(
            &[("X-Team", "a"), ("Authorization", "Bearer old")],
            &[("authorization", "Bearer new"), ("sec-websocket-key", "mine")],
        );
        let headers = headers.expect("headers");
        assert_eq!(headers["x-team"], "a");
        assert_eq!(headers.get_all("authorization").iter().collect::<Vec<_>>(), ["Bearer new"]);
        assert_eq!(headers["sec-websocket-key"], "key");
        assert_eq!(headers.len(), 7);
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let smuggled = sent(&[("x-a", "s3cret\r\nx-b: 1")], &[]);
        assert_eq!(
            smuggled.expect_err("two lines"),
            "the header `x-a` has a value that cannot be sent"
        );
        let nameless = sent(&[("x a\n", "s3cret")], &[]);
        assert_eq!(
            nameless.expect_err("a bad name"),
            "the header `x a\\n` has a name that cannot be sent"
        );
        for ours in ["Host", "Sec-WebSocket-Key", "upgrade"] {
            let problem = sent(&[(ours, "s3cret")], &[]).expect_err("it is ours");
            assert!(problem.ends_with("belongs to the WebSocket handshake itself"), "{problem}");
        }
    }
}
