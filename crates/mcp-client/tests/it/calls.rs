//! Requests on the wire, and the parsing of their results.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_client::{CallError, CallOptions, ClientOptions, Content, Delivery, rpc::Failure};
use mcp_jsonrpc::RawJson;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Host, legacy, modern, params, raw, told};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";

#[tokio::test(start_paused = true)]
async fn modern_requests_always_carry_client_metadata() {
    let host = Host::offering(|offered| offered.roots = true);
    let (client, mut server) = modern(host.options()).await;
    let (listing, ()) = tokio::join!(client.list_tools(), async {
        let list = server.request("tools/list").await;
        let meta = &params(&list)["_meta"];
        assert_eq!(meta[VERSION], "2026-07-28");
        assert_eq!(
            meta[CAPABILITIES],
            json!({"roots": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
        );
        assert_eq!(meta[INFO]["name"], "mcp-client");
        server.answer(&list, r#"{"tools":[]}"#);
    });
    assert!(listing.unwrap().items.is_empty());
    let (pong, ()) = tokio::join!(client.ping(), async {
        let ping = server.request("server/discover").await;
        assert_eq!(params(&ping)["_meta"][VERSION], "2026-07-28");
        server.answer(&ping, "{}");
    });
    pong.unwrap();
    let (result, ()) = tokio::join!(client.call_tool("echo", &()), async {
        let call = server.request("tools/call").await;
        let sent = params(&call);
        assert_eq!(sent["_meta"][VERSION], "2026-07-28");
        assert_eq!(sent["_meta"]["progressToken"], json!(call.id.as_integer()));
        assert_eq!(sent["arguments"], json!({}));
        server.answer(&call, r#"{"content":[]}"#);
    });
    result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn log_level_and_disabled_tasks_are_sent_with_modern_requests() {
    let mut options = ClientOptions::default();
    options.log_level = Some(mcp_client::types::LogLevel::Warning);
    options.follow_tasks = false;
    let (client, mut server) = modern(options).await;
    let (pong, ()) = tokio::join!(client.ping(), async {
        let ping = server.request("server/discover").await;
        let meta = &params(&ping)["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/logLevel"], "warning");
        assert_eq!(meta[CAPABILITIES], json!({}));
        server.answer(&ping, "{}");
    });
    pong.unwrap();
}

#[tokio::test(start_paused = true)]
async fn legacy_requests_carry_only_a_progress_token() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let (listing, ()) = tokio::join!(client.list_tools(), async {
        let list = server.request("tools/list").await;
        assert_eq!(list.params, None);
        server.answer(&list, r#"{"tools":[]}"#);
    });
    listing.unwrap();
    let (result, ()) = tokio::join!(client.call_tool("echo", &json!({"a": 1})), async {
        let call = server.request("tools/call").await;
        assert_eq!(
            params(&call),
            json!({"name": "echo", "arguments": {"a": 1},
                "_meta": {"progressToken": call.id.as_integer()}})
        );
        server.answer(&call, "{}");
    });
    assert_eq!(result.unwrap().content, []);
}

#[tokio::test(start_paused = true)]
async fn raw_request_metadata_is_merged_without_duplicates() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let mut options = CallOptions::default();
    options.meta.push(("tracestate".into(), raw(r#""b=2""#)));
    options.meta.push(("traceparent".into(), raw(r#""newer""#)));
    let own = raw(r#"{"_meta":{"traceparent":"older","progressToken":"mine",
            "io.modelcontextprotocol/protocolVersion":"1999-12-31",
            "io.modelcontextprotocol/clientInfo":{"name":"other","version":"2"}},"x":[1, 2]}"#);
    let (answer, ()) = tokio::join!(client.request("example/do", Some(own), options), async {
        let request = server.request("example/do").await;
        let text = request.params.as_ref().unwrap().as_str().to_owned();
        for name in ["traceparent", "progressToken", VERSION, INFO, CAPABILITIES] {
            assert_eq!(text.matches(&format!("{name}\"")).count(), 1, "{name} in {text}");
        }
        let sent = params(&request);
        assert_eq!(sent["x"], json!([1, 2]));
        let meta = &sent["_meta"];
        // These keep our values, because the session depends on them; otherwise the value closest to the call wins.
        assert_eq!(meta[VERSION], "2026-07-28");
        assert_eq!(meta["progressToken"], json!(request.id.as_integer()));
        assert_eq!(meta[INFO]["name"], "other");
        assert_eq!(meta["traceparent"], "newer");
        assert_eq!(meta["tracestate"], "b=2");
        server.answer(&request, r#"{"resultType":"whatever","n":1.50}"#);
    });
    assert_eq!(answer.unwrap().as_str(), r#"{"resultType":"whatever","n":1.50}"#);
}

#[tokio::test(start_paused = true)]
async fn a_raw_request_without_params_is_still_modern() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (answer, ()) =
        tokio::join!(client.request("example/do", None, CallOptions::default()), async {
            let request = server.request("example/do").await;
            assert_eq!(params(&request)["_meta"][VERSION], "2026-07-28");
            server.refuse(&request, -32601, "no");
        });
    let error = answer.unwrap_err();
    assert_eq!(error.to_string(), "the server refused: no (code -32601)");
    assert_eq!(error.delivery(), Delivery::Executed);
}

#[tokio::test(start_paused = true)]
async fn params_and_arguments_must_be_objects() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let errors = [
        client.request("x", Some(raw("[1]")), CallOptions::default()).await.unwrap_err(),
        client.call_tool("x", "text").await.unwrap_err(),
        client.call_tool_raw("x", raw("7")).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, CallError::Unsendable(_)), "{error}");
        assert_eq!(error.delivery(), Delivery::NotSent);
    }
    assert_eq!(server.unread().await, [""; 0]);
}

/// Calls a tool that returns `result`.
async fn returned(result: &str) -> Result<mcp_client::CallToolResult, CallError> {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (answer, ()) = tokio::join!(client.call_tool("t", &()), async {
        let call = server.request("tools/call").await;
        server.answer(&call, result);
    });
    answer
}

#[tokio::test(start_paused = true)]
async fn null_structured_content_is_not_absent() {
    let null = returned(r#"{"content":[],"structuredContent":null}"#).await.unwrap();
    assert_eq!(null.structured_content, Some(RawJson::null()));
    assert_eq!(returned(r#"{"content":[]}"#).await.unwrap().structured_content, None);
    let list = returned(r#"{"content":[],"structuredContent":[1,  2.50]}"#).await.unwrap();
    assert_eq!(list.structured_content.unwrap().as_str(), "[1,  2.50]");
}

#[tokio::test(start_paused = true)]
async fn unknown_members_survive_a_round_trip() {
    let result = returned(
        r#"{"resultType":"complete","content":[{"type":"text","text":"a","x":1}],"isError":true,
            "_meta":{"k":"v"},"future":{"deep":[null]}}"#,
    );
    let result = result.await.unwrap();
    assert!(result.is_error);
    assert_eq!(result.extra.get("future").unwrap().as_str(), r#"{"deep":[null]}"#);
    let Content::Text(text) = &result.content[0] else { panic!("text") };
    assert_eq!(text.extra.get("x").unwrap().as_str(), "1");
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({"resultType": "complete", "content": [{"type": "text", "text": "a", "x": 1}],
            "isError": true, "_meta": {"k": "v"}, "future": {"deep": [null]}})
    );
}

#[tokio::test(start_paused = true)]
async fn content_type_member_may_come_in_any_position() {
    let blocks = json!([
        {"type": "text", "text": "a\nb", "annotations": {"priority": 0.5}},
        {"text": "late \"type\"", "_meta": {"k": 1}, "x": [1], "type": "text"},
        {"type": "image", "data": "QQ==", "mimeType": "image/png"},
        {"mimeType": "audio/wav", "data": "QUI=", "type": "audio"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3.0},
        {"resource": {"uri": "file:///b", "text": "b", "blob": null}, "type": "resource"},
        {"type": "resource", "resource": {"uri": "file:///c", "blob": "QQ=="}},
        {"early": 1, "type": "hologram", "beam": {"on": true}},
    ]);
    let result = returned(&json!({"content": blocks}).to_string()).await.unwrap();
    let kinds: Vec<&str> = result
        .content
        .iter()
        .map(|block| match block {
            Content::Text(_) => "text",
            Content::Image(_) => "image",
            Content::Audio(_) => "audio",
            Content::ResourceLink(_) => "link",
            Content::Resource(_) => "resource",
            Content::Other(other) => other.kind.as_str(),
            _ => "?",
        })
        .collect();
    assert_eq!(
        kinds,
        ["text", "text", "image", "audio", "link", "resource", "resource", "hologram"]
    );
    assert_eq!(result.text(), "a\nb\nlate \"type\"");
    let mut written = serde_json::to_value(&result.content).unwrap();
    // The one exception: a null member is dropped where null means absent.
    written[5]["resource"]["blob"] = serde_json::Value::Null;
    assert_eq!(written, blocks);
}

#[tokio::test(start_paused = true)]
async fn shape_error_names_the_member_without_quoting_it() {
    for (result, problem) in [
        (r#"{"content":"secret"}"#, "content: expected an array, found a string"),
        (r#"{"content":[{"type":"text"}]}"#, "content[0]: `text` is missing"),
        (
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":7}]}"#,
            "content[1].text: expected a string, found a number",
        ),
        (r#"{"content":[{"text":"a"}]}"#, "content[0]: `type` is missing"),
        (r#"{"isError":"yes"}"#, "isError: expected a boolean, found a string"),
        (r#"["secret"]"#, "expected an object, found an array"),
        (
            r#"{"content":[{"data":{"secret":1},"type":"image"}]}"#,
            "content[0]: data: expected a string, found an object",
        ),
    ] {
        let error = returned(result).await.unwrap_err();
        assert_eq!(error.to_string(), format!("invalid response to `tools/call`: {problem}"));
        assert_eq!(error.delivery(), Delivery::Executed);
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_response_fails_only_its_own_call() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (one, other, ()) =
        tokio::join!(client.call_tool("one", &()), client.call_tool("other", &()), async {
            let one = server.request("tools/call").await;
            let other = server.request("tools/call").await;
            server.answer(&one, "7");
            server.answer(&other, r#"{"content":[{"type":"text","text":"fine"}]}"#);
        });
    one.unwrap_err();
    assert_eq!(other.unwrap().text(), "fine");
}

#[tokio::test(start_paused = true)]
async fn unknown_result_type_is_invalid_and_missing_means_complete() {
    let error = returned(r#"{"resultType":"partial","content":[]}"#).await.unwrap_err();
    assert!(matches!(error, CallError::Failed { failure: Failure::Malformed(_), .. }), "{error}");
    returned(r#"{"content":[]}"#).await.unwrap();
    returned(r#"{"resultType":null,"content":[]}"#).await.unwrap();
    returned(r#"{"content":[],"resultType":"complete"}"#).await.unwrap();

    let (client, mut server) = modern(ClientOptions::default()).await;
    let target = mcp_client::request::CompletionTarget::Prompt("p");
    let nothing = std::collections::BTreeMap::new();
    let (completion, task, ()) =
        tokio::join!(client.complete(target, "a", "", &nothing), client.task("t"), async {
            // Neither of these methods allows `input_required`.
            let complete = server.request("completion/complete").await;
            server.answer(&complete, r#"{"resultType":"input_required","requestState":"s"}"#);
            let get = server.request("tasks/get").await;
            server.answer(&get, r#"{"resultType":"odd","taskId":"t","status":"working"}"#);
        });
    for error in [completion.unwrap_err(), task.unwrap_err()] {
        assert!(error.to_string().contains("resultType"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_result_may_have_members_with_modern_names() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let nothing = std::collections::BTreeMap::new();
    let (result, prompt, ()) =
        tokio::join!(client.call_tool("t", &()), client.get_prompt("p", &nothing), async {
            let call = server.request("tools/call").await;
            server.answer(&call, r#"{"content":[],"task":{"title":"buy milk"},"resultType":"x"}"#);
            let get = server.request("prompts/get").await;
            server.answer(&get, r#"{"messages":[],"task":{"title":"buy milk"}}"#);
        });
    assert!(result.unwrap().extra.get("task").is_some());
    assert!(prompt.unwrap().extra.get("task").is_some());
}

#[tokio::test(start_paused = true)]
async fn prompt_completion_and_read_requests_have_the_right_params() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let arguments = [("lang".to_owned(), "de".to_owned())].into();
    let target = mcp_client::request::CompletionTarget::Resource("file:///{path}");
    let (prompt, completion, read, ()) = tokio::join!(
        client.get_prompt("greet", &arguments),
        client.complete(target, "path", "a", &arguments),
        client.read_resource("file:///a b%20c"),
        async {
            let get = server.request("prompts/get").await;
            let sent = params(&get);
            assert_eq!(
                (&sent["name"], &sent["arguments"]),
                (&json!("greet"), &json!({"lang": "de"}))
            );
            server.answer(
                &get,
                r#"{"messages":[{"role":"user","content":{"type":"text","text":"Hallo"}}]}"#,
            );
            let complete = server.request("completion/complete").await;
            let sent = params(&complete);
            assert_eq!(sent["ref"], json!({"type": "ref/resource", "uri": "file:///{path}"}));
            assert_eq!(sent["argument"], json!({"name": "path", "value": "a"}));
            assert_eq!(sent["context"], json!({"arguments": {"lang": "de"}}));
            server.answer(&complete, r#"{"completion":{"values":["a","ab"],"hasMore":true}}"#);
            let read = server.request("resources/read").await;
            // Passed on unchanged: the URI is not normalized.
            assert_eq!(params(&read)["uri"], "file:///a b%20c");
            server.answer(
                &read,
                r#"{"contents":[{"uri":"x","text":"t"}],"ttlMs":1500,"cacheScope":"public","_meta":{"k":1}}"#,
            );
        }
    );
    assert_eq!(prompt.unwrap().messages[0].content.as_text(), Some("Hallo"));
    let completion = completion.unwrap();
    assert_eq!((completion.values.len(), completion.has_more), (2, true));
    let read = read.unwrap();
    assert_eq!(read.contents[0].text.as_deref(), Some("t"));
    assert_eq!(read.freshness.unwrap().ttl.as_millis(), 1500);
    assert_eq!(read.extra.get("_meta").unwrap().as_str(), r#"{"k":1}"#);
}

#[tokio::test(start_paused = true)]
async fn reads_prompts_and_completions_accept_call_options() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let nothing = BTreeMap::new();
    let target = mcp_client::request::CompletionTarget::Prompt("greet");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let options = || {
        let heard = heard.clone();
        let mut options = CallOptions::default();
        options.total_timeout = Some(Duration::from_secs(3));
        options.meta.push(("traceparent".into(), raw(r#""00-1""#)));
        options.on_progress =
            Some(Arc::new(move |report| heard.lock().unwrap().push(report.progress)));
        options
    };
    let began = Instant::now();
    let (prompt, completion, read, ()) = tokio::join!(
        client.get_prompt("greet", &nothing).with(options()),
        client.complete(target, "lang", "", &nothing).with(options()),
        client.read_resource("a:b").with(options()),
        async {
            for method in ["prompts/get", "completion/complete", "resources/read"] {
                let request = server.request(method).await;
                assert_eq!(params(&request)["_meta"]["traceparent"], "00-1", "{method}");
                if method != "completion/complete" {
                    server.progress(&request, 0.5);
                }
            }
        }
    );
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    for error in [prompt.unwrap_err(), completion.unwrap_err(), read.unwrap_err()] {
        assert!(
            matches!(error, CallError::Failed { failure: Failure::TimedOut(_), .. }),
            "{error}"
        );
    }
    assert_eq!(*heard.lock().unwrap(), [0.5, 0.5]);
}

#[tokio::test(start_paused = true)]
async fn a_read_sends_nothing_before_it_is_polled_and_is_cancelled_when_dropped() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let mut read = client.read_resource("a:b");
    assert_eq!(server.unread().await, [""; 0]);
    let request = tokio::select! {
        _ = &mut read => unreachable!("it ended without a response"),
        request = server.request("resources/read") => request,
    };
    // Options set after the first poll have no effect.
    let mut options = CallOptions::default();
    options.total_timeout = Some(Duration::from_millis(1));
    let mut read = read.with(options);
    let waited = tokio::time::timeout(Duration::from_secs(1), &mut read).await;
    assert!(waited.is_err());
    drop(read);
    let cancelled = server.notification("notifications/cancelled").await;
    assert_eq!(told(&cancelled)["requestId"], json!(request.id.as_integer()));
}

#[tokio::test(start_paused = true)]
async fn read_result_without_contents_is_invalid() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (read, ()) = tokio::join!(client.read_resource("x"), async {
        let read = server.request("resources/read").await;
        server.answer(&read, "{}");
    });
    assert_eq!(
        read.unwrap_err().to_string(),
        "invalid response to `resources/read`: `contents` is missing"
    );
}

#[tokio::test(start_paused = true)]
async fn methods_missing_in_an_era_are_not_sent() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let error = client.set_log_level(mcp_client::types::LogLevel::Info).await.unwrap_err();
    assert!(matches!(error, CallError::Unsupported(_)), "{error}");
    client.roots_changed();
    assert_eq!(server.unread().await, [""; 0]);

    let host = Host::offering(|offered| {
        offered.roots = true;
        offered.roots_list_changed = true;
    });
    let (client, mut server) = legacy(host.options()).await;
    let error = client.update_task("t", raw("{}")).await.unwrap_err();
    assert!(matches!(error, CallError::Unsupported(_)), "{error}");
    client.roots_changed();
    server.notification("notifications/roots/list_changed").await;
    let (set, pong, ()) = tokio::join!(
        client.set_log_level(mcp_client::types::LogLevel::Info),
        client.ping(),
        async {
            let set = server.request("logging/setLevel").await;
            assert_eq!(params(&set), json!({"level": "info"}));
            server.answer(&set, "{}");
            let ping = server.request("ping").await;
            assert_eq!(ping.params, None);
            server.answer(&ping, "{}");
        }
    );
    set.unwrap();
    pong.unwrap();
}
