//! Tools and search results in search mode.

use std::sync::{Arc, atomic::Ordering};

use mcp_bridge::trust::{Action, Rule, Rules, TrustPolicy};
use mcp_client::Client;
use mcp_gateway::{Gateway, ToolMode};
use serde_json::{Value, json};

use crate::support::{Order, bridge, client, entry, names, options, shop};

/// A gateway in search mode with two shops, each with a read-only tool and a writing one: `own` is trusted, `evil` is
/// not, and a rule allows `allowed`.
async fn front() -> (Gateway, Client, [Arc<Order>; 2]) {
    let (reads, writes) = (Order::reading("look"), Order::quick("buy"));
    let shop = shop([reads.clone(), writes.clone(), Order::reading("peep")]);
    let mut bridge = bridge(&[("own", &shop), ("evil", &shop)]);
    let rule = Rule::new("mcp:evil:peep", Action::Allow);
    bridge.policy = Arc::new(TrustPolicy::new(Rules::new([vec![rule]])));
    let options = options()
        .with_mode(ToolMode::Search)
        .with_consent(mcp_gateway::ClientConsent::default().with_trust_client(true));
    let mut own = entry("own");
    own.trust = true;
    let gateway = Gateway::new(bridge, options, vec![own, entry("evil")]);
    gateway.open().await;
    let client = client(&gateway).await;
    (gateway, client, [reads, writes])
}

#[tokio::test]
async fn tool_search_says_which_tool_runs_what_it_found() {
    let (_gateway, client, _) = front().await;
    let tools = client.list_tools().await.unwrap();
    let search = tools.iter().find(|tool| tool.name == "tool_search").unwrap();
    let description = search.description.as_deref().unwrap();
    assert!(description.contains("tool_call") && description.contains("tool_read"));
    assert!(!description.contains("load"), "{description}");
    let schema: Value = serde_json::from_str(search.input_schema.as_str()).unwrap();
    assert_eq!(schema["properties"]["limit"]["description"], "The most tools to return");
    let found = client.call_tool("tool_search", &json!({"query": "order article"})).await.unwrap();
    let found: Value = serde_json::from_str(&found.text()).unwrap();
    let mut lanes: Vec<(&str, &str)> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["id"].as_str().unwrap(), hit["callWith"].as_str().unwrap()))
        .collect();
    lanes.sort_unstable();
    assert_eq!(
        lanes,
        [
            ("mcp__evil__buy", "tool_call"),
            ("mcp__evil__look", "tool_call"),
            ("mcp__evil__peep", "tool_read"),
            ("mcp__own__buy", "tool_call"),
            ("mcp__own__look", "tool_read"),
            ("mcp__own__peep", "tool_read"),
        ]
    );
}

#[tokio::test]
async fn tool_read_is_read_only_and_runs_tools_that_are_known_to_read() {
    let (_gateway, client, [reads, writes]) = front().await;
    let tools = client.list_tools().await.unwrap();
    let claims = |name: &str| {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        tool.annotations.as_ref().and_then(|claims| claims.read_only_hint)
    };
    assert_eq!((claims("tool_read"), claims("tool_call")), (Some(true), None));
    for (id, runs) in [
        ("mcp__own__look", true),
        ("mcp__evil__peep", true),
        ("mcp__own__buy", false),
        // Annotations of an untrusted server are not reliable.
        ("mcp__evil__look", false),
        ("mcp__evil__buy", false),
        ("tool_call", false),
    ] {
        let ran = client.call_tool("tool_read", &json!({"id": id, "arguments": {}})).await.unwrap();
        assert_eq!(ran.is_error, !runs, "{id}: {ran:?}");
    }
    let refused = client.call_tool("tool_read", &json!({"id": "mcp__own__buy"})).await.unwrap();
    assert_eq!(refused.text(), "mcp__own__buy is not known to only read: call it with tool_call");
    assert_eq!(reads.calls.load(Ordering::Relaxed), 1);
    assert_eq!(writes.calls.load(Ordering::Relaxed), 0);
    let ran = client.call_tool("tool_call", &json!({"id": "mcp__own__buy"})).await.unwrap();
    assert!(!ran.is_error, "{ran:?}");
}

#[tokio::test]
async fn tools_for_resources_can_be_left_out() {
    let shop = shop([Order::quick("order")]);
    for (mode, offered) in [
        (ToolMode::All, true),
        (ToolMode::All, false),
        (ToolMode::Search, true),
        (ToolMode::Search, false),
    ] {
        let options = options().with_mode(mode).with_resource_tools(offered);
        let gateway = Gateway::new(bridge(&[("shop", &shop)]), options, vec![entry("shop")]);
        gateway.open().await;
        let client = client(&gateway).await;
        let names = names(&client).await;
        for tool in ["list_mcp_resources", "read_mcp_resource"] {
            assert_eq!(names.contains(&tool.to_owned()), offered, "{mode:?}: {names:?}");
        }
        if mode == ToolMode::Search {
            let call = json!({"id": "list_mcp_resources"});
            let called = client.call_tool("tool_call", &call).await.unwrap();
            assert_eq!(called.is_error, !offered, "{called:?}");
        }
        assert_eq!(client.list_resources().await.unwrap().items.len(), 1);
    }
}
