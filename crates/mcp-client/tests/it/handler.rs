//! Requests of legacy servers to their host, and events.

use std::sync::{Arc, Condvar, Mutex};

use futures::future::BoxFuture;
use mcp_client::{
    ClientCapabilities, ClientOptions, ElicitRequest, ElicitResult, Handler, ServerEvent,
};
use serde_json::{Value, json};

use crate::support::{Host, legacy, modern, raw, settled};

fn everything() -> Host {
    let mut host = Host::offering(|offered| {
        offered.elicitation_form = true;
        offered.elicitation_url = true;
        offered.sampling = true;
        offered.roots = true;
    });
    host.answer = Some(ElicitResult::accept(raw(r#"{"name":"Ada"}"#)));
    host
}

/// The host's response to one request: the result, or the error's code.
async fn asked(host: &Host, method: &'static str, params: &str) -> Result<Value, i64> {
    let (_client, mut server) = legacy(host.options()).await;
    server.ask("q-1", method, params);
    server.answer_to("q-1").await.map_err(|error| error.code)
}

#[tokio::test(start_paused = true)]
async fn accepted_form_gets_defaults_for_missing_fields() {
    let params = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{
        "name":{"type":"string","default":"nobody"},"age":{"type":"integer","default":7},
        "tags":{"type":"array","default":["a"]},"note":{"type":"string"}}}}"#;
    let answer = asked(&everything(), "elicitation/create", params).await;
    assert_eq!(
        answer,
        Ok(json!({"action": "accept", "content": {"name": "Ada", "age": 7, "tags": ["a"]}}))
    );
    // Accepting without content submits the defaults.
    let mut host = everything();
    host.answer = Some(ElicitResult::accept_url());
    assert_eq!(
        asked(&host, "elicitation/create", params).await,
        Ok(json!({"action": "accept", "content": {"name": "nobody", "age": 7, "tags": ["a"]}}))
    );
}

#[tokio::test(start_paused = true)]
async fn only_an_accepted_form_has_content() {
    let url = r#"{"mode":"url","message":"m","url":"https://x/","elicitationId":"1"}"#;
    let host = everything();
    assert_eq!(asked(&host, "elicitation/create", url).await, Ok(json!({"action": "accept"})));
    assert_eq!(host.asked(), ["https://x/"]);
    let mut host = everything();
    let mut declined = ElicitResult::decline();
    declined.content = Some(raw(r#"{"name":"Ada"}"#));
    host.answer = Some(declined);
    assert_eq!(
        asked(&host, "elicitation/create", r#"{"mode":"form","message":"m"}"#).await,
        Ok(json!({"action": "decline"}))
    );
}

#[tokio::test(start_paused = true)]
async fn undeclared_request_is_rejected_with_the_right_code() {
    let forms = Host::offering(|offered| offered.elicitation_form = true);
    let url = r#"{"mode":"url","message":"m","url":"https://x/"}"#;
    assert_eq!(asked(&forms, "elicitation/create", url).await, Err(-32602));
    let odd = r#"{"mode":"telepathy","message":"m"}"#;
    assert_eq!(asked(&everything(), "elicitation/create", odd).await, Err(-32602));
    let nothing = Host::default();
    for method in ["elicitation/create", "sampling/createMessage", "roots/list", "tasks/list"] {
        assert_eq!(asked(&nothing, method, "{}").await, Err(-32601), "{method}");
    }
    let tools = r#"{"messages":[],"maxTokens":1,"toolChoice":{"mode":"none"}}"#;
    assert_eq!(asked(&everything(), "sampling/createMessage", tools).await, Err(-32602));
    assert_eq!(
        asked(&everything(), "sampling/createMessage", r#"{"messages":7}"#).await,
        Err(-32602)
    );
}

#[tokio::test(start_paused = true)]
async fn unsafe_elicitation_url_is_rejected_before_the_handler() {
    let host = everything();
    for url in [r#""javascript:alert(1)""#, r#""https://a@b/""#, r#""https://a/\u001b[2J""#, "null"]
    {
        let page = format!(r#"{{"mode":"url","message":"m","url":{url}}}"#);
        assert_eq!(asked(&host, "elicitation/create", &page).await, Err(-32602), "{url}");
    }
    assert_eq!(host.asked(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn sampling_runs_or_is_refused_by_the_user() {
    let params =
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9}"#;
    let host = everything();
    assert_eq!(
        asked(&host, "sampling/createMessage", params).await,
        Ok(json!({"role": "assistant", "content": {"type": "text", "text": "hello"},
            "model": "a-model", "stopReason": "endTurn"}))
    );
    assert_eq!(host.asked(), ["sample 1"]);
    let mut host = everything();
    host.answer = None;
    assert_eq!(asked(&host, "sampling/createMessage", params).await, Err(-1));
}

#[tokio::test(start_paused = true)]
async fn sampling_tool_results_must_match_their_uses() {
    let mut host = everything();
    host.offered.sampling_tools = true;
    let using =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}}]}"#;
    for (messages, fits) in [
        (
            format!(
                r#"[{using},{{"role":"user","content":{{"type":"tool_result","toolUseId":"1","content":[]}}}}]"#
            ),
            true,
        ),
        // Other content between the results, a missing result, an additional one.
        (
            format!(
                r#"[{using},{{"role":"user","content":[{{"type":"tool_result","toolUseId":"1","content":[]}},{{"type":"text","text":"x"}}]}}]"#
            ),
            false,
        ),
        (format!(r#"[{using},{{"role":"user","content":{{"type":"text","text":"x"}}}}]"#), false),
        (
            r#"[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}]"#
                .into(),
            false,
        ),
    ] {
        let params = format!(r#"{{"messages":{messages},"maxTokens":9,"tools":[]}}"#);
        let answer = asked(&host, "sampling/createMessage", &params).await;
        assert_eq!(answer.err(), if fits { None } else { Some(-32602) }, "{messages}");
    }
}

#[tokio::test(start_paused = true)]
async fn roots_are_listed_and_unknown_requests_rejected() {
    assert_eq!(
        asked(&everything(), "roots/list", "{}").await,
        Ok(json!({"roots": [{"uri": "file:///workplace"}]}))
    );
    assert_eq!(asked(&everything(), "shell/run", "{}").await, Err(-32601));
}

#[tokio::test(start_paused = true)]
async fn ping_is_answered_while_a_handler_is_busy() {
    let mut host = everything();
    host.is_away = true;
    let (_client, mut server) = legacy(host.options()).await;
    server.ask(7, "elicitation/create", r#"{"message":"m"}"#);
    settled().await;
    server.ask("p", "ping", "{}");
    assert_eq!(server.answer_to("p").await.unwrap(), json!({}));
}

#[tokio::test(start_paused = true)]
async fn cancelled_server_request_is_dropped_without_a_response() {
    let asking = Arc::new(());
    let (_client, mut server) = {
        let mut options = ClientOptions::default();
        options.handler = Arc::new(Holding(asking.clone()));
        legacy(options).await
    };
    server.ask(7, "elicitation/create", r#"{"message":"m"}"#);
    settled().await;
    assert_eq!(Arc::strong_count(&asking), 3);
    server.tell("notifications/cancelled", r#"{"requestId":7,"reason":"never mind"}"#);
    assert_eq!(server.unread().await, [""; 0]);
    assert_eq!(Arc::strong_count(&asking), 2);
}

/// A handler that never responds, and holds a value meanwhile.
struct Holding(Arc<()>);

impl Handler for Holding {
    fn capabilities(&self) -> ClientCapabilities {
        everything().offered
    }

    fn elicit(&self, _: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let held = self.0.clone();
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(held);
            ElicitResult::cancel()
        })
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_handler_returns_an_error() {
    struct Panics;
    impl Handler for Panics {
        fn capabilities(&self) -> ClientCapabilities {
            everything().offered
        }
        fn elicit(&self, _: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
            panic!("the host is broken")
        }
    }
    let mut options = ClientOptions::default();
    options.handler = Arc::new(Panics);
    let (_client, mut server) = legacy(options).await;
    server.ask(7, "elicitation/create", r#"{"message":"m"}"#);
    assert_eq!(server.answer_to(7).await.unwrap_err().code, -32603);
    // The id can be used again.
    server.ask(7, "ping", "{}");
    server.answer_to(7).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_modern_server_are_ignored() {
    let (_client, mut server) = modern(everything().options()).await;
    server.ask(7, "ping", "{}");
    server.ask(8, "roots/list", "{}");
    // No error response either, for too many requests or for a duplicate id.
    for id in 0..70 {
        server.ask(id, "elicitation/create", r#"{"message":"m"}"#);
        server.ask(id, "elicitation/create", r#"{"message":"m"}"#);
    }
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn legacy_server_with_too_many_requests_gets_errors() {
    let mut host = everything();
    host.is_away = true;
    let (_client, mut server) = legacy(host.options()).await;
    for id in 0..70 {
        server.ask(id, "elicitation/create", r#"{"message":"m"}"#);
    }
    let answers = server.unread().await;
    assert_eq!(answers.len(), 70 - 64);
    assert!(answers.iter().all(|answer| answer.contains("too many requests at once")));
}

#[tokio::test(start_paused = true)]
async fn notifications_are_delivered_in_order() {
    let host = Host::default();
    let (_client, server) = legacy(host.options()).await;
    server.tell("notifications/tools/list_changed", "{}");
    server.tell("notifications/message", r#"{"level":"info","logger":"l","data":null}"#);
    server.tell("notifications/resources/updated", r#"{"uri":"a:b"}"#);
    server.tell("notifications/resources/updated", r#"{"uri":7}"#);
    server.tell("notifications/elicitation/complete", r#"{"elicitationId":"e"}"#);
    server.tell("notifications/tasks/status", r#"{"taskId":"t","status":"working"}"#);
    server.tell("example/news", r#"{"x":1}"#);
    settled().await;
    let heard = host.heard();
    assert_eq!(heard[0], ServerEvent::ToolsChanged);
    assert!(matches!(&heard[1], ServerEvent::Log(log) if log.data.as_ref().unwrap().is_null()));
    assert_eq!(heard[2], ServerEvent::ResourceUpdated { uri: "a:b".into() });
    // Malformed notifications are passed on unchanged.
    assert!(matches!(&heard[3], ServerEvent::Other(told) if told.method.ends_with("updated")));
    assert_eq!(heard[4], ServerEvent::ElicitationComplete { elicitation_id: "e".into() });
    assert!(matches!(&heard[5], ServerEvent::TaskUpdated(task) if task.task_id == "t"));
    assert!(matches!(&heard[6], ServerEvent::Other(told) if told.method == "example/news"));
    assert_eq!(heard.len(), 7);
}

/// A handler that blocks on events until it is released.
#[derive(Default)]
struct Slow {
    heard: Mutex<Vec<ServerEvent>>,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Handler for Slow {
    fn event(&self, event: ServerEvent) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap();
        }
        self.heard.lock().unwrap().push(event);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_handler_gets_the_count_of_missed_events() {
    let slow = Arc::new(Slow::default());
    let mut options = ClientOptions::default();
    options.handler = slow.clone();
    options.max_events = 10;
    let (client, mut server) = legacy(options).await;
    for _ in 0..1_000 {
        server.tell("notifications/tools/list_changed", "{}");
    }
    // The second response arrives after all notifications sent with the first.
    for _ in 0..2 {
        let (pong, ()) = tokio::join!(client.ping(), async {
            let ping = server.request("ping").await;
            server.answer(&ping, "{}");
        });
        pong.unwrap();
    }
    *slow.is_open.lock().unwrap() = true;
    slow.opened.notify_all();
    let missed = crate::support::soon("the number of missed events", async {
        loop {
            if let Some(ServerEvent::Missed(missed)) = slow.heard.lock().unwrap().last() {
                return *missed;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let heard = slow.heard.lock().unwrap().len() as u64 - 1;
    assert!((10..=11).contains(&heard), "{heard}");
    assert_eq!(heard + missed, 1_000);
}

#[tokio::test(start_paused = true)]
async fn handler_receives_events_after_a_panic() {
    #[derive(Default)]
    struct Once(Mutex<u32>);
    impl Handler for Once {
        fn event(&self, _: ServerEvent) {
            let count = {
                let mut count = self.0.lock().unwrap();
                *count += 1;
                *count
            };
            assert!(count > 1, "the host is broken");
        }
    }
    let once = Arc::new(Once::default());
    let mut options = ClientOptions::default();
    options.handler = once.clone();
    options.max_events = 2;
    let (_client, server) = legacy(options).await;
    for _ in 0..3 {
        server.tell("notifications/tools/list_changed", "{}");
    }
    settled().await;
    server.tell("notifications/tools/list_changed", "{}");
    settled().await;
    assert!(*once.0.lock().unwrap() >= 3);
}
