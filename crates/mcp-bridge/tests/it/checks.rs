//! Validation of arguments and results.

use mcp_bridge::{CallContext, Event, tool::Note};
use serde_json::json;

use crate::support::{Fake, Reply, all, args, one};

fn typed() -> Fake {
    let fake = Fake::new(&[]);
    fake.tools(json!([{"name": "a", "inputSchema": {"type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer"}, "o": {"type": "object"}}},
        "outputSchema": {"type": "object", "required": ["ok"]}}]));
    fake.on_call(|_, _| Reply::Result(json!({"content": [], "structuredContent": {"ok": true}})));
    fake
}

#[tokio::test(start_paused = true)]
async fn arguments_sent_as_text_are_repaired_and_reported() {
    let fake = typed();
    let bridge = one(&fake, |_| {}).await;
    let mut events = bridge.events();
    let sent = args(&json!({"n": "5", "o": "{\"x\":1}"}));
    let outcome = bridge.call("mcp__srv__a", sent, CallContext::default()).await;
    assert!(!outcome.is_error, "{outcome}");
    assert_eq!(fake.seen("tools/call")[0]["arguments"], json!({"n": 5, "o": {"x": 1}}));
    let [Note::Repaired { changes }] = &outcome.notes[..] else { panic!("{:?}", outcome.notes) };
    assert_eq!(changes[..], ["n: text → number", "o: text → object"]);
    assert!(all(&mut events).iter().any(|event| matches!(event, Event::Repaired { .. })));
    let text = args(&json!("nonsense"));
    let outcome = bridge.call("mcp__srv__a", text, CallContext::default()).await;
    assert!(outcome.text_content().contains("must be an object"), "{outcome}");
}

#[cfg(feature = "validate")]
#[tokio::test(start_paused = true)]
async fn invalid_arguments_are_not_sent_and_problems_are_listed() {
    let fake = typed();
    let bridge = one(&fake, |_| {}).await;
    let wrong = args(&json!({"n": true}));
    let outcome = bridge.call("mcp__srv__a", wrong, CallContext::default()).await;
    assert_eq!(outcome.failure_kind(), Some(mcp_bridge::FailureKind::InvalidArguments));
    assert!(outcome.text_content().contains("- /n: true is not of type"), "{outcome}");
    assert_eq!(fake.calls(), 0);
}

#[cfg(feature = "validate")]
#[tokio::test(start_paused = true)]
async fn result_that_violates_its_schema_is_passed_on_with_a_note() {
    let fake = typed();
    fake.on_call(|_, _| Reply::Result(json!({"content": [], "structuredContent": {"no": 1}})));
    let bridge = one(&fake, |_| {}).await;
    let outcome = bridge.call("mcp__srv__a", args(&json!({"n": 1})), CallContext::default()).await;
    assert!(!outcome.is_error);
    let [Note::OutputMismatch { problem }] = &outcome.notes[..] else { panic!() };
    assert!(problem.contains("ok"), "{problem}");
}
