//! What servers offer besides tools: prompts, resources, instructions.

use std::{collections::BTreeMap, sync::Arc};

use mcp_client::{
    CallError, Client, Completion, CompletionTarget, GetPromptResult, Handler, PromptArgument,
    ReadResourceResult, Resource, ResourceTemplate,
};

use super::{Bridge, updates::ResourceUpdates};
use crate::{
    context::CallContext,
    events::Event,
    hygiene::{self, clean},
    server::Server,
};

/// A prompt of a server, as a command a person can type: `/mcp__server__prompt`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// Its server.
    pub server: Arc<str>,
    /// Its name on that server.
    pub prompt: String,
    /// What it is for, cleaned and cut.
    pub description: String,
    /// What it takes, in order.
    pub arguments: Vec<PromptArgument>,
}

/// A resource that can be attached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceRef {
    /// Its server.
    pub server: Arc<str>,
    /// The resource.
    pub resource: Resource,
}

/// A family of resources.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TemplateRef {
    /// Its server.
    pub server: Arc<str>,
    /// The family.
    pub template: ResourceTemplate,
}

impl ResourceRef {
    /// What a person types to attach it: `@server:uri`.
    pub fn mention(&self) -> String {
        format!("@{}:{}", self.server, self.resource.uri)
    }
}

/// What a server wants the model to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instructions {
    /// The server.
    pub server: Arc<str>,
    /// Its words, cleaned.
    pub text: String,
    /// Whether there were more of them than fit. The text says so too.
    pub cut: bool,
}

impl Bridge {
    /// What connected servers want the model to know, in at most `total` characters: each has the same
    /// share, and what one leaves goes to the others. Volatile, so it belongs at the end of a prompt.
    pub fn instructions(&self, total: usize) -> Vec<Instructions> {
        let said: Vec<(Arc<Server>, String)> = self
            .core
            .servers()
            .into_iter()
            .filter_map(|server| {
                let text = server.live().profile.as_ref()?.instructions.clone()?;
                (!text.trim().is_empty()).then_some((server, text))
            })
            .collect();
        let wanted: Vec<usize> =
            said.iter().map(|(_, text)| text.chars().count().min(hygiene::DESCRIPTION)).collect();
        let shares = fair(&wanted, total);
        let mut all = Vec::with_capacity(said.len());
        for ((server, text), share) in said.into_iter().zip(shares) {
            let cleaned = clean(&text, share);
            if cleaned.cut {
                self.core.bus.tell(Event::InstructionsCut { server: server.name.clone() });
            }
            let server = server.name.clone();
            all.push(Instructions { server, text: cleaned.text, cut: cleaned.cut });
        }
        all
    }

    /// The prompts of connected servers as commands, and those that are remembered of servers at rest.
    pub fn commands(&self) -> Vec<Command> {
        let mut commands = Vec::new();
        for server in self.core.servers() {
            let prompts = if server.is_resting() {
                server.offers().prompts.clone().unwrap_or_default()
            } else {
                server.live().prompts.clone()
            };
            for prompt in prompts.iter() {
                let key = format!("\0prompt:{}", prompt.name);
                let name = self
                    .core
                    .registry
                    .naming(|namer| namer.command(&server.name, &prompt.name, &key));
                let description = prompt.description.as_deref().unwrap_or_default();
                commands.push(Command {
                    name,
                    server: server.name.clone(),
                    prompt: prompt.name.clone(),
                    description: clean(description, hygiene::UNTRUSTED).text,
                    arguments: prompt.arguments.clone(),
                });
            }
        }
        commands
    }

    /// Fills a command's prompt in. `words` are its arguments in order; the last one takes the rest.
    pub async fn run_command(
        &self,
        name: &str,
        words: &[&str],
    ) -> Result<GetPromptResult, CallError> {
        let name = name.strip_prefix('/').unwrap_or(name);
        let commands = self.commands();
        let command = commands.iter().find(|command| command.name == name);
        let Some(command) = command else { return Err(CallError::Unsupported("this command")) };
        let mut arguments = BTreeMap::new();
        let last = command.arguments.len().saturating_sub(1);
        for (index, argument) in command.arguments.iter().enumerate() {
            let value = if index == last {
                words.get(index..).unwrap_or_default().join(" ")
            } else {
                words.get(index).copied().unwrap_or_default().to_owned()
            };
            if !value.is_empty() {
                arguments.insert(argument.name.clone(), value);
            }
        }
        let server = self.server_called(&command.server)?;
        server.ready_client().await?.get_prompt(&command.prompt, &arguments).await
    }

