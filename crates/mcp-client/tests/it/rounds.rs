//! Calls that a server answers with input requests first.

use std::time::Duration;

use mcp_client::{CallError, CallOptions, ClientOptions, ElicitResult, rpc::Failure};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Host, legacy, modern, params, raw};

const DONE: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"done"}]}"#;
const ASK_NAME: &str = r#"{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":
    {"type":"object","properties":{"name":{"type":"string"},"lang":{"type":"string","default":"en"}}}}}"#;

fn willing() -> Host {
    let mut host = Host::offering(|offered| {
        offered.elicitation_form = true;
        offered.sampling = true;
        offered.roots = true;
    });
    host.answer = Some(ElicitResult::accept(raw(r#"{"name":"Ada"}"#)));
    host
}

#[tokio::test(start_paused = true)]
async fn input_requests_are_answered_and_state_returned_unchanged() {
    let host = willing();
    let (client, mut server) = modern(host.options()).await;
    let state = r#""{\"a\":1} \u00e9\/ \n  ""#;
    let (result, ()) = tokio::join!(client.call_tool("greet", &json!({"x": 1})), async {
        let first = server.request("tools/call").await;
        let sent = params(&first);
        assert_eq!((sent.get("inputResponses"), sent.get("requestState")), (None, None));
        server.answer(
            &first,
            &format!(
                r#"{{"resultType":"input_required","requestState":{state},"inputRequests":{{
                    "who":{ASK_NAME},"model":{{"method":"sampling/createMessage","params":
                    {{"messages":[],"maxTokens":5}}}},"where":{{"method":"roots/list"}}}}}}"#
            ),
        );
        let second = server.request("tools/call").await;
        assert_ne!(first.id, second.id);
        let sent = params(&second);
        assert_eq!((&sent["name"], &sent["arguments"]), (&json!("greet"), &json!({"x": 1})));
        assert_eq!(sent["_meta"]["progressToken"], json!(second.id.as_integer()));
        let text = second.params.as_ref().unwrap().as_str();
        assert!(text.contains(&format!(r#""requestState":{state}"#)), "{text}");
        // Plain results: no envelope, no `resultType`.
        let responses = &sent["inputResponses"];
        assert_eq!(
            responses["who"],
            json!({"action": "accept", "content": {"name": "Ada", "lang": "en"}})
        );
        assert_eq!(responses["where"], json!({"roots": [{"uri": "file:///workplace"}]}));
        assert_eq!(responses["model"]["content"]["text"], "hello");
        // A round without state: the state of the last round must not be sent.
        server.answer(
            &second,
            &format!(r#"{{"resultType":"input_required","inputRequests":{{"again":{ASK_NAME}}}}}"#),
        );
        let third = server.request("tools/call").await;
        let sent = params(&third);
        assert_eq!(sent.get("requestState"), None);
        assert_eq!(sent["inputResponses"].as_object().unwrap().len(), 1);
        server.answer(&third, DONE);
    });
    assert_eq!(result.unwrap().text(), "done");
    assert_eq!(host.asked(), ["Who?", "sample 0", "roots", "Who?"]);
}

#[tokio::test(start_paused = true)]
async fn prompts_and_reads_support_rounds_and_such_reads_are_not_cached() {
    let (client, mut server) = modern(willing().options()).await;
    let nothing = std::collections::BTreeMap::new();
    let asks = format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{ASK_NAME}}}}}"#);
    let (prompt, ()) = tokio::join!(client.get_prompt("p", &nothing), async {
        let get = server.request("prompts/get").await;
        server.answer(&get, &asks);
        let get = server.request("prompts/get").await;
        assert_eq!(params(&get)["inputResponses"]["k"]["action"], "accept");
        server.answer(&get, r#"{"messages":[]}"#);
    });
    prompt.unwrap();
    let (read, ()) = tokio::join!(client.read_resource("a:b"), async {
        let read = server.request("resources/read").await;
        server.answer(&read, &asks);
        let read = server.request("resources/read").await;
        server.answer(&read, r#"{"contents":[],"ttlMs":60000,"cacheScope":"public"}"#);
    });
    assert_eq!(read.unwrap().freshness, None);
}

#[tokio::test(start_paused = true)]
async fn parallel_calls_keep_their_rounds_separate() {
    let (client, mut server) = modern(willing().options()).await;
    let (one, other, ()) =
        tokio::join!(client.call_tool("one", &()), client.call_tool("other", &()), async {
            let one = server.request("tools/call").await;
            let other = server.request("tools/call").await;
            for (call, name) in [(&other, "other"), (&one, "one")] {
                server.answer(
                    call,
                    &format!(
                        r#"{{"resultType":"input_required","requestState":"{name}",
                            "inputRequests":{{"{name}":{ASK_NAME}}}}}"#
                    ),
                );
            }
            for _ in 0..2 {
                let again = server.request("tools/call").await;
                let sent = params(&again);
                let name = sent["name"].as_str().unwrap();
                assert_eq!(sent["requestState"], name);
                let keys: Vec<_> = sent["inputResponses"].as_object().unwrap().keys().collect();
                assert_eq!(keys, [name]);
                server.answer(&again, DONE);
            }
        });
    one.unwrap();
    other.unwrap();
}

