//! The resource and the prompt of the demo server.

use std::collections::BTreeMap;

use mcp_bridge::tool::BoxFuture;
use mcp_client::{
    Content,
    types::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents},
};
use mcp_server::{Call, Prompts, Resources, ServeError};

/// One resource and one prompt.
#[derive(Debug)]
pub(super) struct DemoResources;

const GUIDE: &str = "demo://guide";
const TEXT: &str = "Convert units, count words, find primes, keep notes, order pizza.";

impl Resources for DemoResources {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async { Ok(vec![Resource::new(GUIDE, "guide")]) })
    }

    fn read(
        &self,
        uri: String,
        _: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(async move {
            match uri.as_str() {
                GUIDE => Ok(vec![ResourceContents::text(GUIDE, TEXT)]),
                _ => Err(ServeError::UnknownResource(uri)),
            }
        })
    }
}

impl Prompts for DemoResources {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async {
            let mut prompt = Prompt::new("haiku");
            prompt.description = Some("Asks for a haiku".into());
            prompt.arguments = vec![PromptArgument::required("about")];
            Ok(vec![prompt])
        })
    }

    fn get(
        &self,
        name: String,
        arguments: BTreeMap<String, String>,
        _: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        Box::pin(async move {
            let about = arguments.get("about").map(String::as_str).unwrap_or_default();
            match name.as_str() {
                "haiku" => {
                    let text = Content::text(format!("Write a haiku about {about}."));
                    Ok(GetPromptResult::new(vec![PromptMessage::user(text)]))
                }
                _ => Err(ServeError::InvalidParams(format!("unknown prompt `{name}`"))),
            }
        })
    }
}
