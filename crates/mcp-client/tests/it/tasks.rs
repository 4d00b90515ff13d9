//! Calls that become tasks, in both eras.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_client::{CallError, CallOptions, Client, ClientOptions, ElicitResult, rpc::Failure};
use mcp_jsonrpc::Message;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Host, Server, legacy, modern, params, raw, settled, show, told};

const QUESTION: &str = r#"{"method":"elicitation/create","params":{"message":"Who?"}}"#;

fn task(status: &str, more: &str) -> String {
    format!(
        r#"{{"resultType":"complete","taskId":"t-1","status":"{status}","createdAt":"x","lastUpdatedAt":"x",
            "ttlMs":null,"pollIntervalMs":250{more}}}"#
    )
}

async fn created(server: &mut Server) {
    let call = server.request("tools/call").await;
    let created = task("working", "").replace("\"complete\"", "\"task\"");
    server.answer(&call, &created);
}

async fn polled(server: &mut Server, answer: &str) {
    let get = server.request("tasks/get").await;
    let sent = params(&get);
    assert_eq!(sent["taskId"], "t-1");
    assert_eq!(sent["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    server.answer(&get, answer);
}

#[tokio::test(start_paused = true)]
async fn task_is_polled_at_its_interval_until_completed() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (result, ()) = tokio::join!(client.call_tool("slow", &()), async {
        created(&mut server).await;
        let began = Instant::now();
        polled(&mut server, &task("working", "").replace("250", "2000")).await;
        assert_eq!(began.elapsed(), Duration::from_millis(250));
        // Some servers set this result type too.
        polled(&mut server, &task("working", "").replace("\"complete\"", "\"task\"")).await;
        assert_eq!(began.elapsed(), Duration::from_millis(2250));
        let result = r#","result":{"content":[{"type":"text","text":"done"}],"isError":true}"#;
        polled(&mut server, &task("completed", result)).await;
    });
    let result = result.unwrap();
    assert_eq!((result.text().as_str(), result.is_error), ("done", true));
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn each_input_request_of_a_task_is_answered_once() {
    let mut host = Host::offering(|offered| offered.elicitation_form = true);
    host.answer = Some(ElicitResult::accept(raw(r#"{"name":"Ada"}"#)));
    let (client, mut server) = modern(host.options()).await;
    let (result, ()) = tokio::join!(client.call_tool("slow", &()), async {
        created(&mut server).await;
        let one = format!(r#","inputRequests":{{"a":{QUESTION}}}"#);
        let two = format!(r#","inputRequests":{{"a":{QUESTION},"b":{QUESTION}}}"#);
        polled(&mut server, &task("input_required", &one)).await;
        let update = server.request("tasks/update").await;
        let sent = params(&update);
        assert_eq!(sent["taskId"], "t-1");
        assert_eq!(
            sent["inputResponses"],
            json!({"a": {"action": "accept", "content": {"name": "Ada"}}})
        );
        server.answer(&update, "{}");
        // The server has not processed the response yet, and has another request.
        polled(&mut server, &task("input_required", &two)).await;
        let update = server.request("tasks/update").await;
        let keys: Vec<_> =
            params(&update)["inputResponses"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["b"]);
        server.answer(&update, "{}");
        polled(&mut server, &task("input_required", &two)).await;
        polled(&mut server, &task("completed", r#","result":{"content":[]}"#)).await;
    });
    result.unwrap();
    assert_eq!(host.asked(), ["Who?", "Who?"]);
}

#[tokio::test(start_paused = true)]
async fn failed_or_cancelled_task_fails_the_call() {
    for (answer, message) in [
        (
            task("failed", r#","error":{"code":-32603,"message":"broke","data":{"k":1}}"#),
            "the server refused: broke (code -32603)",
        ),
        (task("failed", ""), "the server refused: the task failed (code -32603)"),
        (task("cancelled", ""), "cancelled"),
        (task("completed", ""), "invalid response to `tasks/get`: `result` is missing"),
    ] {
        let (client, mut server) = modern(ClientOptions::default()).await;
        let (result, ()) = tokio::join!(client.call_tool("slow", &()), async {
            created(&mut server).await;
            polled(&mut server, &answer).await;
        });
        assert_eq!(result.unwrap_err().to_string(), message);
        // The task has ended, so it is not cancelled.
        assert_eq!(server.unread().await, [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_task_call_sends_tasks_cancel() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    tokio::select! {
        _ = client.call_tool("slow", &()) => unreachable!("the task never ends"),
        () = async { created(&mut server).await; polled(&mut server, &task("working", "")).await; settled().await; } => {}
    }
    let cancel = server.request("tasks/cancel").await;
    let sent = params(&cancel);
    assert_eq!(sent["taskId"], "t-1");
    assert!(sent["_meta"].is_object());
    server.answer(&cancel, "{}");
    // Not by notification: the request that created the task was answered already.
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn task_is_cancelled_when_polling_fails() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (result, ()) = tokio::join!(client.call_tool("slow", &()), async {
        created(&mut server).await;
        polled(&mut server, "7").await;
        server.request("tasks/cancel").await;
    });
    assert!(matches!(
        result.unwrap_err(),
        CallError::Failed { method: Some("tasks/get"), failure: Failure::Malformed(_), .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn endless_task_ends_with_the_total_timeout() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let mut options = CallOptions::default();
    options.total_timeout = Some(Duration::from_secs(5));
    let began = Instant::now();
    let (result, ()) = tokio::join!(client.call_tool("slow", &()).with(options), async {
        created(&mut server).await;
        loop {
            match server.next().await {
                Some(Message::Request(request)) if request.method == "tasks/cancel" => break,
                Some(Message::Request(request)) => server.answer(&request, &task("working", "")),
                // The last poll may have been in flight.
                Some(Message::Notification(_)) => {}
                other => panic!("{}", show(other.as_ref())),
            }
        }
    });
    assert!(matches!(result.unwrap_err(), CallError::Failed { failure: Failure::TimedOut(_), .. }));
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn undeclared_task_result_is_invalid() {
    let mut options = ClientOptions::default();
    options.follow_tasks = false;
    let (client, mut server) = modern(options).await;
    let (result, ()) = tokio::join!(client.call_tool("slow", &()), created(&mut server));
    assert!(matches!(
        result.unwrap_err(),
        CallError::Failed { failure: Failure::Malformed(_), .. }
    ));
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (read, ()) = tokio::join!(client.read_resource("a:b"), async {
        let read = server.request("resources/read").await;
        server.answer(&read, r#"{"resultType":"task","taskId":"t","status":"working"}"#);
    });
    assert!(matches!(read.unwrap_err(), CallError::Failed { failure: Failure::Malformed(_), .. }));
}

/// Lists one tool that runs only as a task, and one that can run as a task.
async fn list(client: &Client, server: &mut Server) {
    let (listing, ()) = tokio::join!(client.list_tools(), async {
        let list = server.request("tools/list").await;
        server.answer(
            &list,
            r#"{"tools":[{"name":"only","execution":{"taskSupport":"required"}},
                {"name":"also","execution":{"taskSupport":"optional"}}]}"#,
        );
    });
    listing.unwrap();
}

const LEGACY: &str = r#"{"taskId":"t-1","status":"working","createdAt":"x","lastUpdatedAt":"x","ttl":null,"pollInterval":300}"#;

#[tokio::test(start_paused = true)]
async fn legacy_task_only_tool_runs_as_a_task() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    list(&client, &mut server).await;
    let (result, ()) = tokio::join!(client.call_tool("only", &()), async {
        let call = server.request("tools/call").await;
        assert_eq!(params(&call)["task"], json!({}));
        server.answer(&call, &format!(r#"{{"task":{LEGACY}}}"#));
        let began = Instant::now();
        let get = server.request("tasks/get").await;
        assert_eq!(began.elapsed(), Duration::from_millis(300));
        server.answer(&get, &LEGACY.replace("working", "completed"));
        let result = server.request("tasks/result").await;
        assert_eq!(params(&result)["taskId"], "t-1");
        server.answer(&result, r#"{"content":[{"type":"text","text":"done"}]}"#);
    });
    assert_eq!(result.unwrap().text(), "done");

    let (result, ()) = tokio::join!(client.call_tool("also", &()), async {
        let call = server.request("tools/call").await;
        assert_eq!(params(&call).get("task"), None);
        server.answer(&call, r#"{"content":[]}"#);
    });
    result.unwrap();
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn legacy_task_requests_input_during_tasks_result() {
    let mut host = Host::offering(|offered| offered.elicitation_form = true);
    host.answer = Some(ElicitResult::decline());
    let (client, mut server) = legacy(host.options()).await;
    list(&client, &mut server).await;
    let (result, ()) = tokio::join!(client.call_tool("only", &()), async {
        let call = server.request("tools/call").await;
        server.answer(&call, &format!(r#"{{"task":{LEGACY}}}"#));
        let get = server.request("tasks/get").await;
        server.answer(&get, &LEGACY.replace("working", "input_required"));
        let result = server.request("tasks/result").await;
        server.ask("q", "elicitation/create", r#"{"message":"Who?"}"#);
        assert_eq!(server.answer_to("q").await.unwrap(), json!({"action": "decline"}));
        server.refuse(&result, -32603, "not without a name");
    });
    assert_eq!(
        result.unwrap_err().to_string(),
        "the server refused: not without a name (code -32603)"
    );
    assert_eq!(server.unread().await, [""; 0]);
}

/// Options that collect progress reports in the list.
fn heard() -> (CallOptions, Arc<Mutex<Vec<f64>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut options = CallOptions::default();
    let reports = heard.clone();
    options.on_progress =
        Some(Arc::new(move |report| reports.lock().unwrap().push(report.progress)));
    (options, heard)
}

#[tokio::test(start_paused = true)]
async fn legacy_task_progress_uses_the_token_of_its_call() {
    let host = Host::default();
    let (client, mut server) = legacy(host.options()).await;
    list(&client, &mut server).await;
    let (options, heard) = heard();
    let (result, call) = tokio::join!(client.call_tool("only", &()).with(options), async {
        let call = server.request("tools/call").await;
        server.progress(&call, 0.1);
        server.answer(&call, &format!(r#"{{"task":{LEGACY}}}"#));
        server.progress(&call, 0.2);
        let get = server.request("tasks/get").await;
        server.progress(&call, 0.3);
        server.answer(&get, &LEGACY.replace("working", "input_required"));
        let result = server.request("tasks/result").await;
        server.progress(&call, 0.4);
        settled().await;
        server.answer(&result, r#"{"content":[]}"#);
        call
    });
    result.unwrap();
    assert_eq!(*heard.lock().unwrap(), [0.1, 0.2, 0.3, 0.4]);
    assert_eq!(host.heard().len(), 4);
    // The task has ended, and its token with it. No event is reported.
    server.progress(&call, 0.5);
    assert_eq!(server.unread().await, [""; 0]);
    assert_eq!((heard.lock().unwrap().len(), host.heard().len()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn progress_of_a_legacy_task_extends_the_idle_timeout() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    list(&client, &mut server).await;
    let (mut options, _) = heard();
    options.idle_timeout = Some(Duration::from_secs(10));
    let began = Instant::now();
    let (result, ()) = tokio::join!(client.call_tool("only", &()).with(options), async {
        let call = server.request("tools/call").await;
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            server.progress(&call, 1.0);
        }
        server.answer(&call, &format!(r#"{{"task":{LEGACY}}}"#));
        let get = server.request("tasks/get").await;
        server.answer(&get, &LEGACY.replace("working", "input_required"));
        let result = server.request("tasks/result").await;
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            server.progress(&call, 2.0);
        }
        // No further progress.
        let cancelled = server.notification("notifications/cancelled").await;
        assert_eq!(told(&cancelled)["requestId"], json!(result.id.as_integer()));
        server.request("tasks/cancel").await;
    });
    let error = result.unwrap_err();
    assert!(
        matches!(
            error,
            CallError::Failed { method: Some("tasks/result"), failure: Failure::TimedOut(_), .. }
        ),
        "{error}"
    );
    assert_eq!(began.elapsed().as_secs(), 24 + 24 + 10);
}

#[tokio::test(start_paused = true)]
async fn dropped_legacy_task_call_is_cancelled() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    list(&client, &mut server).await;
    tokio::select! {
        _ = client.call_tool("only", &()) => unreachable!("the task never ends"),
        () = async {
            let call = server.request("tools/call").await;
            server.answer(&call, &format!(r#"{{"task":{LEGACY}}}"#));
            server.request("tasks/get").await;
        } => {}
    }
    // The poll in flight and the task are both cancelled.
    server.notification("notifications/cancelled").await;
    assert_eq!(params(&server.request("tasks/cancel").await)["taskId"], "t-1");
}