/// Calls a tool that requests `requests` once.
async fn asked_for(host: &Host, requests: &str) -> Result<String, CallError> {
    let (client, mut server) = modern(host.options()).await;
    let (result, ()) = tokio::join!(
        async move {
            let result = client.call_tool("t", &()).await;
            drop(client);
            result
        },
        async {
            let first = server.request("tools/call").await;
            server.answer(
                &first,
                &format!(r#"{{"resultType":"input_required","inputRequests":{requests}}}"#),
            );
            if let Some(mcp_jsonrpc::Message::Request(again)) = server.next().await {
                let responses = params(&again)["inputResponses"].to_string();
                server.answer(
                    &again,
                    &json!({"content": [{"type": "text", "text": responses}]}).to_string(),
                );
            }
        }
    );
    result.map(|result| result.text())
}

#[tokio::test(start_paused = true)]
async fn undeclared_input_request_fails_the_call_without_asking() {
    let host = willing();
    for (requests, what) in [
        (
            r#"{"k":{"method":"elicitation/create","params":{"mode":"url","url":"https://x"}}}"#,
            "elicitation in mode `url`",
        ),
        (
            r#"{"k":{"method":"sampling/createMessage","params":{"messages":[],"tools":[]}}}"#,
            "sampling with tools",
        ),
        (r#"{"k":{"method":"shell/run","params":{}}}"#, "shell/run"),
    ] {
        let error = asked_for(&host, requests).await.unwrap_err();
        assert!(matches!(&error, CallError::Undeclared(named) if **named == *what), "{error}");
    }
    let error = asked_for(&Host::default(), r#"{"k":{"method":"roots/list"}}"#).await.unwrap_err();
    assert!(matches!(error, CallError::Undeclared(_)), "{error}");
    assert_eq!(host.asked(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn declined_form_is_sent_but_host_refusal_fails_the_call() {
    let mut host = willing();
    host.answer = None;
    let requests = format!(r#"{{"k":{ASK_NAME}}}"#);
    assert_eq!(asked_for(&host, &requests).await.unwrap(), r#"{"k":{"action":"decline"}}"#);
    let sampling = r#"{"k":{"method":"sampling/createMessage","params":{"messages":[]}}}"#;
    let error = asked_for(&host, sampling).await.unwrap_err();
    assert_eq!(error.to_string(), "the host declined: the user said no");
}

#[tokio::test(start_paused = true)]
async fn invalid_input_requests_are_reported_with_their_path() {
    for (requests, problem) in [
        (r#"{"k":{}}"#, "inputRequests.k: `method` is missing"),
        ("[]", "inputRequests: expected an object"),
        (
            r#"{"k":{"method":"elicitation/create","params":{"message":7}}}"#,
            "inputRequests.k: message: expected a string, found a number",
        ),
    ] {
        let error = asked_for(&willing(), requests).await.unwrap_err();
        assert_eq!(error.to_string(), format!("invalid response to `tools/call`: {problem}"));
    }
}

#[tokio::test(start_paused = true)]
async fn input_required_without_requests_or_state_is_invalid() {
    let (client, mut server) = modern(willing().options()).await;
    let (result, ()) = tokio::join!(client.call_tool("t", &()), async {
        let call = server.request("tools/call").await;
        server.answer(&call, r#"{"resultType":"input_required","requestState":null}"#);
    });
    assert!(matches!(
        result.unwrap_err(),
        CallError::Failed { failure: Failure::Malformed(_), .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn too_many_rounds_fail_the_call() {
    let mut options = willing().options();
    options.max_rounds = 3;
    let (client, mut server) = modern(options).await;
    let (result, count) = tokio::join!(client.call_tool("t", &()), async {
        for count in 1.. {
            let call = server.request("tools/call").await;
            server.answer(
                &call,
                &format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{ASK_NAME}}}}}"#),
            );
            if count == 4 {
                return count;
            }
        }
        0
    });
    assert!(matches!(result.unwrap_err(), CallError::TooManyRounds { rounds: 3 }));
    assert_eq!(count, 4);
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn state_without_requests_is_retried_with_backoff() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (result, waits) = tokio::join!(client.call_tool("t", &()), async {
        let mut waits = Vec::new();
        for round in 0..5 {
            let call = server.request("tools/call").await;
            let sent = params(&call);
            assert_eq!(sent.get("inputResponses"), None);
            assert_eq!(sent.get("requestState").is_some(), round > 0);
            let asked = Instant::now();
            // Absent and empty `inputRequests` mean the same.
            let none = if round % 2 == 0 { "" } else { r#","inputRequests":{}"# };
            server.answer(
                &call,
                &format!(r#"{{"resultType":"input_required","requestState":"busy"{none}}}"#),
            );
            waits.push(asked);
        }
        let call = server.request("tools/call").await;
        waits.push(Instant::now());
        server.answer(&call, DONE);
        waits.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    });
    result.unwrap();
    assert!(waits[0] >= Duration::from_millis(50), "{waits:?}");
    assert!(waits.windows(2).all(|pair| pair[1] > pair[0]), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn all_rounds_share_one_total_timeout() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let mut options = CallOptions::default();
    options.total_timeout = Some(Duration::from_secs(10));
    let began = Instant::now();
    let (result, cancelled) =
        tokio::join!(client.call_tool("t", &()).with(options.clone()), async {
            let first = server.request("tools/call").await;
            tokio::time::sleep(Duration::from_secs(6)).await;
            server.answer(&first, r#"{"resultType":"input_required","requestState":"s"}"#);
            let second = server.request("tools/call").await;
            let cancelled = server.notification("notifications/cancelled").await;
            assert_eq!(
                crate::support::told(&cancelled)["requestId"],
                json!(second.id.as_integer())
            );
        });
    let () = cancelled;
    assert_eq!(
        result.unwrap_err().to_string(),
        "`tools/call` timed out: no response within 10s in total (limit without progress: 120s)"
    );
    assert_eq!(began.elapsed().as_secs(), 10);

    let mut host = willing();
    host.is_away = true;
    let (client, mut server) = modern(host.options()).await;
    let (result, ()) = tokio::join!(client.call_tool("t", &()).with(options), async {
        let call = server.request("tools/call").await;
        server.answer(
            &call,
            &format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{ASK_NAME}}}}}"#),
        );
    });
    assert!(matches!(result.unwrap_err(), CallError::Failed { failure: Failure::TimedOut(_), .. }));
}

#[tokio::test(start_paused = true)]
async fn legacy_url_elicitation_error_is_handled_before_a_retry() {
    let mut host = Host::offering(|offered| offered.elicitation_url = true);
    host.answer = Some(ElicitResult::accept_url());
    let pages = r#"{"elicitations":[{"mode":"url","message":"m","url":"https://a/","elicitationId":"1"},
        {"mode":"url","message":"m","url":"https://b/","elicitationId":"2"}]}"#;
    let (client, mut server) = legacy(host.options()).await;
    let (result, ()) = tokio::join!(client.call_tool("t", &()), async {
        let first = server.request("tools/call").await;
        server.refuse_with(&first, -32042, pages);
        let second = server.request("tools/call").await;
        assert_ne!(first.id, second.id);
        server.answer(&second, r#"{"content":[]}"#);
    });
    result.unwrap();
    assert_eq!(host.asked(), ["https://a/", "https://b/"]);

    // A user who declines, and a host without the capability.
    let mut unwilling = host.clone();
    unwilling.answer = None;
    for host in [unwilling, Host::default()] {
        let (client, mut server) = legacy(host.options()).await;
        let (result, ()) = tokio::join!(client.call_tool("t", &()), async {
            let call = server.request("tools/call").await;
            server.refuse_with(&call, -32042, pages);
        });
        assert!(
            matches!(result.unwrap_err(), CallError::Failed { failure: Failure::Rejected(error), .. } if error.code == -32042)
        );
        assert_eq!(server.unread().await, [""; 0]);
    }
}
