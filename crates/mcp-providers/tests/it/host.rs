//! Helpers for hosts: definitions of a turn, calls among its tools, reports as JSON.

use std::sync::Arc;

use mcp_providers::{Api, ModelCall, definitions, gemini::Gemini, openai::chat::Chat};
use mcp_tool::{BoxFuture, CallContext, FailureKind, RawJson, Tool, ToolOutcome, ToolSpec};

struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move { ToolOutcome::text(arguments.as_str()) })
    }
}

fn turn() -> Vec<Arc<dyn Tool>> {
    let mut either = ToolSpec::new("git log", "Shows commits.");
    either.input_schema = RawJson::parse(
        r#"{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer","exclusiveMinimum":0}},
            "required":["path"]}"#,
    )
    .unwrap();
    vec![Arc::new(Echo(ToolSpec::new("echo", "Repeats."))), Arc::new(Echo(either))]
}

#[test]
fn tools_of_a_turn_become_definitions_in_one_call() {
    let turn = turn();
    let (tools, _) = definitions(&Chat::default(), &turn);
    let of_specs = definitions(&Chat::default(), turn.iter().map(Tool::spec)).0;
    assert_eq!(tools, of_specs);
    assert_eq!(tools.len(), 2);
}

#[tokio::test]
async fn calls_find_their_tool_by_its_name_in_the_api() {
    let (api, turn) = (Chat::strict(), turn());
    let name = api.definition(turn[1].spec()).name;
    let run = |call: ModelCall| {
        let (turn, limits) = (turn.clone(), api.limits());
        async move { call.run_among(limits, &turn, CallContext::default()).await }
    };
    let outcome = run(ModelCall::new("1", &name, r#"{"path":"a","lines":null}"#)).await;
    assert_eq!(outcome.text_content(), r#"{"path":"a"}"#, "null counts as an absent member");
    let outcome = run(ModelCall::new("2", &name, r#"{"path":"#)).await;
    assert_eq!(outcome.failure_kind(), Some(FailureKind::InvalidArguments));
    let outcome = run(ModelCall::new("3", "nothing", "")).await;
    assert_eq!(outcome.text_content(), "there is no tool called nothing");
}

#[test]
fn reports_are_json() {
    let (_, losses) = definitions(&Gemini::open_api(), &turn());
    let json = RawJson::encode(&losses.iter().map(|(_, loss)| loss).collect::<Vec<_>>()).unwrap();
    assert!(
        json.as_str().contains(r#""lost":"name","text":"the name `git log` is not supported""#)
    );
    let call = RawJson::encode(&ModelCall::new("1", "echo", "")).unwrap();
    assert_eq!(call.as_str(), r#"{"id":"1","name":"echo","arguments":{}}"#);
    let call = RawJson::encode(&ModelCall::new("1", "echo", "[]")).unwrap();
    assert!(call.as_str().contains(r#""refused":"the arguments are not a JSON object"#));
    let definition = RawJson::encode(&Chat::default().definition(turn()[0].spec())).unwrap();
    assert!(definition.get("definition").is_some() && definition.get("losses").is_some());
}
