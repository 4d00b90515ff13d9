//! URLs that a server sends: redirects, endpoints, and links in results.

use std::sync::Arc;

use mcp_bridge::{Bridge, CallContext, RawJson, ServerConfig};
use mcp_client::{Client, ClientOptions};
use mcp_config::{Remote, Transport};
use mcp_transport::{HttpOptions, Sse, StaticHeaders};
use serde_json::json;

use super::trap::{Trap, targets};
use crate::transport::http::{
    server::{Done, Exchange, Server},
    speak::{MODERN, call, connect_with, modern, pool, to},
};

#[tokio::test]
async fn redirects_to_another_origin_are_not_followed() {
    let trap = Trap::set().await;
    let targets = targets(&trap);
    let script = targets.clone();
    let server = Server::start(move |exchange| {
        let name = exchange.params()["name"].as_str().unwrap_or_default().to_owned();
        let target = name.parse::<usize>().ok().map(|index| script[index].clone());
        async move {
            match target {
                Some(to) => exchange.answer(307, &format!("location: {to}\r\n"), b"").await,
                None => modern(exchange).await,
            }
        }
    })
    .await;
    let mut options = to(&server);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
    let client = connect_with(options, ClientOptions::default()).await;
    for (index, target) in targets.iter().enumerate() {
        let error = call(&client, &index.to_string()).await.unwrap_err().to_string();
        assert!(error.starts_with("a redirect was not followed: it "), "{target}: {error}");
    }
    assert_eq!(server.all("tools/call").len(), targets.len());
    assert_eq!(trap.visits().await, 0);
}

#[tokio::test]
async fn userinfo_in_a_redirect_is_not_used() {
    let server = Server::start(|exchange| async move {
        if exchange.seen.path == "/mcp" && exchange.word() == "tools/call" {
            let host = exchange.seen.header("host").unwrap().to_owned();
            let to = format!("location: http://eve:pw@{host}/elsewhere\r\n");
            return exchange.answer(307, &to, b"").await;
        }
        modern(exchange).await
    })
    .await;
    let mut options = to(&server);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
    let client = connect_with(options, ClientOptions::default()).await;
    let _ = call(&client, "echo").await;
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), Some("Bearer s3cret"), "{seen:?}");
        assert!(!seen.path.contains("eve"), "{seen:?}");
    }
}

#[tokio::test]
async fn sse_endpoint_at_another_origin_is_rejected() {
    let trap = Trap::set().await;
    for target in targets(&trap) {
        let event = format!("event: endpoint\ndata: {target}\n\n");
        let server = Server::start(move |exchange| {
            let event = event.clone();
            async move {
                match &*exchange.seen.verb {
                    "GET" => {
                        let mut events = exchange.events().await;
                        events.text(&event).await;
                        events.gone().await
                    }
                    _ => exchange.status(405).await,
                }
            }
        })
        .await;
        let mut options = HttpOptions::new(&server.url);
        options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
        let sse = Sse::new(pool(), options);
        let connecting = Client::connect(&sse, ClientOptions::default());
        let error = mcp_tests::soon("the refusal", connecting).await.unwrap_err();
        let mut chain = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            chain = format!("{chain}: {error}");
            cause = error.source();
        }
        assert!(chain.contains("the endpoint it names is refused"), "{target}: {chain}");
        assert!(server.seen().iter().all(|seen| seen.verb == "GET"), "{target}");
    }
    assert_eq!(trap.visits().await, 0);
}

/// A server that puts a URL in every member that may hold one.
async fn full_of_links(exchange: Exchange, url: String) -> Done {
    let icons = json!([{ "src": url, "mimeType": "image/png" }]);
    match &*exchange.word() {
        "server/discover" => {
            exchange
                .result(json!({
                    "resultType": "complete", "supportedVersions": [MODERN],
                    "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
                    "instructions": format!("Read {url} first."),
                    "_meta": { "io.modelcontextprotocol/serverInfo": {
                        "name": "links", "version": "1", "websiteUrl": url, "icons": icons,
                    } },
                }))
                .await
        }
        "tools/list" => {
            let schema = json!({
                "$schema": url, "$id": url, "type": "object",
                "properties": { "a": { "$ref": url }, "b": { "$dynamicRef": format!("{url}#x") } },
            });
            exchange
                .result(json!({ "resultType": "complete", "tools": [
                    { "name": "refs", "inputSchema": schema, "outputSchema": schema, "icons": icons },
                    { "name": "links", "inputSchema": { "type": "object" }, "icons": icons },
                ] }))
                .await
        }
        "resources/list" => {
            let resource = json!({ "uri": url, "name": "r", "icons": icons });
            exchange.result(json!({ "resultType": "complete", "resources": [resource] })).await
        }
        "resources/templates/list" => {
            exchange.result(json!({ "resultType": "complete", "resourceTemplates": [] })).await
        }
        "prompts/list" => {
            let prompt = json!({ "name": "p", "icons": icons });
            exchange.result(json!({ "resultType": "complete", "prompts": [prompt] })).await
        }
        "resources/read" => {
            let contents = json!([{ "uri": url, "text": format!("see {url}") }]);
            exchange.result(json!({ "resultType": "complete", "contents": contents })).await
        }
        "tools/call" => {
            exchange
                .result(json!({
                    "resultType": "complete",
                    "content": [
                        { "type": "resource_link", "uri": url, "name": "r", "icons": icons },
                        { "type": "resource", "resource": { "uri": url, "text": "x" } },
                        { "type": "text", "text": format!("![image]({url})") },
                    ],
                    "structuredContent": { "a": { "$ref": url } },
                }))
                .await
        }
        _ => modern(exchange).await,
    }
}

#[tokio::test]
async fn urls_in_results_are_not_fetched() {
    let trap = Trap::set().await;
    for target in targets(&trap) {
        let url = target.clone();
        let server = Server::start(move |exchange| full_of_links(exchange, url.clone())).await;
        let bridge = Bridge::new(crate::bridge::options());
        let transport = Transport::Http(Remote::new(&*server.url));
        let mut config = ServerConfig::new("links".parse().unwrap(), transport);
        config.trust = true;
        bridge.add_server_as_written(config);
        mcp_tests::soon("the start", bridge.start()).await;
        let resources = mcp_tests::soon("the resources", bridge.resources()).await;
        for resource in &resources {
            let read = bridge.read_resource("links", &resource.resource.uri);
            let _ = mcp_tests::soon("a resource", read).await;
        }
        let _ = (bridge.commands(), bridge.instructions(10_000), bridge.snapshot());
        for tool in ["mcp__links__refs", "mcp__links__links"] {
            let arguments = RawJson::parse(r#"{"a":{"x":1},"b":2}"#.to_owned()).unwrap();
            let calling = bridge.call(tool, arguments, CallContext::default());
            let _ = mcp_tests::soon(tool, calling).await;
        }
        assert!(!server.all("tools/call").is_empty(), "{target}: nothing was called");
        mcp_tests::soon("the end", bridge.shutdown()).await;
    }
    assert_eq!(trap.visits().await, 0);
}
