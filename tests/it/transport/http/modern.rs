//! The modern era: each request is independent and described by its headers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_client::{
    CallError, CallOptions, ClientOptions, Delivery, ServerEvent, diagnostics::ErrorClass,
    request::ListenFilter, rpc::Failure, types::Era,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    server::Server,
    speak::{
        MODERN, answer, call, call_with, connect, connect_with, modern, notification, text, to,
    },
};
use crate::client::support::{Host, soon};

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

#[tokio::test]
async fn headers_mirror_the_body_of_every_request() {
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "prompts/get" => {
                exchange.result(json!({ "resultType": "complete", "messages": [] })).await
            }
            "resources/read" => {
                exchange.result(json!({ "resultType": "complete", "contents": [] })).await
            }
            _ => modern(exchange).await,
        }
    })
    .await;
    let client = connect(&server).await;
    assert_eq!(client.era(), Era::Modern);
    client.list_tools().await.unwrap();
    call(&client, "plain name").await.unwrap();
    call(&client, "Hello, 世界").await.unwrap();
    client.get_prompt(" padded ", &BTreeMap::new()).await.unwrap();
    client.read_resource("file:///a%20b/ü").await.unwrap();
    let asked: Vec<_> = server
        .seen()
        .iter()
        .map(|seen| {
            let params = &seen.message()["params"];
            assert_eq!(seen.verb, "POST");
            assert_eq!(seen.header("content-type"), Some("application/json"));
            assert_eq!(seen.header("accept"), Some("application/json, text/event-stream"));
            assert_eq!(seen.header("mcp-protocol-version"), Some(MODERN));
            assert_eq!(params["_meta"][META_VERSION], MODERN);
            assert_eq!(seen.header("mcp-session-id"), None);
            assert!(seen.header("user-agent").unwrap().starts_with("mcp-transport/"));
            let method = seen.header("mcp-method").unwrap().to_owned();
            (method, seen.header("mcp-name").map(str::to_owned))
        })
        .collect();
    let named = |method: &str, name: &str| (method.to_owned(), Some(name.to_owned()));
    assert_eq!(
        asked,
        [
            ("server/discover".to_owned(), None),
            ("tools/list".to_owned(), None),
            named("tools/call", "plain name"),
            named("tools/call", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            named("prompts/get", "=?base64?IHBhZGRlZCA=?="),
            named("resources/read", "=?base64?ZmlsZTovLy9hJTIwYi/DvA==?="),
        ]
    );
}

fn annotated(name: &str, properties: &Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

#[tokio::test]
async fn annotated_arguments_are_sent_as_headers() {
    let server = Server::start(|exchange| async move {
        if exchange.word() != "tools/list" {
            return modern(exchange).await;
        }
        let good = json!({
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": {
                "count": { "type": "integer", "x-mcp-header": "Count" },
                "dry": { "type": "boolean", "x-mcp-header": "Dry-Run" },
            } },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
        });
        let bad = json!({ "a": { "type": "number", "x-mcp-header": "A" } });
        let tools = json!([
            annotated("good", &good),
            annotated("bad", &bad),
            annotated("plain", &json!({}))
        ]);
        exchange.result(json!({ "resultType": "complete", "tools": tools })).await
    })
    .await;
    let client = connect(&server).await;
    let listing = client.list_tools().await.unwrap();
    let names: Vec<_> = listing.items.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "plain"]);
    assert_eq!(listing.rejected[0].name.as_deref(), Some("bad"));

    let arguments =
        json!({ "region": "zürich", "deep": { "count": -7, "dry": true }, "absent": null });
    call_with(&client, "good", arguments).await.unwrap();
    let seen = server.only("tools/call");
    assert_eq!(seen.header("mcp-param-region"), Some("=?base64?esO8cmljaA==?="));
    assert_eq!(seen.header("mcp-param-count"), Some("-7"));
    assert_eq!(seen.header("mcp-param-dry-run"), Some("true"));
    assert_eq!(seen.header("mcp-param-absent"), None);

    // Neither a tool with an invalid annotation nor a number that does not fit a header is sent.
    for (tool, arguments) in [("bad", json!({})), ("good", json!({ "deep": { "count": 1.5 } }))] {
        let error = call_with(&client, tool, arguments).await.unwrap_err();
        assert_eq!((error.delivery(), error.class()), (Delivery::NotSent, ErrorClass::Permanent));
    }
    assert_eq!(server.all("tools/call").len(), 1);
}

