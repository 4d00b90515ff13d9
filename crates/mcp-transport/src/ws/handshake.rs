//! The upgrade of a connection from HTTP: RFC 6455 §4.1.
//!
//! tungstenite has the pieces. They are put together here since its own client logs the request with its
//! credentials, insists on a subprotocol that servers may leave out, and reads beyond the answer.

use std::{io, sync::Arc};

use bytes::{Buf as _, BytesMut};
use mcp_jsonrpc::{ErrorClass, Trouble};
use rustls::ClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::{
    handshake::{
        client::{Response, generate_key},
        derive_accept_key,
        machine::TryParse as _,
    },
    http::{HeaderName, HeaderValue, header},
};

use super::{
    WsOptions,
    address::Address,
    refused,
    socket::{Socket, failed},
};
use crate::{
    authorize::Credentials, challenge::Challenge, error::ConnectError, retry_after::retry_after,
};

/// The subprotocol to ask for. Servers that never heard of it are taken all the same.
const SUBPROTOCOL: &str = "mcp";
/// An answer with a longer head comes from no honest server.
const LONGEST_HEAD: usize = 32 << 10;

/// Why there is no WebSocket.
pub(super) enum Refusal {
    /// It wants other credentials.
    Challenged(Challenge),
    Other(ConnectError),
}

impl From<ConnectError> for Refusal {
    fn from(error: ConnectError) -> Self {
        Self::Other(error)
    }
}

/// A connection that speaks WebSocket from here on, and what it said already.
pub(super) struct Upgraded {
    pub(super) socket: Socket,
    pub(super) rest: BytesMut,
}

/// Connects and upgrades.
pub(super) async fn upgrade(
    address: &Address,
    options: &WsOptions,
    tls: Option<Arc<ClientConfig>>,
    credentials: &Credentials,
) -> Result<Upgraded, Refusal> {
    let key = generate_key();
    let request = request(address, &key, &options.headers, &credentials.headers)?;
    let patience = options.connect_timeout;
    let mut socket = Socket::open(address, tls, options.send_buffer, patience).await?;
    let failed = |error: io::Error| failed(address, &error);
    socket.write_all(&request).await.map_err(failed)?;
    socket.flush().await.map_err(failed)?;
    let mut rest = BytesMut::with_capacity(1 << 10);
    let response = loop {
        match Response::try_parse(&rest) {
            Ok(Some((length, response))) => {
                rest.advance(length);
                break response;
            }
            Ok(None) if rest.len() <= LONGEST_HEAD => {}
            Ok(None) => return Err(not_websocket(address, "its answer does not end").into()),
            Err(_) => return Err(not_websocket(address, "its answer is not HTTP/1.1").into()),
        }
        if socket.read_buf(&mut rest).await.map_err(failed)? == 0 {
            let reason = format!("{address}: the server hung up instead of answering");
            return Err(ConnectError::Unreachable { trouble: Trouble::CutOff, reason }.into());
        }
    };
    if response.status().as_u16() != 101 {
        return Err(refusal(address, &options.url, &response, credentials.stamp));
    }
    verify(address, &response, &key)?;
    Ok(Upgraded { socket, rest })
}

fn request(
    address: &Address,
    key: &str,
    headers: &[(String, String)],
    credentials: &[(String, String)],
) -> Result<Vec<u8>, ConnectError> {
    let Address { target, authority, .. } = address;
    let mut request = format!(
        "GET {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\
         Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n"
    );
    // Credentials win over a header of the same name, which may be there for want of them.
    let overridden =
        |name: &str| credentials.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let headers = headers.iter().filter(|(name, _)| !overridden(name)).chain(credentials);
    for (name, value) in headers {
        let invalid = |problem: &str| {
            ConnectError::InvalidOptions(format!("the header `{}` {problem}", name.escape_debug()))
        };
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid("has a name that cannot be sent"))?;
        if is_ours(&known) {
            return Err(invalid("belongs to the WebSocket handshake itself"));
        }
        HeaderValue::from_str(value).map_err(|_| invalid("has a value that cannot be sent"))?;
        request.extend([name, ": ", value, "\r\n"]);
    }
    request.push_str("\r\n");
    Ok(request.into_bytes())
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

