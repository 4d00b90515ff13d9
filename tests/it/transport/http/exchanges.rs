//! Parity scenarios that need a duplex channel, adapted to transports with one exchange per request: a broken
//! exchange fails one request, and the others continue.

use std::sync::Arc;

use mcp_client::{Client, ClientOptions};
use mcp_transport::Connect as _;
use serde_json::json;
use tokio::sync::Notify;

use super::{
    server::Server,
    speak::{answer, call, connect, http, modern, notification, text, to},
};
use crate::{client::support::soon, transport::host::Host};

#[tokio::test]
async fn responses_may_arrive_out_of_order() {
    let release = Arc::new(Notify::new());
    let server = Server::start(move |exchange| {
        let release = release.clone();
        async move {
            match exchange.params()["name"].as_str() {
                Some("held") => {
                    release.notified().await;
                    exchange.result(text("at last")).await
                }
                Some("release") => {
                    let done = modern(exchange).await;
                    release.notify_one();
                    done
                }
                _ => modern(exchange).await,
            }
        }
    })
    .await;
    let client = connect(&server).await;
    let (held, released) = tokio::join!(call(&client, "held"), async {
        server.sees("tools/call", 1).await;
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
        call(&client, "release").await
    });
    assert_eq!((held.unwrap().as_str(), released.unwrap().as_str()), ("at last", "hello"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_on_one_stream_does_not_block_or_lose_others() {
    const FLOOD: u64 = 4_000;
    let server = Server::start(|exchange| async move {
        if exchange.word() != "flood" {
            return modern(exchange).await;
        }
        let id = exchange.id();
        let mut events = exchange.events().await;
        for n in 0..FLOOD {
            events
                .message(&notification("tick", &json!({ "n": n, "filler": "x".repeat(1_000) })))
                .await;
        }
        events.end_with(&format!("data: {}\n\n", answer(&id, &json!({})))).await
    })
    .await;
    // Driven by hand, so that reading starts after all requests were sent.
    let mut host = Host::open(&http(to(&server))).await;
    host.ask(0, "flood", &json!({}));
    assert_eq!(host.next().await, "tick");
    for id in 1..=50 {
        host.ask(id, "tools/call", &json!({ "name": "echo" }));
    }
    let words = host.words(usize::try_from(FLOOD).unwrap() + 50).await;
    let ticks = words.iter().filter(|word| *word == "tick").count();
    assert_eq!(ticks as u64, FLOOD - 1);
    let last = words.iter().rposition(|word| word == "tick").unwrap();
    assert_eq!(
        words.iter().position(|word| word == "0").unwrap(),
        last + 1,
        "the answer follows its ticks"
    );
    for id in 1..=50 {
        assert!(words.contains(&id.to_string()), "{id}");
    }
    host.close().await;
}

#[tokio::test]
async fn abandoned_attempt_leaves_no_connection() {
    let server = Server::start(|exchange| async move { exchange.stall(b"").await }).await;
    let http = http(to(&server));
    let attempt = async { Client::connect(&http, ClientOptions::default()).await };
    let given_up = tokio::select! {
        _ = attempt => false,
        _ = server.sees("server/discover", 1) => true,
    };
    assert!(given_up);
    // Nor does an unused link.
    drop(http.connect().await.unwrap());
    assert_eq!(soon("the log", async { server.words() }).await, ["server/discover"]);
}
