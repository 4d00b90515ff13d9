//! Subscriptions to changes, in both eras.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use mcp_client::{
    CallError, ClientOptions, ServerEvent, Subscription, request::ListenFilter, rpc::Failure,
};
use mcp_jsonrpc::Request;
use serde_json::json;

use crate::support::{Host, Server, legacy, modern, params, settled, soon, told};

fn filter() -> ListenFilter {
    let mut filter = ListenFilter::lists();
    filter.resource_uris = vec!["file:///a".into()];
    filter
}

fn acknowledge(server: &Server, listen: &Request, agreed: &str) {
    server.tell(
        "notifications/subscriptions/acknowledged",
        &format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{agreed}}}"#,
            listen.id
        ),
    );
}

fn changed(server: &Server, id: &str) {
    server.tell(
        "notifications/tools/list_changed",
        &format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#),
    );
}

/// A modern client with one subscription, its server, and the open listen request.
async fn listening(host: &Host) -> (mcp_client::Client, Server, Subscription, Request) {
    let (client, mut server) = modern(host.options()).await;
    let (subscription, listen) = tokio::join!(client.listen(filter()), async {
        let listen = server.request("subscriptions/listen").await;
        acknowledge(&server, &listen, r#"{"toolsListChanged":true}"#);
        listen
    });
    (client, server, subscription.unwrap(), listen)
}

#[tokio::test(start_paused = true)]
async fn subscription_exposes_the_agreed_filter_and_never_times_out() {
    let host = Host::default();
    let (_client, server, mut subscription, listen) = listening(&host).await;
    let sent = params(&listen);
    assert!(sent["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string());
    assert_eq!(
        sent["notifications"],
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["file:///a"]})
    );
    let mut agreed = ListenFilter::default();
    agreed.tools = true;
    assert_eq!(subscription.acknowledged(), &agreed);

    tokio::time::sleep(Duration::from_secs(100_000)).await;
    changed(&server, &listen.id.to_string());
    assert_eq!(subscription.next().await, Some(ServerEvent::ToolsChanged));
    assert_eq!(host.heard(), [ServerEvent::ToolsChanged]);
}

#[tokio::test(start_paused = true)]
async fn events_go_to_the_subscription_they_name_and_to_no_other() {
    let host = Host::default();
    let (client, mut server, mut one, first) = listening(&host).await;
    let (other, second) = tokio::join!(client.listen(ListenFilter::lists()), async {
        let second = server.request("subscriptions/listen").await;
        // The acknowledgement of one subscription may arrive after events of another.
        changed(&server, &first.id.to_string());
        acknowledge(&server, &second, r#"{"toolsListChanged":true}"#);
        second
    });
    let mut other = other.unwrap();
    assert_eq!(one.next().await, Some(ServerEvent::ToolsChanged));
    // The id `1` differs from `"1"`, and ids of other requests do not match.
    changed(&server, &format!("\"{}\"", second.id));
    changed(&server, "999");
    settled().await;
    assert_eq!((one.next().now_or_never(), other.next().now_or_never()), (None, None));
    assert_eq!(host.heard(), [ServerEvent::ToolsChanged]);
    changed(&server, &second.id.to_string());
    assert_eq!(other.next().await, Some(ServerEvent::ToolsChanged));
    assert_eq!(one.next().now_or_never(), None);
}

#[tokio::test(start_paused = true)]
async fn subscription_ends_by_result_cancellation_or_disconnect() {
    for way in ["result", "cancelled", "close"] {
        let (_client, server, mut subscription, listen) = listening(&Host::default()).await;
        changed(&server, &listen.id.to_string());
        match way {
            "result" => server.answer(&listen, r#"{"resultType":"complete"}"#),
            "cancelled" => {
                server
                    .tell("notifications/cancelled", &format!(r#"{{"requestId":{}}}"#, listen.id));
            }
            _ => drop(server),
        }
        // Events sent before the end are delivered first.
        assert_eq!(subscription.next().await, Some(ServerEvent::ToolsChanged), "{way}");
        assert_eq!(subscription.next().await, None, "{way}");
        assert_eq!(subscription.next().await, None, "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_subscription_cancels_it_once() {
    let (_client, mut server, subscription, listen) = listening(&Host::default()).await;
    drop(subscription);
    let cancelled = server.notification("notifications/cancelled").await;
    assert_eq!(told(&cancelled)["requestId"], json!(listen.id.as_integer()));
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn unacknowledged_subscription_fails_and_is_cancelled() {
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (subscription, ()) = tokio::join!(client.listen(filter()), async {
        server.request("subscriptions/listen").await;
        server.notification("notifications/cancelled").await;
    });
    assert_eq!(
        subscription.unwrap_err().to_string(),
        "`subscriptions/listen` timed out: no response within 15s in total (limit without progress: unlimited)"
    );
    let (subscription, ()) = tokio::join!(client.listen(filter()), async {
        let listen = server.request("subscriptions/listen").await;
        server.refuse(&listen, -32601, "no such method");
    });
    assert!(matches!(
        subscription.unwrap_err(),
        CallError::Failed { failure: Failure::Rejected(_), .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn slow_subscriber_gets_the_count_of_missed_events() {
    let (_client, server, subscription, listen) = listening(&Host::default()).await;
    for _ in 0..300 {
        changed(&server, &listen.id.to_string());
    }
    drop(server);
    let events: Vec<ServerEvent> = subscription.collect().await;
    assert_eq!(events.len(), 257);
    assert_eq!(events.last(), Some(&ServerEvent::Missed(44)));
}

/// Subscribes to resources one by one, as legacy servers require.
async fn subscribed(
    client: &mcp_client::Client,
    server: &mut Server,
    uris: &[&str],
) -> Subscription {
    let mut filter = ListenFilter::lists();
    filter.resource_uris = uris.iter().map(ToString::to_string).collect();
    let (subscription, ()) = tokio::join!(client.listen(filter), async {
        for uri in uris {
            let subscribe = server.request("resources/subscribe").await;
            assert_eq!(params(&subscribe), json!({"uri": uri}));
            server.answer(&subscribe, "{}");
        }
    });
    subscription.unwrap()
}

fn updated(server: &Server, uri: &str) {
    server.tell("notifications/resources/updated", &json!({"uri": uri}).to_string());
}

#[tokio::test(start_paused = true)]
async fn legacy_subscription_receives_matching_updates() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let mut subscription = subscribed(&client, &mut server, &["file:///a", "file:///b/"]).await;
    assert!(subscription.acknowledged().tools);
    for uri in ["file:///ab", "file:///a", "file:///a/part", "file:///b/c", "file:///c"] {
        updated(&server, uri);
    }
    server.tell("notifications/prompts/list_changed", "{}");
    let heard = |uri: &str| Some(ServerEvent::ResourceUpdated { uri: uri.into() });
    assert_eq!(subscription.next().await, heard("file:///a"));
    assert_eq!(subscription.next().await, heard("file:///a/part"));
    assert_eq!(subscription.next().await, heard("file:///b/c"));
    assert_eq!(subscription.next().await, Some(ServerEvent::PromptsChanged));
    drop(subscription);
    for uri in ["file:///a", "file:///b/"] {
        assert_eq!(params(&server.request("resources/unsubscribe").await), json!({"uri": uri}));
    }
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn two_legacy_subscriptions_to_one_resource_do_not_end_each_other() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let one = subscribed(&client, &mut server, &["a:1", "a:2"]).await;
    let mut other = subscribed(&client, &mut server, &["a:2"]).await;
    drop(one);
    assert_eq!(params(&server.request("resources/unsubscribe").await), json!({"uri": "a:1"}));
    assert_eq!(server.unread().await, [""; 0]);
    updated(&server, "a:2");
    assert_eq!(other.next().await, Some(ServerEvent::ResourceUpdated { uri: "a:2".into() }));
    drop(other);
    assert_eq!(params(&server.request("resources/unsubscribe").await), json!({"uri": "a:2"}));
}

#[tokio::test(start_paused = true)]
async fn partially_failed_legacy_subscription_is_rolled_back() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let mut filter = ListenFilter::default();
    filter.resource_uris = vec!["a:1".into(), "a:2".into(), "a:3".into()];
    let (subscription, ()) = tokio::join!(client.listen(filter), async {
        let first = server.request("resources/subscribe").await;
        server.answer(&first, "{}");
        let second = server.request("resources/subscribe").await;
        server.refuse(&second, -32602, "no such resource");
    });
    assert!(matches!(
        subscription.unwrap_err(),
        CallError::Failed { failure: Failure::Rejected(_), .. }
    ));
    assert_eq!(params(&server.request("resources/unsubscribe").await), json!({"uri": "a:1"}));
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn server_without_subscriptions_gets_no_subscribe_requests() {
    let (wire, mut servers) = crate::support::wire();
    let mut options = ClientOptions::default();
    options.era = mcp_client::EraChoice::Legacy;
    let (client, mut server) = tokio::join!(mcp_client::Client::connect(&wire, options), async {
        let mut server = servers.next().await;
        let initialize = server.request("initialize").await;
        server
            .answer(&initialize, r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}"#);
        server.notification("notifications/initialized").await;
        server
    });
    let client = client.unwrap();
    let subscription = client.listen(filter()).await.unwrap();
    assert_eq!(subscription.acknowledged(), &ListenFilter::default());
    drop(subscription);
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn subscription_does_not_keep_the_session_open() {
    let (client, mut server) = legacy(ClientOptions::default()).await;
    let mut subscription = subscribed(&client, &mut server, &["a:1"]).await;
    drop(client);
    assert_eq!(soon("the end", subscription.next()).await, None);
    assert!(server.next().await.is_none());

    let (client, mut server, mut subscription, _) = listening(&Host::default()).await;
    drop(client);
    assert_eq!(soon("the end", subscription.next()).await, None);
    assert!(server.next().await.is_none());
}
