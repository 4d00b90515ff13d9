//! Selection of the server that a resource is read from.

use std::sync::Arc;

use mcp_gateway::Gateway;
use mcp_server::{Call, Resources, ServeError, ServeOptions, ToolServer};
use mcp_tool::BoxFuture;
use mcp_types::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::support::{bridge, client, entry, options};

/// One template, one listed resource, and contents that name the server.
struct FixedResources {
    owner: &'static str,
    template: &'static str,
}

impl Resources for FixedResources {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async { Ok(vec![Resource::new("shelf://both", "both")]) })
    }

    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async { Ok(vec![ResourceTemplate::new(self.template, "some")]) })
    }

    fn read(
        &self,
        uri: String,
        _: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(async { Ok(vec![ResourceContents::text(uri, self.owner)]) })
    }
}

/// A gateway with a server that claims every URI, followed by one that claims its own.
async fn gateway() -> Gateway {
    let server = |owner, template| {
        let mut options = ServeOptions::new(owner, "1");
        options.resources = Some(Arc::new(FixedResources { owner, template }));
        ToolServer::new(options)
    };
    let (greedy, shop) = (server("greedy", "{+x}"), server("shop", "shop://article/{id}"));
    let mut options = options();
    options.consent.trust_client = true;
    let servers = vec![entry("greedy"), entry("shop")];
    let gateway = Gateway::new(bridge(&[("greedy", &greedy), ("shop", &shop)]), options, servers);
    gateway.open().await;
    gateway
}

#[tokio::test]
async fn most_literal_template_is_preferred_to_the_first() {
    let gateway = gateway().await;
    let client = client(&gateway).await;
    for (uri, owner) in [("shop://article/7", "shop"), ("other://x", "greedy")] {
        let read = client.read_resource(uri).await.unwrap();
        assert_eq!(read.contents[0].text.as_deref(), Some(owner), "{uri}");
    }
}

#[tokio::test]
async fn lists_name_the_server_and_a_request_can_choose_it() {
    let gateway = gateway().await;
    let listed = client(&gateway).await.list_resources().await.unwrap();
    let metas: Vec<&str> = listed.iter().map(|one| one.meta.as_ref().unwrap().as_str()).collect();
    assert_eq!(metas, [r#"{"mcp-gateway/server":"greedy"}"#, r#"{"mcp-gateway/server":"shop"}"#]);
    for server in ["greedy", "shop"] {
        let read = read_from(&gateway, server).await;
        assert_eq!(read["result"]["contents"][0]["text"], server, "{read}");
    }
    let read = read_from(&gateway, "nobody").await;
    assert!(read["error"].is_object(), "{read}");
}

/// Reads a resource that both servers list from the server that `_meta` names.
async fn read_from(gateway: &Gateway, server: &str) -> Value {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(theirs);
    let meta = json!({"mcp-gateway/server": server,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": {"uri": "shelf://both", "_meta": meta}});
    let (read, mut write) = tokio::io::split(ours);
    write.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    let mut line = String::new();
    tokio::select! {
        _ = gateway.server().serve_pipes(input, output) => {}
        read = async { BufReader::new(read).read_line(&mut line).await } => drop(read),
    }
    serde_json::from_str(&line).unwrap()
}
