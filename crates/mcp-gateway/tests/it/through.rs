//! Tools, consent and resources through a gateway.

use std::sync::{Arc, atomic::Ordering};

use mcp_client::{Client, ClientOptions};
use mcp_gateway::{Gateway, ToolMode};
use serde_json::{Value, json};

use crate::support::{Order, User, bridge, client, entry, gateway, names, options, shop};

#[tokio::test]
async fn every_tool_is_listed_and_called() {
    let shop = shop([Order::quick("order"), Order::quick("cancel")]);
    let gateway = gateway(&shop, options()).await;
    let client = client(&gateway).await;
    let names = names(&client).await;
    assert!(names.contains(&"mcp__shop__order".to_owned()), "{names:?}");
    assert!(names.contains(&"mcp__shop__cancel".to_owned()), "{names:?}");
    let result = client.call_tool("mcp__shop__order", &json!({"id": 7})).await.unwrap();
    assert_eq!(result.text(), r#"ordered {"id":7}"#);
    let instructions = client.server().instructions.clone().unwrap();
    assert!(instructions.contains("in front of these: shop"), "{instructions}");
}

#[tokio::test]
async fn in_search_mode_a_tool_is_found_with_its_schema_and_run_by_tool_call() {
    let shop = shop([Order::quick("order")]);
    let mut options = options();
    options.mode = ToolMode::Search;
    let gateway = gateway(&shop, options).await;
    let client = client(&gateway).await;
    let before = names(&client).await;
    assert!(before.contains(&"tool_search".to_owned()), "{before:?}");
    assert!(!before.contains(&"mcp__shop__order".to_owned()), "{before:?}");
    let found = client.call_tool("tool_search", &json!({"query": "order article"})).await.unwrap();
    let found: Value = serde_json::from_str(&found.text()).unwrap();
    let hit = &found["matches"][0];
    assert_eq!(hit["inputSchema"]["type"], "object", "{found}");
    let arguments = json!({"id": hit["id"], "arguments": {"id": 7}});
    let result = client.call_tool("tool_call", &arguments).await.unwrap();
    assert_eq!(result.text(), r#"ordered {"id":7}"#);
    let missing = client.call_tool("tool_call", &json!({"id": "none"})).await.unwrap();
    assert!(missing.is_error && missing.text().contains("no tool called `none`"), "{missing:?}");
    assert_eq!(names(&client).await, before, "the list does not grow");
}

#[tokio::test]
async fn the_user_of_the_client_decides_about_a_call() {
    let order = Order::quick("order");
    let shop = shop([order.clone()]);
    let gateway = Gateway::new(bridge(&[("shop", &shop)]), options(), vec![entry("shop")]);
    gateway.open().await;
    let user = Arc::new(User::default());
    let mut options = ClientOptions::default();
    options.handler = user.clone();
    let client = Client::connect(&gateway.server().in_process(), options).await.unwrap();

    let declined = client.call_tool("mcp__shop__order", &json!({"id": 7})).await.unwrap();
    assert!(declined.is_error, "{declined:?}");
    assert_eq!(order.calls.load(Ordering::Relaxed), 0);

    user.accepts.store(true, Ordering::Relaxed);
    let accepted = client.call_tool("mcp__shop__order", &json!({"id": 7})).await.unwrap();
    assert_eq!(accepted.text(), r#"ordered {"id":7}"#);
    let asked = user.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].contains("mcp:shop:order") && asked[0].contains(r#"{"id":7}"#), "{asked:?}");
}

#[tokio::test]
async fn resources_are_read_from_the_server_that_lists_them_or_has_their_template() {
    let shop = shop([]);
    let gateway = gateway(&shop, options()).await;
    let client = client(&gateway).await;
    let listed = client.list_resources().await.unwrap();
    assert_eq!(listed.iter().map(|one| &*one.uri).collect::<Vec<_>>(), ["shop://list"]);
    for uri in ["shop://list", "shop://article/7"] {
        let read = client.read_resource(uri).await.unwrap();
        assert_eq!(read.contents[0].text.as_deref(), Some(&*format!("all of {uri}")));
    }
    let unknown = client.read_resource("bank://account").await;
    assert!(unknown.is_err(), "{unknown:?}");
}
