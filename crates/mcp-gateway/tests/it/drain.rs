//! Draining of a gateway.

use std::time::Duration;

use serde_json::json;

use crate::support::{Order, client, gateway, options, shop};

#[tokio::test]
async fn drain_waits_for_calls_in_flight_and_rejects_new_ones() {
    let slow = Order::slow("order");
    let shop = shop([slow.clone()]);
    let gateway = gateway(&shop, options()).await;
    let caller = client(&gateway).await;
    let call = tokio::spawn(async move {
        caller.call_tool("mcp__shop__order", &json!({})).await.unwrap().text()
    });
    slow.begun.notified().await;
    let late = client(&gateway).await;
    let mut drain = std::pin::pin!(gateway.drain());
    let early = tokio::time::timeout(Duration::from_millis(50), &mut drain).await;
    assert!(early.is_err(), "a call is in flight");
    let refused = late.call_tool("mcp__shop__order", &json!({})).await.unwrap();
    assert!(refused.is_error && refused.text().contains("about to end"), "{refused:?}");
    slow.end();
    drain.await;
    assert_eq!(call.await.unwrap(), "ordered {}");
}

#[tokio::test]
async fn drain_is_limited_by_its_timeout() {
    let slow = Order::slow("order");
    let shop = shop([slow.clone()]);
    let mut options = options();
    options.drain_timeout = Duration::from_millis(20);
    let gateway = gateway(&shop, options).await;
    let caller = client(&gateway).await;
    let call = tokio::spawn(async move { caller.call_tool("mcp__shop__order", &json!({})).await });
    slow.begun.notified().await;
    gateway.drain().await;
    assert_eq!(gateway.calls_in_flight(), 1);
    call.abort();
}
