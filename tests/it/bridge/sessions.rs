//! Calls to a legacy Streamable HTTP server that has forgotten its sessions, over real sockets.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_bridge::{
    Bridge, CallContext, FailureKind, RawJson, ServerConfig, ServerState, ToolSpec, tool::Hints,
};
use mcp_config::{Remote, Transport, model::EraPin};
use mcp_server::{
    ServeOptions,
    http::{HttpServeOptions, HttpServer},
    testing::Scripted,
};
use mcp_tests::soon;
use tokio::net::TcpListener;

use super::{options, reached};

/// A new server with one read-only tool, and without sessions.
fn fresh() -> HttpServer {
    let mut spec = ToolSpec::new("read", "Reads.");
    spec.hints = Hints::reading();
    let scripted = Scripted::with_options(ServeOptions::new("forgetful", "1"));
    let scripted = scripted.tool_of(spec).on_any_call("read", "text");
    scripted.server().http(HttpServeOptions::default())
}

/// The server behind one address, and its URL. A new value has none of the sessions of the previous one.
async fn forgetful() -> (Arc<Mutex<HttpServer>>, String) {
    let current = Arc::new(Mutex::new(fresh()));
    let shared = current.clone();
    let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let server = shared.lock().unwrap().clone();
        async move { server.handle(request).await.map(axum::body::Body::new) }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (current, url)
}

async fn bridge(url: &str, queues: bool) -> Bridge {
    let mut options = options();
    // A session that is replaced with a delay makes the test fail.
    options.backoff.delays = vec![Duration::from_secs(3_600)];
    options.queue_while_down = queues.then_some(Duration::from_secs(60));
    let bridge = Bridge::new(options);
    let mut server = ServerConfig::new("srv".parse().unwrap(), Transport::Http(Remote::new(url)));
    server.era = Some(EraPin::Legacy);
    server.trust = true;
    bridge.add_server_as_written(server);
    soon("the start", bridge.start()).await;
    bridge
}

async fn eight_calls_after_expiry(queues: bool) {
    let (server, url) = forgetful().await;
    let bridge = bridge(&url, queues).await;
    let turn = bridge.snapshot();
    *server.lock().unwrap() = fresh();
    let calls = (0..8)
        .map(|_| turn.call("mcp__srv__read", RawJson::empty_object(), CallContext::default()));
    for outcome in soon("the calls end", futures::future::join_all(calls)).await {
        if queues {
            assert_eq!(outcome.text_content(), "text");
        } else {
            assert_eq!(outcome.failure_kind(), Some(FailureKind::Unavailable), "{outcome}");
            let text = outcome.text_content();
            assert!(text.starts_with("mcp server srv is unavailable"), "{text}");
        }
    }
    reached(&bridge, "srv", ServerState::is_connected).await;
    assert_eq!(super::call(&bridge, "mcp__srv__read").await, "text");
    assert_eq!(bridge.counters().connects, 2, "one new session for all calls");
}

#[tokio::test]
async fn eight_calls_after_session_expiry_all_fail_at_once() {
    eight_calls_after_expiry(false).await;
}

#[tokio::test]
async fn eight_queued_calls_after_session_expiry_all_wait_for_the_next_session() {
    eight_calls_after_expiry(true).await;
}
