//! Calls that become tasks, in both eras.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_client::{CallError, CallOptions, Client, ClientOptions, ElicitResult};
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
async fn a_task_is_polled_as_often_as_it_asks_for_until_it_is_done() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (result, ()) = tokio::join!(client.call_tool("slow", &()), async {
        created(&mut server).await;
        let began = Instant::now();
        polled(&mut server, &task("working", "").replace("250", "2000")).await;
        assert_eq!(began.elapsed(), Duration::from_millis(250));
        // Some servers call this result a task too.
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
async fn each_question_of_a_task_is_answered_once() {
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
        // It has not taken the answer in yet, and has another question.
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
async fn a_task_that_failed_or_was_cancelled_says_so() {
    for (answer, message) in [
        (
            task("failed", r#","error":{"code":-32603,"message":"broke","data":{"k":1}}"#),
            "the server refused: broke (code -32603)",
        ),
        (task("failed", ""), "the server refused: the task failed (code -32603)"),
        (task("cancelled", ""), "cancelled"),
        (task("completed", ""), "unreadable answer to `tasks/get`: `result` is missing"),
    ] {
        let (client, mut server) = modern(ClientOptions::default()).await;
        let (result, ()) = tokio::join!(client.call_tool("slow", &()), async {
            created(&mut server).await;
            polled(&mut server, &answer).await;
        });
        assert_eq!(result.unwrap_err().to_string(), message);
        // It is over: there is nothing to cancel.
        assert_eq!(server.unread().await, [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_nobody_waits_for_is_cancelled_by_its_own_method() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    tokio::select! {
        _ = client.call_tool("slow", &()) => unreachable!("it works for ever"),
        () = async { created(&mut server).await; polled(&mut server, &task("working", "")).await; settled().await; } => {}
    }
    let cancel = server.request("tasks/cancel").await;
    let sent = params(&cancel);
    assert_eq!(sent["taskId"], "t-1");
    assert!(sent["_meta"].is_object());
    server.answer(&cancel, "{}");
    // No notification: the request that made it has long been answered.
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_following_fails_is_cancelled_too() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (result, ()) = tokio::join!(client.call_tool("slow", &()), async {
        created(&mut server).await;
        polled(&mut server, "7").await;
        server.request("tasks/cancel").await;
    });
    assert!(matches!(result.unwrap_err(), CallError::Shape { method: "tasks/get", .. }));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_never_ends_is_given_up_in_the_time_of_its_call() {
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
                // The last look at it may have been under way.
                Some(Message::Notification(_)) => {}
                other => panic!("{}", show(other.as_ref())),
            }
        }
    });
    assert!(matches!(result.unwrap_err(), CallError::TimedOut { .. }));
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_task_nobody_declared_is_no_result() {
    let mut options = ClientOptions::default();
    options.follow_tasks = false;
    let (client, mut server) = modern(options).await;
    let (result, ()) = tokio::join!(client.call_tool("slow", &()), created(&mut server));
    assert!(matches!(result.unwrap_err(), CallError::Shape { .. }));
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (read, ()) = tokio::join!(client.read_resource("a:b"), async {
        let read = server.request("resources/read").await;
        server.answer(&read, r#"{"resultType":"task","taskId":"t","status":"working"}"#);
    });
    assert!(matches!(read.unwrap_err(), CallError::Shape { .. }));
}

/// Lists one tool that runs only as a task, and one that can.
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
async fn a_legacy_tool_that_runs_only_as_a_task_is_asked_to_and_its_result_fetched() {
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
async fn a_legacy_task_with_questions_gets_a_stream_to_ask_them_on() {
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

/// Options whose progress reports end up in the list.
fn heard() -> (CallOptions, Arc<Mutex<Vec<f64>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut options = CallOptions::default();
    let reports = heard.clone();
    options.on_progress =
        Some(Arc::new(move |report| reports.lock().unwrap().push(report.progress)));
    (options, heard)
}

#[tokio::test(start_paused = true)]
async fn a_legacy_task_reports_by_the_token_of_its_call_until_it_ends() {
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
    // Now it has ended, and its token with it. Nobody was told of anything.
    server.progress(&call, 0.5);
    assert_eq!(server.unread().await, [""; 0]);
    assert_eq!((heard.lock().unwrap().len(), host.heard().len()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn progress_of_a_legacy_task_extends_the_limit_for_silence() {
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
        // And then silence.
        let cancelled = server.notification("notifications/cancelled").await;
        assert_eq!(told(&cancelled)["requestId"], json!(result.id.as_integer()));
        server.request("tasks/cancel").await;
    });
    let error = result.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { method: "tasks/result", .. }), "{error}");
    assert_eq!(began.elapsed().as_secs(), 24 + 24 + 10);
}

#[tokio::test(start_paused = true)]
async fn a_legacy_task_nobody_waits_for_is_cancelled() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    list(&client, &mut server).await;
    tokio::select! {
        _ = client.call_tool("only", &()) => unreachable!("it works for ever"),
        () = async {
            let call = server.request("tools/call").await;
            server.answer(&call, &format!(r#"{{"task":{LEGACY}}}"#));
            server.request("tasks/get").await;
        } => {}
    }
    // The look at the task that was in flight, and the task itself.
    server.notification("notifications/cancelled").await;
    assert_eq!(params(&server.request("tasks/cancel").await)["taskId"], "t-1");
}
