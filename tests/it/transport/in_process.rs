//! In-process servers and linked pairs.

use std::{future::poll_fn, sync::Arc, time::Duration};

use mcp_jsonrpc::{Message, Notification};
use mcp_transport::{
    Connect as _, FailureCause, InProcess, InProcessOptions, Link, SendError,
    diagnostics::CloseReason, pair, testing::parity,
};
use serde_json::json;
use tokio::{sync::Notify, time::Instant};

use super::host::Host;

fn hello() -> Message {
    Message::Notification(Notification::new("hello", None))
}

/// Notifies when a task's state is dropped, which is when the task has ended.
struct Gone(Arc<Notify>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

async fn is_over(gone: &Notify) {
    tokio::time::timeout(Duration::from_secs(60), gone.notified()).await.expect("it ends");
}

/// A server that ignores all messages and the close.
fn stubborn() -> (InProcess, Arc<Notify>) {
    let gone = Arc::new(Notify::new());
    let told = gone.clone();
    let server = InProcess::new(move |link| {
        let guard = Gone(told.clone());
        Box::pin(async move {
            let _kept = (link, guard);
            std::future::pending::<()>().await;
        })
    });
    (server, gone)
}

#[tokio::test(start_paused = true)]
async fn in_process_server_that_ignores_close_is_dropped() {
    let (server, gone) = stubborn();
    let mut host = Host::open(&server).await;
    let start = Instant::now();
    assert_eq!(host.close().await.reason, CloseReason::Requested);
    assert_eq!(start.elapsed(), InProcessOptions::default().after_close);
    is_over(&gone).await;
}

#[tokio::test(start_paused = true)]
async fn dropped_link_ends_its_in_process_server() {
    let (server, gone) = stubborn();
    drop(server.connect().await.unwrap());
    is_over(&gone).await;
}

#[tokio::test]
async fn panic_of_an_in_process_server_fails_the_link() {
    let server = InProcess::new(|link: Link| {
        Box::pin(async move {
            let _kept = link;
            panic!("on purpose");
        })
    });
    let (_, report) = Host::open(&server).await.end().await;
    let reason = "the other end panicked".into();
    assert_eq!(report.reason, CloseReason::Failed { cause: FailureCause::Other, reason });
}

#[tokio::test]
async fn close_reason_names_the_side_that_closed() {
    let (host, server) = pair();
    let (mut host, mut server) = (Host::over(host), Host::over(server));
    server.outlet.send(hello()).unwrap();
    server.outlet.close();
    let (words, report) = host.end().await;
    assert_eq!(words, ["hello"]);
    assert_eq!(report.reason, CloseReason::Ended);
    assert_eq!(server.end().await.1.reason, CloseReason::Requested);
}

#[tokio::test]
async fn messages_that_can_still_be_received_count_as_sent() {
    let (host, server) = pair();
    let (mut host, mut server) = (Host::over(host), Host::over(server));
    let ticket = host.outlet.send(hello()).unwrap();
    assert_eq!(host.close().await.flushed, ticket);
    assert_eq!(server.next().await, "hello");
}

#[tokio::test]
async fn messages_without_a_receiver_do_not_count_as_sent() {
    let (host, server) = pair();
    let mut host = Host::over(host);
    host.outlet.send(hello()).unwrap();
    drop(server);
    let report = host.end().await.1;
    assert_eq!((report.reason, report.flushed), (CloseReason::Ended, 0));
}

#[tokio::test]
async fn unread_flood_is_refused_at_the_queue_limit() {
    let (host, _server) = pair();
    let refused = (0..1_000_000).find_map(|_| host.outlet.send(hello()).err());
    assert!(matches!(refused, Some(SendError::Full { .. })), "{refused:?}");
}

#[tokio::test]
async fn blocked_sender_is_woken_when_the_link_ends() {
    let (host, server) = pair();
    while host.outlet.send(hello()).is_ok() {}
    let outlet = host.outlet.clone();
    let waiting = tokio::spawn(async move {
        poll_fn(|cx| outlet.poll_ready(cx)).await;
        outlet.send(hello())
    });
    tokio::task::yield_now().await;
    drop(server);
    assert_eq!(waiting.await.unwrap(), Err(SendError::Closed));
}

#[tokio::test(start_paused = true)]
async fn in_process_server_may_finish_after_close() {
    let late = Duration::from_secs(1);
    let server = InProcess::new(move |link: Link| {
        Box::pin(async move {
            let mut host = Host::over(link);
            host.end().await;
            tokio::time::sleep(late).await;
            host.tell("goodbye", &json!({}));
        })
    });
    let mut host = Host::open(&server).await;
    host.outlet.close();
    let (words, _) = host.end().await;
    assert_eq!(words, ["goodbye"]);
}

#[tokio::test]
async fn recorded_frames_of_both_directions_are_in_order() {
    let mut host = Host::open(&InProcess::new(parity::serve)).await;
    host.ask(1, "parity/echo", &json!({}));
    host.next().await;
    host.ask(2, "no/such", &json!({}));
    host.next().await;
    let frames = host.outlet.diagnostics().frames;
    let frames: Vec<String> = frames.iter().map(ToString::to_string).collect();
    assert_eq!(frames, ["→ parity/echo #1", "← result #1", "→ no/such #2", "← error #2"]);
}
