//! Time limits of a POST: a call has the limit of its caller, other requests that of the link.

use std::{sync::Arc, time::Duration};

use mcp_client::{
    CallError, CallOptions, Client, ClientOptions, Delivery, diagnostics::ErrorClass, rpc::Failure,
};
use tokio::{sync::Notify, task::JoinHandle};

use super::{
    bad_input::{JSON, verdict},
    server::Server,
    speak::{answer, connect, connect_with, modern, text, to},
};
use crate::client::support::soon;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A server that answers `word` when notified. With `head_first` it sends the status and headers at once.
async fn slow(word: &'static str, head_first: bool) -> (Server, Arc<Notify>) {
    let go_on = Arc::new(Notify::new());
    let gate = go_on.clone();
    let server = Server::start(move |mut exchange| {
        let gate = gate.clone();
        async move {
            if exchange.word() != word {
                return modern(exchange).await;
            }
            let body = answer(&exchange.id(), &text("late")).to_string();
            let head = format!("HTTP/1.1 200 OK\r\n{JSON}content-length: {}\r\n\r\n", body.len());
            if head_first {
                exchange.write(head.as_bytes()).await;
                gate.notified().await;
                return exchange.bytes(body.as_bytes()).await;
            }
            gate.notified().await;
            exchange.bytes(format!("{head}{body}").as_bytes()).await
        }
    })
    .await;
    (server, go_on)
}

type Outcome = Result<String, CallError>;

fn start_call(client: &Client, limit: Option<Duration>) -> JoinHandle<Outcome> {
    let client = client.clone();
    let mut options = CallOptions::default();
    options.idle_timeout = limit;
    tokio::spawn(async move {
        client.call_tool("slow", &()).with(options).await.map(|result| result.text())
    })
}

/// Advances a clock that otherwise runs normally.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Waits until the client has read the head of the last response.
async fn head_is_read(client: &Client, before: usize) {
    let read = async {
        while client.diagnostics().statuses.len() == before {
            tokio::task::yield_now().await;
        }
    };
    soon("the head", read).await;
}

async fn outcome<T>(task: JoinHandle<T>) -> T {
    soon("the outcome", task).await.unwrap()
}

#[tokio::test]
async fn call_answered_after_70_seconds_succeeds() {
    for head_first in [false, true] {
        let (server, go_on) = slow("tools/call", head_first).await;
        let client = connect(&server).await;
        let before = client.diagnostics().statuses.len();
        let call = start_call(&client, None);
        server.sees("tools/call", 1).await;
        if head_first {
            head_is_read(&client, before).await;
        }
        pass(seconds(70)).await;
        go_on.notify_one();
        assert_eq!(outcome(call).await.unwrap(), "late");
    }
}

#[tokio::test]
async fn call_without_an_answer_ends_at_its_own_limit() {
    for (limit, just_before) in [(None, 119), (Some(seconds(300)), 299), (Some(seconds(5)), 4)] {
        let (server, _go_on) = slow("tools/call", false).await;
        let client = connect(&server).await;
        let call = start_call(&client, limit);
        server.sees("tools/call", 1).await;
        pass(seconds(just_before)).await;
        assert!(!call.is_finished());
        pass(seconds(2)).await;
        let error = outcome(call).await.unwrap_err();
        let is_timeout = matches!(&error, CallError::Failed { failure: Failure::TimedOut(_), .. });
        assert!(is_timeout, "{limit:?}: {error}");
    }
}

#[tokio::test]
async fn other_requests_end_after_60_seconds() {
    for (head_first, says) in [
        (false, "did not begin to respond within 60s"),
        (true, "the response stopped for 60s before it was complete"),
    ] {
        let (server, _go_on) = slow("tools/list", head_first).await;
        let mut patient = ClientOptions::default();
        patient.request_timeout = seconds(300);
        let client = connect_with(to(&server), patient).await;
        let before = client.diagnostics().statuses.len();
        let listing = tokio::spawn({
            let client = client.clone();
            async move { client.list_tools().await }
        });
        server.sees("tools/list", 1).await;
        if head_first {
            head_is_read(&client, before).await;
        }
        pass(seconds(59)).await;
        assert!(!listing.is_finished());
        pass(seconds(2)).await;
        let error = outcome(listing).await.unwrap_err();
        assert_eq!(verdict(&error), (Delivery::Unknown, ErrorClass::Transient));
        assert!(error.to_string().contains(says), "{error}");
    }
}
