//! Servers that refuse the upgrade or answer it wrongly.

use std::time::Duration;

use mcp_transport::{ConnectError, ErrorClass, WsOptions};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{
    refused,
    server::{answering, header, listen},
};

/// A 101 response with these headers beside the required ones.
pub(super) fn switching(head: &str, more: &str) -> String {
    let accept = derive_accept_key(header(head, "sec-websocket-key").expect("a key").as_bytes());
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{more}\r\n"
    )
}

fn told(url: &str, error: &ConnectError) -> String {
    error.to_string().replace(url, "URL")
}

#[tokio::test]
async fn upgrade_status_is_mapped_to_a_class() {
    for (status, class, text) in [
        ("200 OK", ErrorClass::Permanent, "the server does not upgrade to WebSocket (status 200)"),
        (
            "302 Found",
            ErrorClass::Permanent,
            "the server redirects, which is not followed (status 302)",
        ),
        (
            "400 Bad Request",
            ErrorClass::Permanent,
            "the server does not upgrade to WebSocket (status 400)",
        ),
        (
            "401 Unauthorized",
            ErrorClass::Auth,
            "authentication failed: the server wants a login (status 401)",
        ),
        ("403 Forbidden", ErrorClass::Permanent, "the server does not allow this (status 403)"),
        ("404 Not Found", ErrorClass::Permanent, "the server has no such path (status 404)"),
        ("500 Oops", ErrorClass::Transient, "the server is temporarily unavailable (status 500)"),
    ] {
        let url = answering(move |_, _| {
            format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n<html>")
        })
        .await;
        let error = refused(WsOptions::new(&url)).await;
        assert_eq!(told(&url, &error), format!("URL: {text}"));
        assert_eq!((error.class(), error.retry_after()), (class, None), "{status}");
    }
}

#[tokio::test]
async fn retry_after_of_a_refused_upgrade_is_reported() {
    for (status, after, expected) in [
        ("429 Too Many Requests", "17", Some(17)),
        ("503 Service Unavailable", "0", Some(0)),
        ("503 Service Unavailable", "Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
        ("404 Not Found", "17", None),
    ] {
        let url =
            answering(move |_, _| format!("HTTP/1.1 {status}\r\nRetry-After: {after}\r\n\r\n"))
                .await;
        let error = refused(WsOptions::new(url)).await;
        assert_eq!(error.retry_after(), expected.map(Duration::from_secs), "{status} {after}");
    }
}

#[tokio::test]
async fn invalid_upgrade_is_rejected() {
    for (answer, problem) in [
        (
            (|head| switching(head, "Sec-WebSocket-Protocol: soap\r\n")) as fn(&str) -> String,
            "the response selects a subprotocol other than `mcp`",
        ),
        (
            |head| switching(head, "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
            "the response uses an extension that was not requested",
        ),
        (
            |_| switching("Sec-WebSocket-Key: another", ""),
            "`Sec-WebSocket-Accept` does not match the request",
        ),
        (
            |head| switching(head, "").replace("websocket", "h2c"),
            "the response switches to another protocol",
        ),
        (
            |_| "SSH-2.0-OpenSSH_9.6\r\n\r\n".into(),
            "the response is not HTTP/1.1: invalid HTTP version parsed",
        ),
        (
            |_| format!("HTTP/1.1 101 Ok\r\nX-Endless: {}", "x".repeat(100_000)),
            "the response is not HTTP/1.1: message head is too large",
        ),
    ] {
        let url = answering(move |_, head| answer(head)).await;
        let error = refused(WsOptions::new(&url)).await;
        assert_eq!(told(&url, &error), format!("URL is not a valid WebSocket server: {problem}"));
        assert_eq!(error.class(), ErrorClass::Permanent);
    }
}

#[tokio::test]
async fn missing_server_is_unreachable() {
    let (listener, url) = listen().await;
    drop(listener);
    let error = refused(WsOptions::new(&url)).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error:?}");
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(told(&url, &error).starts_with("URL: "), "{error}");

    // A server that never answers, and one that closes.
    let (listener, url) = listen().await;
    let mut options = WsOptions::new(&url);
    options.connect_timeout = Duration::from_millis(30);
    let error = refused(options).await;
    assert_eq!(told(&url, &error), "URL: no connection within 30ms");
    drop(listener);

    let url = answering(|_, _| String::new()).await;
    let error = refused(WsOptions::new(&url)).await;
    assert_eq!(told(&url, &error), "URL: the server closed the connection before it responded");
    assert_eq!(error.class(), ErrorClass::Transient);
}

#[tokio::test]
async fn invalid_options_are_rejected_before_connecting() {
    for url in ["http://localhost/", "ws://", "not a url", "ws://me:s3cret@localhost/"] {
        let error = refused(WsOptions::new(url)).await;
        assert!(matches!(error, ConnectError::InvalidOptions(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
    let mut options = WsOptions::new("wss://127.0.0.1:1/");
    options.tls.extra_roots.push(b"rubbish".to_vec());
    let error = refused(options).await;
    assert!(matches!(error, ConnectError::InvalidOptions(_)), "{error:?}");
}
