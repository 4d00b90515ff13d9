//! The first ten issues of a host author's report, each closed by tests through the public API. `docs/features.md` has
//! the same list as H1 to H10.
//!
//! | issue | test |
//! |---|---|
//! | 1 crypto provider | the hosts of `tests/neighbours`, which `cargo xtask examples` builds and runs |
//! | 2 tools after a login | `login::tools_are_listed_after_a_login` |
//! | 3 provider formats, limits, `strict`, nulls, empty arguments | `every_api_takes_the_definitions_of_a_turn`, `arguments_as_models_send_them_are_read_or_refused_with_advice`, `turn::calls_of_one_response_are_answered_in_order` |
//! | 4 trace parent and replay | `trace_parent_is_sent_unchanged_and_a_traced_call_is_replayed` |
//! | 5 names, facade, docs.rs | `every_library_has_metadata_for_docs_rs`, `names::every_type_in_a_reachable_signature_can_be_named` |
//! | 6 typed tools and results | `typed_function_is_a_host_tool_and_a_served_tool` |
//! | 7 any byte stream | `any_byte_stream_is_a_transport` |
//! | 8 `_meta` | `meta_is_sent_with_a_call_and_read_from_a_tool_and_a_result` |
//! | 9 typed forms | `form_has_typed_fields_with_checks` |
//! | 10 JSON and spans | `events_outcomes_status_and_explanations_are_json`, `approval_requests_plans_and_failed_calls_are_json`, and for spans the tests named in `docs/features.md` |
//!
//! Two more of its requests follow: sub-agents (11), closures and setters (12).

use std::sync::{Arc, Mutex};

