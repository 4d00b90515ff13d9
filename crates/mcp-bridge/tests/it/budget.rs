//! Schemas that are too expensive to check: their tools are called unchecked, and other calls are not delayed.
//!
//! The runtime has one thread, so a check that blocked it would hang these tests.

use mcp_bridge::{Bridge, CallContext, Event, ToolOutcome, tool::Note};
use serde_json::{Value, json};

use crate::support::{Fake, Reply, all, args, call, config, fakes, options};

/// `a(n)` applies `a(n-1)` twice: 2^40 paths in three kilobytes.
fn doubling() -> Value {
    let mut defs = json!({"a0": {"type": "string"}});
    for level in 1..=40 {
        let below = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        defs[format!("a{level}")] = json!({"allOf": [below, below]});
    }
    json!({"type": "object", "$defs": defs, "properties": {"p": {"$ref": "#/$defs/a40"}}})
}

/// About 256 KiB of branches for every item of an array.
fn wide() -> Value {
    let branches: Vec<Value> =
        (0..6_000).map(|n| json!({"type": "object", "required": [format!("k{n}")]})).collect();
    json!({"type": "object", "properties": {"p": {"type": "array", "items": {"anyOf": branches}}}})
}

/// A bridge with an ordinary server and a hostile one. The result of the hostile tool has `structured` content.
async fn beside(tool: Value, structured: Value) -> (Bridge, Fake) {
    let (hostile, good) = (Fake::new(&[]), Fake::new(&["ping"]));
    hostile.tools(json!([tool]));
    hostile.on_call(move |_, _| {
        Reply::Result(json!({"content": [], "structuredContent": structured.clone()}))
    });
    let bridge = Bridge::new(options(&fakes([("hostile", &hostile), ("good", &good)])));
    bridge.add_server_as_written(config("hostile"));
    bridge.add_server_as_written(config("good"));
    bridge.start().await;
    (bridge, hostile)
}

/// Calls the hostile tool, and the ordinary one ten times concurrently.
async fn both(bridge: &Bridge, arguments: &Value) -> ToolOutcome {
    let hostile = bridge.call("mcp__hostile__t", args(arguments), CallContext::default());
    let ordinary = async {
        for _ in 0..10 {
            assert!(!call(bridge, "mcp__good__ping").await.is_error);
        }
    };
    tokio::join!(hostile, ordinary).0
}

fn reason(outcome: &ToolOutcome) -> &str {
    let mut reasons = outcome.notes.iter().filter_map(|note| match note {
        Note::Unchecked { reason } => Some(reason.as_str()),
        _ => None,
    });
    reasons.next_back().unwrap_or_else(|| panic!("{:?}", outcome.notes))
}

#[tokio::test(start_paused = true)]
async fn doubling_input_schema_is_not_checked_and_the_tool_is_called() {
    let tool = json!({"name": "t", "inputSchema": doubling()});
    let (bridge, hostile) = beside(tool, json!(null)).await;
    let mut events = bridge.events();
    let outcome = both(&bridge, &json!({"p": "s"})).await;
    assert!(!outcome.is_error, "{outcome}");
    assert_eq!(hostile.calls(), 1);
    let expected = "arguments not checked: the schema has more than 50000 paths through \
                    references and branches";
    assert_eq!(reason(&outcome), expected);
    let told = all(&mut events)
        .into_iter()
        .any(|event| matches!(event, Event::Unchecked { reason, .. } if &*reason == expected));
    assert!(told);
}

#[tokio::test(start_paused = true)]
async fn doubling_output_schema_is_not_checked_and_the_result_is_passed_on() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": doubling()});
    let (bridge, _hostile) = beside(tool, json!({"p": "s"})).await;
    let outcome = both(&bridge, &json!({})).await;
    assert!(!outcome.is_error && outcome.structured.is_some());
    assert!(reason(&outcome).starts_with("the result not checked: the schema has more than"));
}

#[tokio::test(start_paused = true)]
async fn many_branches_for_a_large_result_are_not_checked() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": wide()});
    let (bridge, _hostile) = beside(tool, json!({"p": vec![json!({}); 100_000]})).await;
    let outcome = both(&bridge, &json!({})).await;
    assert!(!outcome.is_error);
    assert_eq!(
        reason(&outcome),
        "the result not checked: checking would take more than 2000000 steps"
    );
}

#[tokio::test(start_paused = true)]
async fn result_too_large_to_parse_is_not_checked() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"}});
    let (bridge, _hostile) = beside(tool, json!({"p": "x".repeat(9 << 20)})).await;
    let outcome = both(&bridge, &json!({})).await;
    assert!(reason(&outcome).contains("bytes"), "{:?}", outcome.notes);
}

/// Too expensive for the caller's thread but within the budget: checked on a blocking thread.
#[tokio::test(start_paused = true)]
async fn check_on_a_blocking_thread_reports_problems() {
    let tool = json!({"name": "t", "inputSchema": wide()});
    let (bridge, hostile) = beside(tool, json!(null)).await;
    let outcome = both(&bridge, &json!({"p": [{"k5": 1}, {"k5999": 1}, {}]})).await;
    assert_eq!(outcome.failure_kind(), Some(mcp_bridge::FailureKind::InvalidArguments));
    assert_eq!(hostile.calls(), 0);
    let outcome = both(&bridge, &json!({"p": [{"k5": 1}, {"k5999": 1}]})).await;
    assert!(!outcome.is_error && outcome.notes.is_empty(), "{:?}", outcome.notes);
}