    /// Ways to complete an argument of a command.
    pub async fn complete(
        &self,
        command: &str,
        argument: &str,
        value: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Completion, CallError> {
        let commands = self.commands();
        let command = commands.iter().find(|known| known.name == command);
        let Some(command) = command else { return Err(CallError::Unsupported("this command")) };
        let client = self.server_called(&command.server)?.ready_client().await?;
        client.complete(CompletionTarget::Prompt(&command.prompt), argument, value, others).await
    }

    /// Ways to complete an argument of a server's resource template.
    pub async fn complete_template(
        &self,
        template: &TemplateRef,
        argument: &str,
        value: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Completion, CallError> {
        let client = self.server_called(&template.server)?.ready_client().await?;
        let target = CompletionTarget::Resource(&template.template.uri_template);
        client.complete(target, argument, value, others).await
    }

    /// The servers at rest of which it is not known what they offer besides tools. Connecting one, and
    /// asking for what it has, makes it known, also to later processes that share the
    /// [catalogue](crate::BridgeOptions::catalogue).
    pub fn unlisted(&self) -> Vec<Arc<str>> {
        let is_unlisted =
            |server: &&Arc<Server>| server.is_resting() && !server.offers().is_complete();
        self.core.servers().iter().filter(is_unlisted).map(|server| server.name.clone()).collect()
    }

    /// The resources of every connected server, and those that are remembered of servers at rest. One that
    /// cannot list its own has none.
    pub async fn resources(&self) -> Vec<ResourceRef> {
        let mut all = Vec::new();
        for (server, list) in super::resources::of_each(&self.core, self.core.servers()).await {
            match list {
                Ok(list) => all.extend(list.iter().map(|resource| ResourceRef {
                    server: server.name.clone(),
                    resource: resource.clone(),
                })),
                Err(error) => tracing::debug!(server = %server.name, %error, "no resources"),
            }
        }
        all
    }

    /// The families of resources of every connected server, and those that are remembered.
    pub async fn resource_templates(&self) -> Vec<TemplateRef> {
        let mut all = Vec::new();
        for server in self.core.servers() {
            let templates = match server.readable() {
                Some(client) => {
                    let Some(list) = super::resources::families(&client).await else { continue };
                    self.core.note_offers(&server, |offers| offers.templates = Some(list.clone()));
                    list
                }
                None if server.is_resting() => {
                    server.offers().templates.clone().unwrap_or_default()
                }
                None => continue,
            };
            all.extend(templates.iter().map(|template| TemplateRef {
                server: server.name.clone(),
                template: template.clone(),
            }));
        }
        all
    }

    /// Does something, and lets `owner` answer what this server asks meanwhile. Calls of tools have that
    /// in their [`CallContext`]; this is for all the rest.
    pub async fn on_behalf<T>(
        &self,
        server: &str,
        owner: Arc<dyn Handler>,
        work: impl Future<Output = T>,
    ) -> T {
        match self.core.server(server) {
            Some(server) => server.router.on_behalf(Some(owner), work).await,
            None => work.await,
        }
    }

    /// Reads a resource, starting its server if need be.
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<ReadResourceResult, CallError> {
        self.server_called(server)?.ready_client().await?.read_resource(uri).await
    }

    /// Hears of changes of these resources, through every reconnect. Starts the server if need be.
    ///
    /// # Errors
    /// [`CallError::Unsupported`] if the server tells nobody of changes.
    pub async fn subscribe(
        &self,
        server: &str,
        uris: Vec<String>,
    ) -> Result<ResourceUpdates, CallError> {
        ResourceUpdates::open(&self.core, &self.server_called(server)?, uris).await
    }

    fn server_called(&self, name: &str) -> Result<Arc<Server>, CallError> {
        self.core.server(name).ok_or(CallError::Unsupported("this server"))
    }
}

impl Server {
    /// The connection, if there is something to read on it.
    pub(crate) fn readable(&self) -> Option<Client> {
        let has = self.live().profile.as_ref().is_some_and(|p| p.capabilities.resources.is_some());
        self.client().filter(|_| has)
    }

    /// The connection, for what is no tool call.
    pub(crate) async fn ready_client(&self) -> Result<mcp_client::Client, CallError> {
        self.ready(&CallContext::default()).await.map_err(|_| CallError::Closed {
            delivery: mcp_client::Delivery::NotSent,
            report: None,
        })
    }
}

/// Divides `total` so that nobody gets more than wanted, and nobody less than another who wants more.
fn fair(wanted: &[usize], total: usize) -> Vec<usize> {
    let mut shares = vec![0; wanted.len()];
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|at| wanted[*at]);
    let mut left = total;
    for (done, at) in order.iter().enumerate() {
        let share = left / (wanted.len() - done);
        shares[*at] = wanted[*at].min(share);
        left -= shares[*at];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::fair;

    #[test]
    fn what_one_leaves_goes_to_the_others() {
        assert_eq!(fair(&[10, 500, 500], 210), [10, 100, 100]);
        assert_eq!(fair(&[500, 10], 1_000), [500, 10]);
        assert_eq!(fair(&[], 5), [0; 0]);
        assert_eq!(fair(&[5, 5, 5], 0), [0, 0, 0]);
    }
}