/// What the RFC has clients check. A subprotocol may be left out, but another is another protocol.
fn verify(address: &Address, response: &Response, key: &str) -> Result<(), ConnectError> {
    let names = |name: &HeaderName, wanted: &str| {
        let values = response.headers().get_all(name).iter();
        let mut words = values.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
        words.any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    let value = |name: HeaderName| response.headers().get(name);
    if !names(&header::UPGRADE, "websocket") || !names(&header::CONNECTION, "upgrade") {
        return Err(not_websocket(address, "it switches to something else"));
    }
    let accept = derive_accept_key(key.as_bytes());
    if value(header::SEC_WEBSOCKET_ACCEPT).is_none_or(|value| value != accept.as_str()) {
        return Err(not_websocket(address, "it answers another request than ours"));
    }
    if value(header::SEC_WEBSOCKET_PROTOCOL).is_some_and(|value| value != SUBPROTOCOL) {
        return Err(not_websocket(address, "it chose a subprotocol other than `mcp`"));
    }
    if value(header::SEC_WEBSOCKET_EXTENSIONS).is_some() {
        return Err(not_websocket(address, "it uses an extension that was not asked for"));
    }
    Ok(())
}

fn not_websocket(address: &Address, problem: &str) -> ConnectError {
    refused(
        ErrorClass::Permanent,
        Trouble::NotMcp,
        format!("{address} is no WebSocket server as it should be: {problem}"),
    )
}

fn refusal(address: &Address, url: &str, response: &Response, stamp: u64) -> Refusal {
    let status = response.status().as_u16();
    if matches!(status, 401 | 403) {
        let mut challenge = Challenge::new(status, url);
        challenge.stamp = stamp;
        for value in response.headers().get_all(header::WWW_AUTHENTICATE) {
            if let Ok(value) = value.to_str() {
                challenge.read(value);
            }
        }
        let nonce = response.headers().get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
        challenge.dpop_nonce = nonce.map(str::to_owned);
        return Refusal::Challenged(challenge);
    }
    let (class, what) = match status {
        300..=399 => (ErrorClass::Permanent, "redirects, which is not followed"),
        404 | 410 => (ErrorClass::Permanent, "knows no such path"),
        426 => (ErrorClass::Permanent, "wants another version of WebSocket"),
        408 | 425 | 429 | 500..=599 => (ErrorClass::Transient, "cannot take us now"),
        _ => (ErrorClass::Permanent, "does not upgrade to WebSocket"),
    };
    let reason = format!("{address}: the server {what} (status {status})");
    let error = refused(class, Trouble::Status(status), reason);
    Refusal::Other(with_retry_after(error, class, response))
}

fn with_retry_after(error: ConnectError, class: ErrorClass, response: &Response) -> ConnectError {
    let ConnectError::Refused(mut loss) = error else { return error };
    if class == ErrorClass::Transient {
        loss.retry_after = retry_after(response.headers());
    }
    ConnectError::Refused(loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(headers: &[(&str, &str)], credentials: &[(&str, &str)]) -> Result<String, String> {
        let own = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let address = Address::parse("ws://localhost:1/mcp?a=b").expect("a URL");
        let request = request(&address, "key", &own(headers), &own(credentials));
        request
            .map(|bytes| String::from_utf8(bytes).expect("text"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn headers_and_credentials_go_along_and_credentials_win() {
        let text = text(
            &[("X-Team", "a"), ("Authorization", "Bearer old")],
            &[("authorization", "Bearer new")],
        );
        let text = text.expect("a request");
        assert!(text.starts_with("GET /mcp?a=b HTTP/1.1\r\nHost: localhost:1\r\n"), "{text}");
        assert!(text.ends_with("X-Team: a\r\nauthorization: Bearer new\r\n\r\n"), "{text}");
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let smuggled = text(&[("x-a", "s3cret\r\nx-b: 1")], &[]);
        assert_eq!(smuggled, Err("the header `x-a` has a value that cannot be sent".into()));
        let nameless = text(&[("x a\n", "s3cret")], &[]);
        assert_eq!(nameless, Err("the header `x a\\n` has a name that cannot be sent".into()));
        for ours in ["Host", "Sec-WebSocket-Key", "upgrade"] {
            let problem = text(&[(ours, "s3cret")], &[]).expect_err("it is ours");
            assert!(problem.ends_with("belongs to the WebSocket handshake itself"), "{problem}");
        }
    }
}
