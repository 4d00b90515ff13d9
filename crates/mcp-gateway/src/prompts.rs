//! Prompts of all servers under prefixed names, and completions.

use std::{collections::BTreeMap, sync::Arc};

use mcp_bridge::{Bridge, error::OfferError};
use mcp_client::CallError;
use mcp_server::{Call, CompletionOf, CompletionQuestion, Completions, Prompts, ServeError};
use mcp_types::{BoxFuture, Completion, GetPromptResult, Prompt};

use crate::{
    lookup::{open, refused},
    relay::Relay,
};

/// Prompts of the servers behind the gateway.
#[derive(Debug)]
pub(crate) struct GatewayPrompts(pub(crate) Bridge);

impl Prompts for GatewayPrompts {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async {
            let prompt = |command: mcp_bridge::offers::Command| {
                let mut prompt = Prompt::new(command.name);
                prompt.description = Some(command.description);
                prompt.arguments = command.arguments;
                prompt
            };
            open(&self.0).await;
            Ok(self.0.commands().into_iter().map(prompt).collect())
        })
    }

    fn get(
        &self,
        name: String,
        arguments: BTreeMap<String, String>,
        call: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        Box::pin(async move {
            open(&self.0).await;
            let commands = self.0.commands();
            let Some(command) = commands.iter().find(|command| command.name == name) else {
                return Err(ServeError::InvalidParams(format!("unknown prompt `{name}`")));
            };
            let value = |name: &str| arguments.get(name).map(String::as_str).unwrap_or_default();
            let words: Vec<&str> =
                command.arguments.iter().map(|argument| value(&argument.name)).collect();
            let filling = self.0.run_command(&name, &words);
            self.0
                .on_behalf(&command.server, Relay::to(Arc::new(call)), filling)
                .await
                .map_err(refused)
        })
    }
}

impl Completions for GatewayPrompts {
    fn complete(
        &self,
        question: CompletionQuestion,
    ) -> BoxFuture<'_, Result<Completion, ServeError>> {
        Box::pin(async move {
            open(&self.0).await;
            let CompletionQuestion { of, argument, value, settled, .. } = question;
            let completed = match &of {
                CompletionOf::Prompt(name) => {
                    if !self.0.commands().iter().any(|command| command.name == *name) {
                        let problem = format!("unknown prompt `{name}`");
                        return Err(ServeError::InvalidParams(problem));
                    }
                    self.0.complete(name, &argument, &value, &settled).await
                }
                CompletionOf::Resource(text) => {
                    let templates = self.0.resource_templates().await;
                    let template = templates.iter().find(|one| one.template.uri_template == *text);
                    let Some(template) = template else {
                        let problem = format!("unknown resource template `{text}`");
                        return Err(ServeError::InvalidParams(problem));
                    };
                    self.0.complete_template(template, &argument, &value, &settled).await
                }
            };
            match completed {
                // A server without completions offers no values; that is not an error.
                Err(OfferError::Call(CallError::Unsupported(_))) => Ok(Completion::new(Vec::new())),
                other => other.map_err(refused),
            }
        })
    }
}