#[tokio::test]
async fn header_mismatch_lists_the_tools_again_once() {
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "tools/list" => {
                let region = json!({ "region": { "type": "string", "x-mcp-header": "Region" } });
                let tools = json!([annotated("deploy", &region)]);
                exchange.result(json!({ "resultType": "complete", "tools": tools })).await
            }
            "tools/call" if exchange.seen.header("mcp-param-region").is_none() => {
                exchange.error(400, json!({ "code": -32020, "message": "header mismatch" })).await
            }
            _ => modern(exchange).await,
        }
    })
    .await;
    let client = connect(&server).await;
    assert_eq!(call_with(&client, "deploy", json!({ "region": "eu" })).await.unwrap(), "hello");
    assert_eq!(server.words()[1..], ["tools/call", "tools/list", "tools/call"]);
    let ids: Vec<_> =
        server.all("tools/call").iter().map(|seen| seen.message()["id"].clone()).collect();
    assert_ne!(ids[0], ids[1]);

    // Listing does not help if the argument is missing.
    let error = call_with(&client, "deploy", json!({})).await.unwrap_err();
    assert!(
        matches!(&error, CallError::Failed { failure: Failure::Rejected(error), .. } if error.code == -32020),
        "{error}"
    );
    assert_eq!(server.all("tools/call").len(), 4);
}

#[tokio::test]
async fn rejected_version_is_negotiated_again_once() {
    for (refusals, succeeds) in [(1, true), (2, false)] {
        let left = Arc::new(AtomicUsize::new(refusals));
        let server = Server::start(move |exchange| {
            let refuse =
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            async move {
                if refuse.is_err() {
                    return modern(exchange).await;
                }
                let data = json!({ "supported": [MODERN], "requested": MODERN });
                let error = json!({ "code": -32022, "message": "unsupported", "data": data });
                exchange.error(400, error).await
            }
        })
        .await;
        let connected = super::speak::try_connect(to(&server), ClientOptions::default()).await;
        assert_eq!(connected.is_ok(), succeeds, "{connected:?}");
        assert_eq!(server.words(), ["server/discover", "server/discover"]);
    }
}

#[tokio::test]
async fn input_rounds_are_new_requests_with_their_own_headers() {
    let server = Server::start(|exchange| async move {
        let params = exchange.params();
        if exchange.word() != "tools/call" || params["inputResponses"].is_object() {
            return modern(exchange).await;
        }
        let form = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        let ask = json!({ "method": "elicitation/create", "params": { "message": "Who?", "requestedSchema": form } });
        let interim = json!({
            "resultType": "input_required", "inputRequests": { "who": ask }, "requestState": " {\"opaque\": 1} ",
        });
        let id = exchange.id();
        let events = exchange.events().await;
        events.end_with(&format!("data: {}\n\n", answer(&id, &interim))).await
    })
    .await;
    let (host, mut diary) = Host::new();
    let client = connect_with(to(&server), host.options()).await;
    assert_eq!(call_with(&client, "greet", json!({ "a": 1 })).await.unwrap(), "hello");
    diary.is_asked("Who?").await;
    let [first, second] = &server.all("tools/call")[..] else { panic!("{:?}", server.words()) };
    assert_ne!(first.message()["id"], second.message()["id"]);
    let again = &second.message()["params"];
    assert_eq!(again["requestState"], " {\"opaque\": 1} ");
    assert_eq!(
        again["inputResponses"]["who"],
        json!({ "action": "accept", "content": { "name": "Ada" } })
    );
    assert_eq!(again["arguments"], json!({ "a": 1 }));
    assert_eq!(second.header("mcp-name"), Some("greet"));
}

#[tokio::test]
async fn dropped_call_closes_its_stream_and_sends_nothing() {
    let (gone, mut went) = mpsc::unbounded_channel();
    let server = Server::start(move |exchange| {
        let gone = gone.clone();
        async move {
            match exchange.params()["name"].as_str() {
                Some("stream") => {
                    let mut events = exchange.events().await;
                    events.text(": working\n\n").await;
                    let done = events.gone().await;
                    gone.send("stream").unwrap();
                    done
                }
                Some("silent") => {
                    let done = exchange.stall(b"").await;
                    gone.send("silent").unwrap();
                    done
                }
                _ => modern(exchange).await,
            }
        }
    })
    .await;
    let client = connect(&server).await;
    for (nth, tool) in ["stream", "silent"].into_iter().enumerate() {
        let pending = client.call_tool(tool, &());
        let given_up = tokio::select! {
            _ = pending => false,
            _ = server.sees("tools/call", nth + 1) => true,
        };
        assert!(given_up);
        assert_eq!(soon("the disconnect", went.recv()).await, Some(tool));
    }
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    assert!(server.words().iter().all(|word| !word.starts_with("notifications/")));
}

