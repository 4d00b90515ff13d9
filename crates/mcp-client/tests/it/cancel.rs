//! Cancellation by dropping and by timeout, and the effect of progress on timeouts.

use std::{
    future::Future as _,
    sync::{Arc, Mutex},
    task::{Context, Waker},
    time::Duration,
};

use futures::StreamExt as _;
use mcp_client::{
    CallError, CallOptions, ClientOptions, Delivery, ProgressStream, ServerEvent, rpc::Failure,
};
use mcp_jsonrpc::Refused;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Host, legacy, modern, params, settled, told};

const DONE: &str = r#"{"content":[]}"#;

fn limits(idle: u64, total: u64) -> CallOptions {
    let mut options = CallOptions::default();
    options.idle_timeout = Some(Duration::from_secs(idle));
    options.total_timeout = Some(Duration::from_secs(total));
    options
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_cancels_it_once_and_its_late_answer_is_ignored() {
    let host = Host::default();
    for is_modern in [true, false] {
        let (client, mut server) =
            if is_modern { modern(host.options()).await } else { legacy(host.options()).await };
        let call = tokio::select! {
            _ = client.call_tool("slow", &()) => unreachable!("it ended without a response"),
            call = server.request("tools/call") => call,
        };
        let cancelled = server.notification("notifications/cancelled").await;
        assert_eq!(told(&cancelled)["requestId"], json!(call.id.as_integer()));
        server.answer(&call, DONE);
        server.progress(&call, 1.0);
        // The session continues, and no event is reported.
        let (pong, ()) = tokio::join!(client.ping(), async {
            let method = if is_modern { "server/discover" } else { "ping" };
            let ping = server.request(method).await;
            server.answer(&ping, "{}");
        });
        pong.unwrap();
        assert_eq!(server.unread().await, [""; 0]);
        assert_eq!(host.heard(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_answered_is_not_cancelled() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let mut call = std::future::IntoFuture::into_future(client.call_tool("quick", &()));
    tokio::select! {
        _ = &mut call => unreachable!("it ended before the response"),
        request = server.request("tools/call") => server.answer(&request, DONE),
    }
    settled().await;
    drop(call);
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn idle_timeout_cancels_the_call_and_names_both_limits() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let began = Instant::now();
    let (result, call) = tokio::join!(client.call_tool("slow", &()), async {
        let call = server.request("tools/call").await;
        let cancelled = server.notification("notifications/cancelled").await;
        assert_eq!(told(&cancelled)["requestId"], json!(call.id.as_integer()));
        call
    });
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`tools/call` timed out: no response or progress for 120s (total limit: 600s)"
    );
    assert_eq!(error.delivery(), Delivery::Unknown);
    assert_eq!(began.elapsed().as_secs(), 120);
    // Ignored: the response is late.
    server.answer(&call, DONE);
    assert_eq!(server.unread().await, [""; 0]);
    assert!(!client.is_closed());
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_idle_timeout_but_not_the_total() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let began = Instant::now();
    let (result, ()) = tokio::join!(client.call_tool("slow", &()).with(limits(10, 25)), async {
        let call = server.request("tools/call").await;
        for step in 1..=3 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            server.progress(&call, f64::from(step) * 0.5);
        }
        server.notification("notifications/cancelled").await;
    });
    let error = result.unwrap_err();
    assert!(
        matches!(error, CallError::Failed { failure: Failure::TimedOut(timeout), .. } if timeout.in_total),
        "{error}"
    );
    assert_eq!(began.elapsed().as_secs(), 25);
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_only_its_call_and_the_handler() {
    let host = Host::default();
    let (client, mut server) = modern(host.options()).await;
    let mut options = CallOptions::default();
    let progress = ProgressStream::of(&mut options);
    let (result, reports, ()) = tokio::join!(
        client.call_tool("build", &()).with(options),
        progress.collect::<Vec<_>>(),
        async {
            let call = server.request("tools/call").await;
            let token = &params(&call)["_meta"]["progressToken"];
            for params in [
                format!(r#"{{"progressToken":{token},"progress":0.5}}"#),
                // Tokens of another request, and one that is not a number.
                format!(r#"{{"progressToken":"{token}","progress":0.6}}"#),
                r#"{"progressToken":999,"progress":0.7}"#.to_owned(),
                format!(r#"{{"progressToken":{token},"progress":"most"}}"#),
                format!(
                    r#"{{"progressToken":{token},"progress":3,"total":4,"message":"linking"}}"#
                ),
            ] {
                server.tell("notifications/progress", &params);
            }
            server.answer(&call, DONE);
            server.progress(&call, 9.0);
        }
    );
    result.unwrap();
    let shown: Vec<_> =
        reports.iter().map(|p| (p.progress, p.total, p.message.as_deref())).collect();
    assert_eq!(shown, [(0.5, None, None), (3.0, Some(4.0), Some("linking"))]);
    settled().await;
    let calls: Vec<_> = host
        .heard()
        .into_iter()
        .map(|event| match event {
            ServerEvent::Progress { call, progress } => format!("{call} {}", progress.progress),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(calls, ["tools/call build 0.5", "tools/call build 3"]);
}

#[tokio::test(start_paused = true)]
async fn quick_request_uses_the_request_timeout() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let began = Instant::now();
    let (listing, ()) = tokio::join!(client.list_tools(), async {
        server.request("tools/list").await;
        server.notification("notifications/cancelled").await;
    });
    assert!(matches!(
        listing.unwrap_err(),
        CallError::Failed { method: Some("tools/list"), failure: Failure::TimedOut(_), .. }
    ));
    assert_eq!(began.elapsed().as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn later_call_with_shorter_timeout_expires_first() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let call = |name: &'static str, seconds| {
        let (client, order) = (&client, order.clone());
        async move {
            client.call_tool(name, &()).with(limits(seconds, 600)).await.unwrap_err();
            order.lock().unwrap().push(name);
        }
    };
    tokio::join!(call("long", 50), call("short", 5), async {
        for _ in 0..2 {
            server.request("tools/call").await;
        }
    });
    assert_eq!(*order.lock().unwrap(), ["short", "long"]);
}

#[tokio::test(start_paused = true)]
async fn blocked_server_delays_callers_until_their_timeout() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    // More than the link queues for a server that does not read.
    let calls = (0..1_100)
        .map(|_| async { client.call_tool("t", &()).with(limits(5, 5)).await.unwrap_err() });
    let errors = futures::future::join_all(calls).await;
    let unsent = errors.iter().filter(|error| error.delivery() == Delivery::NotSent).count();
    assert_eq!(unsent, 1_100 - 1_024);
    let error = errors.iter().find(|error| error.delivery() == Delivery::NotSent).unwrap();
    assert!(error.to_string().starts_with("the server does not read its input"), "{error}");
    // Calls succeed once the server reads again.
    assert_eq!(server.unread().await.len(), 2 * 1_024);
    let (pong, ()) = tokio::join!(client.ping(), async {
        let ping = server.request("server/discover").await;
        server.answer(&ping, "{}");
    });
    pong.unwrap();
}

#[tokio::test(start_paused = true)]
async fn blocked_caller_proceeds_when_the_queue_drains() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let calls = futures::future::join_all(
        (0..3_000).map(|_| async { client.call_tool("t", &()).await.map(|result| result.text()) }),
    );
    let (results, ()) = tokio::join!(calls, async {
        for _ in 0..3_000 {
            let call = server.request("tools/call").await;
            server.answer(&call, r#"{"content":[{"type":"text","text":"ok"}]}"#);
        }
    });
    assert!(results.into_iter().all(|result| result.unwrap() == "ok"));
}

#[tokio::test(start_paused = true)]
async fn concurrent_client_calls_are_bounded() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let mut waiting: Vec<_> = (0..65_536).map(|_| Box::pin(client.ping())).collect();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(waiting.iter_mut().all(|call| call.as_mut().poll(&mut cx).is_pending()));
    let error = client.ping().await.unwrap_err();
    assert!(
        matches!(
            error,
            CallError::Failed {
                failure: Failure::Refused(Refused::TooManyCalls { limit: 65_536 }),
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(error.delivery(), Delivery::NotSent);
    drop(waiting);
    server.unread().await;
    let (pong, ()) = tokio::join!(client.ping(), async {
        let ping = server.request("server/discover").await;
        server.answer(&ping, "{}");
    });
    pong.unwrap();
}

#[tokio::test(start_paused = true)]
async fn idle_timeout_does_not_expire_while_the_user_is_asked() {
    let mut host = Host::offering(|offered| offered.elicitation_form = true);
    host.takes = Duration::from_secs(300);
    let (client, mut server) = legacy(host.options()).await;
    let (result, ()) = tokio::join!(client.call_tool("book", &()), async {
        let call = server.request("tools/call").await;
        server.ask("q", "elicitation/create", r#"{"message":"When?"}"#);
        server.answer_to("q").await.unwrap();
        tokio::time::sleep(Duration::from_secs(100)).await;
        server.answer(&call, DONE);
    });
    result.unwrap();

    // The total timeout still applies.
    host.is_away = true;
    let (client, mut server) = legacy(host.options()).await;
    let began = Instant::now();
    let (result, ()) = tokio::join!(client.call_tool("book", &()), async {
        server.request("tools/call").await;
        server.ask("q", "elicitation/create", r#"{"message":"When?"}"#);
        server.notification("notifications/cancelled").await;
    });
    assert!(
        matches!(result.unwrap_err(), CallError::Failed { failure: Failure::TimedOut(timeout), .. } if timeout.in_total)
    );
    assert_eq!(began.elapsed().as_secs(), 600);
}
