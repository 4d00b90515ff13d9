//! Resources, prompts and completions.

use std::collections::BTreeMap;

use mcp_bridge::tool::{BoxFuture, Content};
use mcp_client::types::{
    Completion, GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents,
    ResourceTemplate,
};
use mcp_server::{Call, CompletionQuestion, Completions, Prompts, Resources, ServeError};
use serde_json::{Value, json};

use super::{asks::form, content::PNG};

/// The resources.
pub(super) struct Things;

impl Resources for Things {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        let resource = |uri: &str, name: &str, mime_type: &str| {
            let mut resource = Resource::new(uri, name);
            resource.description = Some(format!("{name}, for tests"));
            resource.mime_type = Some(mime_type.to_owned());
            resource
        };
        Box::pin(async move {
            Ok(vec![
                resource("test://static-text", "Static text", "text/plain"),
                resource("test://static-binary", "Static binary", "image/png"),
                resource("test://watched-resource", "Watched resource", "text/plain"),
            ])
        })
    }

    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async {
            let mut template = ResourceTemplate::new("test://template/{id}/data", "Template");
            template.description = Some("Data by id".into());
            template.mime_type = Some("application/json".into());
            Ok(vec![template])
        })
    }

    fn read(
        &self,
        uri: String,
        _: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(async move {
            let id =
                uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let contents = match (uri.as_str(), id) {
                ("test://static-text", _) => {
                    let text = "This is the content of the static text resource.";
                    ResourceContents::text(&uri, text).of_type("text/plain")
                }
                ("test://static-binary", _) => {
                    ResourceContents::blob(&uri, PNG).of_type("image/png")
                }
                ("test://watched-resource", _) => {
                    ResourceContents::text(&uri, "Watched resource content").of_type("text/plain")
                }
                (_, Some(id)) => {
                    let data = format!("Data for ID: {id}");
                    let text = json!({"id": id, "templateTest": true, "data": data}).to_string();
                    ResourceContents::text(&uri, text).of_type("application/json")
                }
                _ => return Err(ServeError::UnknownResource(uri)),
            };
            Ok(vec![contents])
        })
    }
}

/// The prompts.
pub(super) struct Texts;

impl Prompts for Texts {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        let prompt = |name: &str, arguments: &[&str]| {
            let mut prompt = Prompt::new(name);
            prompt.description = Some(format!("`{name}`, for tests"));
            prompt.arguments =
                arguments.iter().map(|name| PromptArgument::required(*name)).collect();
            prompt
        };
        Box::pin(async move {
            Ok(vec![
                prompt("test_simple_prompt", &[]),
                prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
                prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
                prompt("test_prompt_with_image", &[]),
                prompt("test_input_required_result_prompt", &[]),
            ])
        })
    }

    fn get(
        &self,
        name: String,
        arguments: BTreeMap<String, String>,
        call: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        Box::pin(async move {
            let argument = |name: &str| {
                let missing = || ServeError::InvalidParams(format!("`{name}` is missing"));
                arguments.get(name).ok_or_else(missing)
            };
            let contents = match name.as_str() {
                "test_simple_prompt" => vec![Content::text("This is a simple prompt for testing.")],
                "test_prompt_with_arguments" => {
                    let (one, two) = (argument("arg1")?, argument("arg2")?);
                    vec![Content::text(format!(
                        "Prompt with arguments: arg1='{one}', arg2='{two}'"
                    ))]
                }
                "test_prompt_with_embedded_resource" => {
                    let text = "Embedded resource content for testing.";
                    let resource = ResourceContents::text(argument("resourceUri")?, text);
                    vec![
                        Content::resource(resource.of_type("text/plain")),
                        Content::text("Please process the embedded resource above."),
                    ]
                }
                "test_prompt_with_image" => vec![
                    Content::image(PNG, "image/png"),
                    Content::text("Please analyze the image above."),
                ],
                "test_input_required_result_prompt" => {
                    let properties = json!({"context": {"type": "string"}});
                    let question = form("What context should the prompt use?", &properties)?;
                    let answer = call.ask("user_context", question).await?;
                    let answer: Value = serde_json::from_str(answer.as_str()).unwrap_or_default();
                    vec![Content::text(format!(
                        "Use this context: {}",
                        answer["content"]["context"]
                    ))]
                }
                _ => return Err(ServeError::InvalidParams(format!("unknown prompt `{name}`"))),
            };
            Ok(GetPromptResult::new(contents.into_iter().map(PromptMessage::user).collect()))
        })
    }
}

/// The completions.
pub(super) struct Words;

impl Completions for Words {
    fn complete(
        &self,
        question: CompletionQuestion,
    ) -> BoxFuture<'_, Result<Completion, ServeError>> {
        Box::pin(async move {
            let words = ["paris", "park", "party", "test", "testing"].map(String::from);
            let fitting = words.into_iter().filter(|word| word.starts_with(&question.value));
            Ok(Completion::new(fitting.collect()))
        })
    }
}
