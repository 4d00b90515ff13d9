//! Rules for the resources, prompts and completions of a server.

use std::{collections::BTreeMap, sync::Arc};

use mcp_bridge::trust::{Action, Rule, Rules, TrustPolicy};
use mcp_client::{Client, request::CompletionTarget};
use mcp_gateway::Gateway;
use mcp_server::{
    Call, CompletionQuestion, Completions, Prompts, Resources, ServeError, ServeOptions, ToolServer,
};
use mcp_tool::BoxFuture;
use mcp_types::{
    Completion, GetPromptResult, Prompt, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use crate::support::{bridge, client, entry, names, options, shop};

/// A server with every feature except tools.
struct Offers;

impl Resources for Offers {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async { Ok(vec![Resource::new("evil://r", "r")]) })
    }

    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async { Ok(vec![ResourceTemplate::new("evil://{x}", "x")]) })
    }

    fn read(
        &self,
        uri: String,
        _: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(async move { Ok(vec![ResourceContents::text(uri, "INJECTED")]) })
    }
}

impl Prompts for Offers {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async { Ok(vec![Prompt::new("pp")]) })
    }

    fn get(
        &self,
        _: String,
        _: BTreeMap<String, String>,
        _: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        Box::pin(async { Ok(GetPromptResult::new(Vec::new())) })
    }
}

impl Completions for Offers {
    fn complete(&self, _: CompletionQuestion) -> BoxFuture<'_, Result<Completion, ServeError>> {
        Box::pin(async { Ok(Completion::new(vec!["INJECTED".into()])) })
    }
}

fn evil() -> ToolServer {
    let mut options = ServeOptions::new("evil", "1");
    options.resources = Some(Arc::new(Offers));
    options.prompts = Some(Arc::new(Offers));
    options.completions = Some(Arc::new(Offers));
    ToolServer::new(options)
}

/// A gateway in front of `evil` and a shop, with these rules that deny.
async fn front(denied: &[&str]) -> (Gateway, Client) {
    let (evil, shop) = (evil(), shop([]));
    let mut bridge = bridge(&[("evil", &evil), ("shop", &shop)]);
    let rules = denied.iter().map(|glob| Rule::new(*glob, Action::Deny)).collect();
    bridge.policy = Arc::new(TrustPolicy::new(Rules::new([rules])));
    let gateway = Gateway::new(bridge, options(), vec![entry("evil"), entry("shop")]);
    gateway.open().await;
    let client = client(&gateway).await;
    (gateway, client)
}

async fn uris(client: &Client) -> Vec<String> {
    client.list_resources().await.unwrap().iter().map(|one| one.uri.clone()).collect()
}

#[tokio::test]
async fn denied_server_offers_no_resources_prompts_or_completions() {
    let (_gateway, client) = front(&["mcp:evil:*"]).await;
    assert_eq!(uris(&client).await, ["shop://list"]);
    let templates = client.list_resource_templates().await.unwrap();
    assert!(templates.iter().all(|one| one.uri_template.starts_with("shop:")), "{templates:?}");
    assert!(client.list_prompts().await.unwrap().items.is_empty());
    for uri in ["evil://r", "evil://secret/anything"] {
        let read = client.read_resource(uri).await;
        assert!(read.is_err(), "{read:?}");
    }
    let none = BTreeMap::new();
    assert!(client.get_prompt("mcp__evil__pp", &none).await.is_err());
    for target in
        [CompletionTarget::Prompt("mcp__evil__pp"), CompletionTarget::Resource("evil://{x}")]
    {
        assert!(client.complete(target, "x", "", &none).await.is_err());
    }
    assert!(names(&client).await.contains(&"read_mcp_resource".to_owned()));
    let read = json!({"server": "evil", "uri": "evil://r"});
    let read = client.call_tool("read_mcp_resource", &read).await.unwrap();
    assert!(read.is_error && !read.text().contains("INJECTED"), "{read:?}");
}

#[tokio::test]
async fn rule_for_one_resource_or_prompt_leaves_the_others() {
    let (_gateway, client) = front(&["mcp:evil:prompt/*"]).await;
    assert!(client.list_prompts().await.unwrap().items.is_empty());
    assert_eq!(client.read_resource("evil://r").await.unwrap().contents.len(), 1);
    let (_gateway, client) = front(&["mcp:evil:resource/*"]).await;
    assert_eq!(uris(&client).await, ["shop://list"]);
    assert!(client.get_prompt("mcp__evil__pp", &BTreeMap::new()).await.is_ok());
}

#[tokio::test]
async fn unlisted_resource_of_an_untrusted_server_is_asked_about() {
    let (_gateway, client) = front(&[]).await;
    assert!(client.read_resource("evil://r").await.is_ok(), "it is listed");
    let unlisted = client.read_resource("evil://x?d=secret").await.unwrap_err();
    assert!(unlisted.to_string().contains("denied"), "this client has no elicitation: {unlisted}");
}
