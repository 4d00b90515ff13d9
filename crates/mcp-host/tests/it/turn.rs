//! A turn of a bridge in the format of a model API.

use mcp_host::{
    CallContext, Delivery, FailureKind, RawJson, ToolSpec,
    providers::{Api, ModelCall, ModelTurn, openai::chat::Chat},
    testing::{Scripted, bridge_over},
};

fn schema(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

fn files() -> Scripted {
    let mut read = ToolSpec::new("read", "Reads a file.");
    read.input_schema = schema(
        r#"{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"lines":{"type":"integer"}}}"#,
    );
    Scripted::new()
        .tool_of(read)
        .on_call("read", &serde_json::json!({"path": "a"}), "text of a")
        .on_call("read", &serde_json::json!({"path": "b"}), "text of b")
}

#[tokio::test]
async fn calls_of_one_response_are_answered_in_order() {
    let server = files();
    let (bridge, api) = (bridge_over(server.clone()).await, Chat::strict());
    let name = "mcp__server__read";
    let calls = [
        ModelCall::new("1", name, r#"{"path":"a","lines":null}"#),
        ModelCall::new("2", name, r#"{"path":"#),
        ModelCall::new("3", "mcp__server__raed", "{}"),
        ModelCall::new("4", name, r#"{"path":"b"}"#),
    ];
    let context = CallContext::default();
    let outcomes = bridge.snapshot().outcomes(api.limits(), &calls, &context).await;
    assert_eq!(outcomes[0].text_content(), "text of a", "null counts as an absent member");
    assert_eq!(outcomes[1].failure_kind(), Some(FailureKind::InvalidArguments));
    assert_eq!(outcomes[1].failure.as_ref().unwrap().delivery, Delivery::NotSent);
    assert_eq!(outcomes[2].failure_kind(), Some(FailureKind::NotFound));
    assert_eq!(outcomes[3].text_content(), "text of b");
    assert_eq!(server.calls().len(), 2);
    let messages = bridge.snapshot().answer(&api, &calls, &context).await;
    let ids: Vec<String> =
        messages.iter().map(|one| one.get("tool_call_id").unwrap().decode().unwrap()).collect();
    assert_eq!(ids, ["1", "2", "3", "4"]);
}

#[tokio::test]
async fn tool_renamed_for_the_api_is_found() {
    let bridge = bridge_over(files()).await;
    let mut spec = ToolSpec::new("count words", "Counts.");
    spec.hints = mcp_host::tools::Hints::reading();
    bridge.add_tool(std::sync::Arc::new(Fixed(spec))).unwrap();
    let (turn, api) = (bridge.snapshot(), Chat::default());
    let (definitions, losses) = turn.definitions(&api);
    assert_eq!((definitions.len(), losses.len()), (2, 1));
    let name: String = definitions
        .iter()
        .map(|one| one.get("function").unwrap().get("name").unwrap())
        .map(|name| name.decode::<String>().unwrap())
        .find(|name| name.starts_with("count_words"))
        .unwrap();
    let messages =
        turn.answer(&api, &[ModelCall::new("1", &name, "")], &CallContext::default()).await;
    assert!(messages[0].as_str().contains("three"), "{}", messages[0].as_str());
}

struct Fixed(ToolSpec);

impl mcp_host::Tool for Fixed {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, _: CallContext) -> mcp_host::BoxFuture<'_, mcp_host::ToolOutcome> {
        Box::pin(async { mcp_host::ToolOutcome::text("three") })
    }
}
