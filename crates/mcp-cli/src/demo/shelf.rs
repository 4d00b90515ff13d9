//! Something to read, and something to say.

use std::collections::BTreeMap;

use mcp_bridge::{BoxFuture, Call, Prompts, Resources, ServeError};
use mcp_client::{
    Content, GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents,
};

/// One resource and one prompt.
#[derive(Debug)]
pub(super) struct Shelf;

const GUIDE: &str = "demo://guide";
const TEXT: &str = "Convert units, count words, find primes, keep notes, order pizza.";

impl Resources for Shelf {
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

impl Prompts for Shelf {
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
                _ => Err(ServeError::InvalidParams(format!("there is no prompt `{name}`"))),
            }
        })
    }
}