use mcp_host::{
    Approval, ApprovalRequest, Bridge, BridgeOptions, CallContext, ConversationOptions,
    FailureKind, RawJson, ServerConfig, ToolOutcome, ToolSpec,
    client::{
        Client, ClientOptions, ElicitRequest,
        types::form::{FieldKind, FieldValue},
    },
    config::{Layers, ReadOptions, Scope, Sdk, Transport, read, resolve},
    providers::{
        Api, ModelTurn,
        anthropic::Anthropic,
        gemini::Gemini,
        generic::Generic,
        openai::{chat::Chat, responses::Responses},
    },
    serve::{ServeOptions, ToolServer},
    servers::DefaultConnector,
    testing::{
        Scripted, bridge_over,
        faults::{Fault, Faulty, Plan, When},
        record::{Recorder, Replay},
    },
    tool,
    tools::TraceParent,
    transport::Streams,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

fn value(json: &impl Serialize) -> Value {
    serde_json::from_str(RawJson::encode(json).unwrap().as_str()).unwrap()
}

fn empty() -> RawJson {
    RawJson::empty_object()
}

/// A bridge with an in-process server that is not trusted.
fn untrusted(server: &ToolServer, options: BridgeOptions) -> Bridge {
    let connector = DefaultConnector::new().register("srv", Arc::new(server.in_process()));
    let bridge = Bridge::new(options.with_connector(connector));
    let config = ServerConfig::new("srv".parse().unwrap(), Transport::Sdk(Sdk::default()));
    bridge.add_server_as_written(config);
    bridge
}

#[tokio::test]
async fn every_api_takes_the_definitions_of_a_turn() {
    let mut either = ToolSpec::new("either", "x".repeat(3_000));
    either.input_schema = RawJson::parse(
        r#"{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"number"}}}]}"#,
    )
    .unwrap();
    let server = Scripted::new().tool_of(either).on_any_call("either", "done");
    let bridge = bridge_over(server).await;
    let turn = bridge.snapshot();
    for api in [&Chat::default() as &dyn Api, &Chat::strict(), &Responses::default()] {
        let (tools, losses) = turn.definitions(api);
        let tool = value(&tools[0]);
        let function = tool.get("function").unwrap_or(&tool);
        assert!(function["parameters"].get("oneOf").is_none(), "{tool}");
        assert!(function["description"].as_str().unwrap().chars().count() <= 1_024);
        assert!(!losses.is_empty());
    }
    for api in [&Anthropic::default() as &dyn Api, &Gemini::default(), &Gemini::open_api()] {
        let (tools, _) = turn.definitions(api);
        assert!(!tools[0].as_str().contains("oneOf"), "{}", tools[0].as_str());
    }
    // The description is truncated, so that the search tool, which shows all of it, is offered as well.
    let plain = value(&turn.definitions(&Generic::default()).0);
    assert_eq!(
        (&plain[0]["name"], plain.as_array().unwrap().len()),
        (&json!("mcp__server__either"), 3)
    );
}

#[tokio::test]
async fn arguments_as_models_send_them_are_read_or_refused_with_advice() {
    let bridge = bridge_over(Scripted::new().tool("t", "Does.").on_any_call("t", "done")).await;
    let turn = bridge.snapshot();
    for text in ["", " ", "null", "{}", r#""{}""#] {
        let outcome = turn.call_text("mcp__server__t", text, CallContext::default()).await;
        assert_eq!(outcome.text_content(), "done", "{text}");
    }
    for text in [r#"{"a":"#, "[]", "a=b", r#"{"a":1,"a":2}"#] {
        let outcome = turn.call_text("mcp__server__t", text, CallContext::default()).await;
        assert_eq!(outcome.failure_kind(), Some(FailureKind::InvalidArguments), "{text}");
    }
}

#[tokio::test]
async fn trace_parent_is_sent_unchanged_and_a_traced_call_is_replayed() {
    let (heard, server) =
        (Arc::new(Mutex::new(None)), ToolServer::new(ServeOptions::new("srv", "1")));
    let hearing = heard.clone();
    server.add_tool(tool("t", "Does").read_only().run(move |(), ctx| {
        *hearing.lock().unwrap() = Some((ctx.trace_parent, ctx.trace_state));
        async { Ok("done") }
    }));
    let parent: TraceParent =
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap();
    let context = || CallContext::default().with_trace_parent(parent).with_trace_state("vendor=1");
    let recorder = Arc::new(Recorder::new(server.in_process()));
    let live = bridge_over(recorder.clone()).await;
    live.call("mcp__server__t", empty(), context()).await;
    assert_eq!(*heard.lock().unwrap(), Some((Some(parent), Some("vendor=1".into()))));
    live.shutdown().await;
    let played = bridge_over(Replay::new(recorder.cassette())).await;
    let other = CallContext::default().with_trace_parent(TraceParent::new());
    assert_eq!(played.call("mcp__server__t", empty(), other).await.text_content(), "done");
}

#[test]
fn every_library_has_metadata_for_docs_rs() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut libraries = 0;
    for folder in std::fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.join("src/lib.rs").is_file() {
            continue;
        }
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        for line in
            ["[package.metadata.docs.rs]", "repository", "homepage", "documentation", "readme"]
        {
            assert!(manifest.contains(line), "{name}: {line}");
        }
        let root = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        let has_features = manifest.contains("[features]");
        assert!(
            !has_features || root.contains("feature(doc_cfg)"),
            "{name}: features are not labelled"
        );
        libraries += 1;
    }
    assert!(libraries > 10, "{libraries}");
}

