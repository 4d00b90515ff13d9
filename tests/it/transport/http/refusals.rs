//! Redirects, error statuses, invalid session ids and time limits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_client::{ClientOptions, Delivery, diagnostics::ErrorClass};
use mcp_transport::StaticHeaders;

use super::{
    bad_input::{JSON, fails_alone, fails_alone_with, options, verdict, with_a_bad_tool},
    server::Server,
    speak::{answer, call, connect_with, initialized, legacy, modern, text, to, try_connect},
};

#[tokio::test]
async fn redirect_to_another_origin_gets_no_credentials() {
    for status in [301, 302, 303, 307, 308] {
        let other = Server::start(modern).await;
        let target = other.url.clone();
        let server = with_a_bad_tool(move |exchange| {
            let target = target.clone();
            async move { exchange.answer(status, &format!("Location: {target}\r\n"), b"").await }
        })
        .await;
        let mut options = options(&server);
        options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
        let (error, _) = fails_alone_with(options).await;
        assert_eq!(verdict(&error), (Delivery::NotSent, ErrorClass::Permanent));
        assert!(error.to_string().starts_with("a redirect was not followed: it "), "{error}");
        assert_eq!(other.accepted(), 0);
    }
}

#[tokio::test]
async fn redirect_within_the_origin_is_followed() {
    for (status, to, followed) in [
        (307, "/elsewhere", true),
        (308, "elsewhere", true),
        (301, "/elsewhere", false),
        (307, "", false),
        (307, "/mcp", false),
    ] {
        let server = with_a_bad_tool(move |exchange| async move {
            if exchange.seen.path == "/elsewhere" {
                return exchange.result(text("moved")).await;
            }
            let location =
                if to.is_empty() { String::new() } else { format!("Location: {to}\r\n") };
            exchange.answer(status, &location, b"").await
        })
        .await;
        let mut options = options(&server);
        options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
        let client = connect_with(options, ClientOptions::default()).await;
        let result = call(&client, "bad").await;
        assert_eq!(result.is_ok(), followed, "{status} {to}: {result:?}");
        let asked = server.all("tools/call");
        assert!(asked.len() <= 6, "{}", asked.len());
        assert!(asked.iter().all(|seen| seen.header("authorization") == Some("Bearer s3cret")));
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    }
}

#[tokio::test]
async fn failed_status_does_not_affect_the_next_call() {
    let failed = AtomicUsize::new(0);
    let server = with_a_bad_tool(move |exchange| {
        let first = failed.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                exchange.answer(500, "content-type: text/html\r\n", b"<h1>oops</h1>").await
            } else {
                modern(exchange).await
            }
        }
    })
    .await;
    let (error, client) = fails_alone_with(options(&server)).await;
    assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Transient));
    assert!(
        error.to_string().ends_with("answered with status 500 Internal Server Error"),
        "{error}"
    );
    assert_eq!(call(&client, "bad").await.unwrap(), "hello");
    assert!(client.diagnostics().statuses.contains(&500));
}

#[tokio::test]
async fn retry_after_is_read_in_seconds_and_as_a_date() {
    for (status, value, expected) in [
        (429, "7", Some(7..=7)),
        (503, "0", Some(0..=0)),
        (503, "Fri, 31 Dec 9999 23:59:59 GMT", Some(86_400..=86_400)),
        (429, "Wed, 21 Oct 2015 07:28:00 GMT", Some(0..=0)),
        (429, "soon", None),
        (500, "7", None),
    ] {
        let server = with_a_bad_tool(move |exchange| async move {
            exchange.answer(status, &format!("Retry-After: {value}\r\n"), b"").await
        })
        .await;
        let error = fails_alone(&server).await;
        assert_eq!(error.class(), ErrorClass::Transient);
        let told = error.retry_after().map(|after| after.as_secs());
        assert!(
            match &expected {
                Some(range) => told.is_some_and(|told| range.contains(&told)),
                None => told.is_none(),
            },
            "{value}: {told:?}"
        );
        let expected = if status == 429 { Delivery::NotSent } else { Delivery::Unknown };
        assert_eq!(error.delivery(), expected, "{status}");
    }
}

/// A legacy server with this session id.
async fn with_session(id: &'static str) -> Server {
    Server::start(move |exchange| async move {
        if exchange.word() != "initialize" {
            return legacy(exchange).await;
        }
        let answer = answer(&exchange.id(), &initialized("2025-11-25")).to_string();
        exchange.answer(200, &format!("{JSON}Mcp-Session-Id: {id}\r\n"), answer.as_bytes()).await
    })
    .await
}

#[tokio::test]
async fn invalid_or_oversized_session_id_is_rejected() {
    let long: &'static str = "x".repeat(1025).leak();
    for (id, says) in [
        ("tab\there", "session id has characters"),
        ("sp ace", "session id has characters"),
        ("s\u{e9}ance", "session id has characters"),
        ("bell\x07", "lost the connection"),
        ("nul\0", "lost the connection"),
        (long, "session id is longer than"),
    ] {
        let server = with_session(id).await;
        let error = try_connect(to(&server), ClientOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains(says), "{id:?}: {error}");
        assert!(!error.to_string().contains(id), "{error}");
        // The session id is not used.
        assert_eq!(server.words(), ["server/discover", "initialize"]);
    }
}

#[tokio::test]
async fn open_stream_has_a_time_limit_only_if_configured() {
    for idle in [None, Some(Duration::from_secs(1))] {
        let server = with_a_bad_tool(|exchange| async move {
            let id = exchange.id();
            let mut events = exchange.events().await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            events.message(&answer(&id, &text("slowly"))).await;
            events.end().await
        })
        .await;
        let mut options = options(&server);
        options.post_timeout = Duration::from_secs(1);
        options.stream_idle = idle;
        let client = connect_with(options, ClientOptions::default()).await;
        let result = call(&client, "bad").await;
        if idle.is_none() {
            assert_eq!(result.unwrap(), "slowly");
            continue;
        }
        let error = result.unwrap_err();
        assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Transient));
        assert_eq!(error.to_string(), "the stream of events was silent for 1s");
    }
}
