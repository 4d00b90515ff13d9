//! Default arguments, skipped validation, and uncut results.

use mcp_bridge::{BridgeOptions, OutputLimits, tool::Note};
use serde_json::json;

use crate::support::{Fake, Reply, call, one};

fn screenshot() -> Fake {
    let fake = Fake::new(&[]);
    fake.tools(json!([{"name": "shot", "inputSchema": {"type": "object", "required": ["scale"],
        "properties": {"scale": {"type": "string", "default": "css"}}},
        "outputSchema": {"type": "object", "required": ["path"]}}]));
    fake.on_call(|_, arguments| {
        Reply::Result(json!({"content": [], "structuredContent": {"path": arguments["scale"]}}))
    });
    fake
}

#[tokio::test(start_paused = true)]
async fn required_argument_with_a_default_is_filled_in_before_validation() {
    let bridge = one(&screenshot(), |_| {}).await;
    let outcome = call(&bridge, "mcp__srv__shot").await;
    assert_eq!(outcome.text_content(), r#"{"path":"css"}"#);
    let changes = vec![r#"scale: absent → "css""#.to_owned()];
    assert_eq!(outcome.notes, [Note::Repaired { changes }]);
}

#[cfg(feature = "validate")]
#[tokio::test(start_paused = true)]
async fn call_that_is_not_validated_sends_its_arguments_as_given() {
    use mcp_bridge::{CallContext, FailureKind};

    use crate::support::args;

    let fake = screenshot();
    let bridge = one(&fake, |_| {}).await;
    let wrong = args(&json!({"scale": 5}));
    let refused = bridge.call("mcp__srv__shot", wrong.clone(), CallContext::default()).await;
    assert_eq!(refused.failure_kind(), Some(FailureKind::InvalidArguments));
    let mut context = CallContext::default();
    context.no_validate = true;
    let outcome = bridge.call("mcp__srv__shot", wrong, context.clone()).await;
    assert_eq!((outcome.text_content().as_str(), outcome.notes.len()), (r#"{"path":5}"#, 0));
    bridge.call("mcp__srv__shot", args(&json!({})), context.clone()).await;
    assert_eq!(fake.seen("tools/call")[1]["arguments"], json!({}), "no defaults are added");
    let list = bridge.call("mcp__srv__shot", args(&json!([1])), context).await;
    assert_eq!(list.failure_kind(), Some(FailureKind::InvalidArguments));
}

/// A file of two megabytes, as text and as the structured content that wraps it.
fn long() -> Fake {
    let fake = Fake::new(&["read"]);
    fake.on_call(|_, _| {
        let text = "línea\n".repeat(300_000);
        Reply::Result(json!({"content": [{"type": "text", "text": text}],
            "structuredContent": {"content": text}}))
    });
    fake
}

#[tokio::test(start_paused = true)]
async fn unlimited_output_shows_long_content_once_and_whole() {
    let unlimited = |options: &mut BridgeOptions| options.output = OutputLimits::unlimited();
    let outcome = call(&one(&long(), unlimited).await, "mcp__srv__read").await;
    assert_eq!((outcome.content.len(), outcome.notes.len()), (1, 0));
    assert_eq!(outcome.text_content().len(), 300_000 * 7);
    assert!(outcome.structured.is_some());
}

#[tokio::test(start_paused = true)]
async fn structured_content_is_kept_after_truncation_on_request() {
    let cut = call(&one(&long(), |_| {}).await, "mcp__srv__read").await;
    assert!(cut.structured.is_none());
    let keep = |options: &mut BridgeOptions| options.output.keep_structured = true;
    let kept = call(&one(&long(), keep).await, "mcp__srv__read").await;
    assert!(kept.text_content().chars().count() < 101_000);
    assert!(kept.structured.unwrap().as_bytes().len() > 2_000_000);
}