#[derive(Deserialize, JsonSchema)]
struct Factors {
    x: f64,
    y: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Product {
    value: f64,
}

fn multiply() -> Arc<dyn mcp_host::Tool> {
    tool("multiply", "Multiplies")
        .read_only()
        .run(|factors: Factors, _ctx| async move { Ok(Product { value: factors.x * factors.y }) })
}

#[tokio::test]
async fn typed_function_is_a_host_tool_and_a_served_tool() {
    let bridge = Bridge::new(BridgeOptions::default());
    bridge.add_tool(multiply()).unwrap();
    let arguments = RawJson::parse(r#"{"x":6,"y":7}"#).unwrap();
    let outcome = bridge.call("multiply", arguments, CallContext::default()).await;
    assert_eq!(outcome.structured_as::<Product>().unwrap(), Product { value: 42.0 });

    let server = ToolServer::new(ServeOptions::new("srv", "1"));
    server.add_tool(multiply());
    let client = Client::connect(&server.in_process(), ClientOptions::default()).await.unwrap();
    assert!(client.list_tools().await.unwrap().items[0].output_schema.is_some());
    let result = client.call_tool("multiply", &json!({"x": 6, "y": 7})).await.unwrap();
    assert_eq!(result.structured::<Product>().unwrap(), Product { value: 42.0 });
}

#[tokio::test]
async fn any_byte_stream_is_a_transport() {
    let server = ToolServer::new(ServeOptions::new("srv", "1"));
    server.add_tool(multiply());
    let streams = Streams::new(move || {
        let (ours, theirs) = tokio::io::duplex(4_096);
        let server = server.clone();
        tokio::spawn(async move { server.serve_stream(theirs).await });
        async { Ok(ours) }
    });
    let bridge = bridge_over(streams).await;
    assert!(bridge.snapshot().get("mcp__server__multiply").is_some());
    bridge.shutdown().await;
}

#[tokio::test]
async fn meta_is_sent_with_a_call_and_read_from_a_tool_and_a_result() {
    let heard = Arc::new(Mutex::new(None));
    let (server, hearing) = (ToolServer::new(ServeOptions::new("srv", "1")), heard.clone());
    let meta = |text: &str| RawJson::parse(text.to_owned()).unwrap();
    let (of_tool, of_result) = (meta(r#"{"example.com/a":1}"#), meta(r#"{"example.com/b":2}"#));
    let result = of_result.clone();
    server.add_tool(tool("t", "Does").read_only().meta(of_tool.clone()).respond(move |(), ctx| {
        *hearing.lock().unwrap() = ctx.meta;
        let mut outcome = ToolOutcome::text("done");
        outcome.meta = Some(result.clone());
        async move { outcome }
    }));
    let bridge = bridge_over(server.in_process()).await;
    let turn = bridge.snapshot();
    assert_eq!(turn.tools()[0].spec().meta, Some(of_tool));
    let context = CallContext::default().with_meta(meta(r#"{"example.com/c":3}"#));
    let outcome = turn.call("mcp__server__t", empty(), context).await;
    assert_eq!(outcome.meta.unwrap().get("example.com/b"), of_result.get("example.com/b"));
    assert_eq!(heard.lock().unwrap().as_ref().unwrap().as_str(), r#"{"example.com/c":3}"#);
}

#[test]
fn form_has_typed_fields_with_checks() {
    let schema = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":9},
        "c":{"type":"string","enum":["red","blue"]}}}"#;
    let form = ElicitRequest::form("Which?", RawJson::parse(schema).unwrap());
    let fields = form.fields().unwrap();
    assert!(matches!(
        fields[0].kind,
        FieldKind::Number { is_integer: true, maximum: Some(9.0), .. }
    ));
    assert!(fields[0].check(&FieldValue::Number(10.0)).is_err() && fields[0].is_required);
    assert!(matches!(&fields[1].kind, FieldKind::One(choices) if choices.len() == 2));
    assert!(fields[1].check(&"green".into()).is_err());
    assert!(form.check(&RawJson::parse(r#"{"n":3,"c":"red"}"#).unwrap()).is_ok());
}

#[tokio::test]
async fn events_outcomes_status_and_explanations_are_json() {
    let bridge = bridge_over(Scripted::new().tool("t", "Does.").on_any_call("t", "done")).await;
    let mut events = bridge.events();
    let outcome = bridge.call("mcp__server__t", empty(), CallContext::default()).await;
    assert_eq!(value(&outcome)["content"][0]["text"], "done");
    let event = value(&events.next().await.unwrap());
    assert!(event.is_object(), "{event}");
    assert!(value(&bridge.status()).is_array());
    assert!(value(&bridge.explain("server").unwrap()).is_object());
    assert!(value(&bridge.counters()).is_object());
}

#[tokio::test]
async fn approval_requests_plans_and_failed_calls_are_json() {
    let server = ToolServer::new(ServeOptions::new("srv", "1"));
    server.add_tool(tool("t", "Does").run(|(), _ctx| async { Ok("done") }));
    let asked = Arc::new(Mutex::new(Value::Null));
    let asking = asked.clone();
    let options = BridgeOptions::default().with_approver(move |request: ApprovalRequest| {
        *asking.lock().unwrap() = value(&request);
        async { Approval::Deny }
    });
    let bridge = untrusted(&server, options);
    bridge.start().await;
    let arguments = || RawJson::parse(r#"{"x":1.50}"#).unwrap();
    bridge.call("mcp__srv__t", arguments(), CallContext::default()).await;
    let shape = json!({"conversation": {"id": bridge.conversation().id(), "name": null},
        "tool": "mcp__srv__t", "permission": "mcp:srv:t", "server": "srv", "description": "Does",
        "arguments": {"x": 1.5}, "reason": asked.lock().unwrap()["reason"], "changed": null,
        "changedIsCut": false, "onceOnly": asked.lock().unwrap()["onceOnly"]});
    assert_eq!(*asked.lock().unwrap(), shape);

    bridge.conversation().set_plan_mode(true);
    bridge.call("mcp__srv__t", arguments(), CallContext::default()).await;
    let planned = bridge.conversation().planned();
    let shape = json!({"id": planned[0].id, "tool": "mcp__srv__t", "arguments": {"x": 1.5},
        "hash": planned[0].hash});
    assert_eq!(value(&planned[0]), shape);
}

#[tokio::test(start_paused = true)]
async fn call_that_may_have_run_is_kept_as_json() {
    let plan = Plan::new().incoming(When::Method("tools/call".into()), Fault::Drop);
    let bridge = bridge_over(Faulty::new(Scripted::new().tool("t", "Does."), plan)).await;
    let outcome = bridge.call("mcp__server__t", empty(), CallContext::default()).await;
    let failed: Vec<Value> = bridge.failed_calls().iter().map(value).collect();
    let shape = json!({"tool": "mcp__server__t", "arguments": {}, "text": outcome.text_content(),
        "failure": {"kind": "timed_out", "delivery": "unknown"}});
    assert_eq!(failed, [shape]);
}

#[tokio::test]
async fn plan_mode_and_filters_reach_sub_agents() {
    let server = Scripted::new().tool("write", "Writes.").tool("hide", "Hides.");
    let bridge = bridge_over(server.clone()).await;
    let main =
        bridge.start_conversation(ConversationOptions::default().with_deny(["mcp:server:hide"]));
    main.set_plan_mode(true);
    let sub = main.derive(ConversationOptions::default().with_name("sub"));
    let outcome = sub.call("mcp__server__write", empty(), CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Queued));
    let outcome = sub.call("mcp__server__hide", empty(), CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::NotFound));
    assert!(server.calls().is_empty());
}

#[tokio::test]
async fn tutorial_call_works_and_a_call_without_approver_is_explained() {
    let text = br#"{"mcpServers": {"srv": {"type": "sdk", "trust": true}}}"#;
    let mut layers = Layers::new();
    layers.push(Scope::User, read(text, &ReadOptions::new("mcp.json")));
    let server = ToolServer::new(ServeOptions::new("srv", "1"));
    server.add_tool(tool("t", "Does").run(|(), _ctx| async { Ok("done") }));
    let connector = DefaultConnector::new().register("srv", Arc::new(server.in_process()));
    let bridge = Bridge::new(BridgeOptions::default().with_connector(connector));
    bridge.add_servers(&resolve(&layers));
    bridge.start().await;
    let outcome = bridge.call("mcp__srv__t", empty(), CallContext::default()).await;
    assert_eq!(outcome.text_content(), "done");

    let bridge = untrusted(&server, BridgeOptions::default());
    bridge.start().await;
    let outcome = bridge.call("mcp__srv__t", empty(), CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Denied));
    assert!(outcome.text_content().contains("no user was asked"), "{outcome}");
}

#[tokio::test]
async fn closure_is_an_approver_and_options_are_one_expression() {
    let server = ToolServer::new(ServeOptions::new("srv", "1"));
    server.add_tool(tool("t", "Does").run(|(), _ctx| async { Ok("done") }));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let asking = asked.clone();
    let options = BridgeOptions::default().with_client_info("host", "1.0.0").with_approver(
        move |request: ApprovalRequest| {
            asking.lock().unwrap().push(request.permission);
            async { Approval::Once }
        },
    );
    let bridge = untrusted(&server, options);
    bridge.start().await;
    let outcome = bridge.call("mcp__srv__t", empty(), CallContext::default()).await;
    assert_eq!(outcome.text_content(), "done");
    assert_eq!(*asked.lock().unwrap(), ["mcp:srv:t"]);
}
