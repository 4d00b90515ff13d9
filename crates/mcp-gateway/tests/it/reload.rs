//! Replacement of servers while a gateway runs.

use std::time::Duration;

use mcp_gateway::Gateway;
use serde_json::json;

use crate::support::{Order, bridge, client, entry, names, options, shop};

#[tokio::test]
async fn call_in_flight_outlives_its_removed_server() {
    let slow = Order::slow("order");
    let (old, new) = (shop([slow.clone()]), shop([Order::quick("deliver")]));
    let mut options = options();
    options.consent.trust_client = true;
    let servers = bridge(&[("old", &old), ("new", &new)]);
    let gateway = Gateway::new(servers, options, vec![entry("old")]);
    gateway.open().await;
    let (client, caller) = (client(&gateway).await, client(&gateway).await);
    let call = tokio::spawn(async move {
        caller.call_tool("mcp__old__order", &json!({"id": 1})).await.unwrap().text()
    });
    slow.begun.notified().await;
    assert_eq!(gateway.calls_in_flight(), 1);

    let changes = gateway.set_servers(vec![entry("new")]);
    assert_eq!((changes.gone, changes.come), (vec!["old".to_owned()], vec!["new".to_owned()]));
    let offered = async {
        while !names(&client).await.contains(&"mcp__new__deliver".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), offered).await.unwrap();
    assert!(!names(&client).await.contains(&"mcp__old__order".to_owned()));

    slow.end();
    assert_eq!(call.await.unwrap(), r#"ordered {"id":1}"#);
    assert_eq!(gateway.calls_in_flight(), 0);
    let unchanged = gateway.set_servers(vec![entry("new")]);
    assert!(unchanged.is_empty(), "{unchanged:?}");
}
