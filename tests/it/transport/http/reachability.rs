//! A server whose process has ended is reported as a closed connection, as on the other transports.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mcp_client::{
    Client, ClientOptions, Delivery,
    diagnostics::{ErrorClass, FailureCause},
};
use mcp_transport::diagnostics::CloseReason;

use super::{
    server::Server,
    speak::{call, connect, legacy, modern, to, try_connect},
};
use crate::client::support::soon;

async fn closed(client: &Client) -> CloseReason {
    soon("the end of the link", client.closed()).await.reason.clone()
}

fn is_refused(reason: &CloseReason) -> bool {
    matches!(reason, CloseReason::Failed { cause: FailureCause::Refused, .. })
}

/// A server of either era.
async fn of_era(is_modern: bool) -> Server {
    if is_modern { Server::start(modern).await } else { Server::start(legacy).await }
}

#[tokio::test]
async fn call_to_a_server_that_has_ended_closes_the_link() {
    for is_modern in [true, false] {
        let server = of_era(is_modern).await;
        let client = connect(&server).await;
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
        server.stop().await;
        let error = call(&client, "echo").await.unwrap_err();
        let verdict = (error.delivery(), error.class());
        assert_eq!(verdict, (Delivery::NotSent, ErrorClass::Transient), "{error}");
        assert!(error.to_string().starts_with("could not connect to http://"), "{error}");
        let reason = closed(&client).await;
        assert!(is_refused(&reason), "{reason:?}");
    }
}

#[tokio::test]
async fn ping_of_a_server_that_has_ended_closes_the_link() {
    for is_modern in [true, false] {
        let server = of_era(is_modern).await;
        let client = connect(&server).await;
        client.ping().await.unwrap();
        server.stop().await;
        assert!(client.ping().await.is_err());
        let reason = closed(&client).await;
        assert!(is_refused(&reason), "{reason:?}");
    }
}

#[tokio::test]
async fn call_in_flight_is_cut_off_when_the_server_ends() {
    let server = Server::start(|exchange| async move {
        match exchange.params()["name"].as_str() {
            Some("never") => exchange.events().await.gone().await,
            _ => modern(exchange).await,
        }
    })
    .await;
    let client = connect(&server).await;
    let (pending, ()) = tokio::join!(call(&client, "never"), async {
        server.sees("tools/call", 1).await;
        server.stop().await;
    });
    let pending = pending.unwrap_err();
    assert_eq!((pending.delivery(), pending.class()), (Delivery::Unknown, ErrorClass::Transient));
    assert_eq!(pending.cause(), FailureCause::CutOff);
    assert!(call(&client, "echo").await.is_err());
    assert!(is_refused(&closed(&client).await));
}

/// The stream of a legacy server breaks with its process, so that the end is noticed without a call.
#[tokio::test]
async fn broken_server_stream_of_a_server_that_has_ended_closes_the_link() {
    let server = Server::start(|exchange| async move {
        if exchange.word() == "GET" {
            return exchange.events().await.gone().await;
        }
        legacy(exchange).await
    })
    .await;
    let client = connect(&server).await;
    server.sees("GET", 1).await;
    server.stop().await;
    let reason = closed(&client).await;
    assert!(is_refused(&reason), "{reason:?}");
}

/// A server that closes the connection on calls while `is_broken`.
async fn fragile(is_broken: Arc<AtomicBool>) -> Server {
    Server::start(move |exchange| {
        let hangs_up = is_broken.load(Ordering::SeqCst) && exchange.word() == "tools/call";
        async move { if hangs_up { exchange.raw(b"").await } else { modern(exchange).await } }
    })
    .await
}

#[tokio::test]
async fn one_cut_off_call_does_not_close_the_link() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let server = fragile(is_broken.clone()).await;
    let client = connect(&server).await;
    let calls = (0..10).map(|_| call(&client, "echo"));
    for failed in futures::future::join_all(calls).await {
        assert_eq!(failed.unwrap_err().cause(), FailureCause::CutOff);
    }
    is_broken.store(false, Ordering::SeqCst);
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn third_cut_off_call_in_a_row_closes_the_link() {
    let server = fragile(Arc::new(AtomicBool::new(true))).await;
    let client = connect(&server).await;
    for _ in 0..3 {
        assert!(!client.is_closed());
        assert!(call(&client, "echo").await.is_err());
    }
    let reason = closed(&client).await;
    assert!(
        matches!(reason, CloseReason::Failed { cause: FailureCause::CutOff, .. }),
        "{reason:?}"
    );
    drop(server);
}

#[tokio::test]
async fn server_that_answers_503_is_reachable() {
    let server = Server::start(|exchange| async move {
        if exchange.word() == "tools/call" {
            exchange.status(503).await
        } else {
            modern(exchange).await
        }
    })
    .await;
    let client = connect(&server).await;
    for _ in 0..5 {
        assert_eq!(call(&client, "echo").await.unwrap_err().cause(), FailureCause::Status(503));
    }
    assert!(!client.is_closed());
    client.ping().await.unwrap();
}

#[tokio::test]
async fn server_that_was_never_reached_fails_the_handshake() {
    let server = Server::start(modern).await;
    let options = to(&server);
    server.stop().await;
    let error = try_connect(options, ClientOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("could not connect to"), "{error}");
}