#[tokio::test]
async fn silent_stream_ends_at_the_limit_of_the_call() {
    let (gone, mut went) = mpsc::unbounded_channel();
    let server = Server::start(move |exchange| {
        let gone = gone.clone();
        async move {
            if exchange.params()["name"] != "never" {
                return modern(exchange).await;
            }
            let done = exchange.events().await.gone().await;
            gone.send(()).unwrap();
            done
        }
    })
    .await;
    let client = connect(&server).await;
    let mut options = CallOptions::default();
    options.idle_timeout = Some(Duration::from_millis(50));
    let never = soon("the limit", async { client.call_tool("never", &()).with(options).await });
    let error = never.await.unwrap_err();
    assert!(matches!(error, CallError::Failed { failure: Failure::TimedOut(_), .. }), "{error}");
    assert_eq!(error.delivery(), Delivery::Unknown);
    soon("the disconnect", went.recv()).await.unwrap();
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn lost_subscription_stream_is_reopened() {
    let (cut, cuts) = mpsc::unbounded_channel::<()>();
    let cuts = Arc::new(tokio::sync::Mutex::new(cuts));
    let server = Server::start(move |exchange| {
        let cuts = cuts.clone();
        async move {
            if exchange.word() != "subscriptions/listen" {
                return modern(exchange).await;
            }
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": exchange.id() });
            let agreed = json!({ "_meta": meta, "notifications": { "toolsListChanged": true } });
            let mut events = exchange.events().await;
            events
                .message(&notification("notifications/subscriptions/acknowledged", &agreed))
                .await;
            let changed = json!({ "_meta": meta });
            events.message(&notification("notifications/tools/list_changed", &changed)).await;
            cuts.lock().await.recv().await;
            events.cut()
        }
    })
    .await;
    let mut options = to(&server);
    // Request limits do not apply to it.
    options.post_timeout = Duration::from_secs(1);
    let client = connect_with(options, ClientOptions::default()).await;
    let mut subscription = soon("listen", client.listen(ListenFilter::lists())).await.unwrap();
    assert_eq!(soon("an event", subscription.next()).await, Some(ServerEvent::ToolsChanged));
    let quiet = tokio::time::timeout(Duration::from_millis(1500), subscription.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    // The subscription does not block other requests.
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    cut.send(()).unwrap();
    // Notifications may have been lost, so the list counts as changed; the second is the real one.
    for _ in 0..2 {
        assert_eq!(soon("an event", subscription.next()).await, Some(ServerEvent::ToolsChanged));
    }
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    assert_eq!(server.all("subscriptions/listen").len(), 2);
}

#[tokio::test]
async fn notifications_of_a_call_arrive_before_its_response() {
    let server = Server::start(|exchange| async move {
        if exchange.word() != "tools/call" {
            return modern(exchange).await;
        }
        let (id, token) = (exchange.id(), exchange.params()["_meta"]["progressToken"].clone());
        let mut events = exchange.events().await;
        for progress in 1..=3 {
            let report = json!({ "progressToken": token, "progress": progress });
            events.message(&notification("notifications/progress", &report)).await;
        }
        events.message(&answer(&id, &text("done"))).await;
        events.end().await
    })
    .await;
    let client = connect(&server).await;
    let (heard, mut reports) = mpsc::unbounded_channel();
    let mut options = CallOptions::default();
    options.on_progress = Some(Arc::new(move |progress| {
        let _ = heard.send(progress.progress);
    }));
    let result =
        soon("the call", async { client.call_tool("work", &()).with(options).await }).await;
    assert_eq!(result.unwrap().text(), "done");
    let mut seen = Vec::new();
    while let Ok(progress) = reports.try_recv() {
        seen.push(progress);
    }
    assert_eq!(seen, [1.0, 2.0, 3.0]);
}
