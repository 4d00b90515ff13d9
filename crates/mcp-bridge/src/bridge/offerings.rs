//! Prompts, resources and instructions of servers.

use std::{collections::BTreeMap, sync::Arc};

use mcp_client::{
    CallError, Handler,
    request::CompletionTarget,
    types::{
        Completion, GetPromptResult, Prompt, PromptArgument, ReadResourceResult, Resource,
        ResourceTemplate,
    },
};
use mcp_tool::{CallContext, Offer, ToolOutcome};
use serde_json::{Value, json};

use super::{Bridge, errors::OfferError, mention::Mention, updates::ResourceUpdates};
use crate::{
    builtin::resources,
    events::Event,
    nearest, output,
    sanitize::{self, clean},
    server::{
        Router, Server,
        offered::{OfferFailure, Use},
    },
    tools::scope::{Part, Scope},
};

/// A server's prompt as a command that the user types: `/mcp__server__prompt`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Command {
    /// The name of the command, without the slash.
    pub name: String,
    /// The server of the prompt.
    pub server: Arc<str>,
    /// The name of the prompt on that server.
    pub prompt: String,
    /// The description, sanitized and truncated.
    pub description: String,
    /// The arguments of the prompt, in order.
    pub arguments: Vec<PromptArgument>,
}

/// A resource that can be attached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceRef {
    /// The server of the resource.
    pub server: Arc<str>,
    /// The resource.
    pub resource: Resource,
}

/// A resource template of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TemplateRef {
    /// The server of the template.
    pub server: Arc<str>,
    /// The resource template.
    pub template: ResourceTemplate,
}

impl ResourceRef {
    /// The text that attaches this resource to a message: `@server:uri`.
    pub fn mention(&self) -> Mention {
        Mention::new(&*self.server, &self.resource.uri)
    }
}

/// The instructions of a server for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instructions {
    /// The server.
    pub server: Arc<str>,
    /// The instructions, sanitized.
    pub text: String,
    /// Whether the instructions were truncated. The text says so too.
    pub cut: bool,
}

impl Bridge {
    /// Returns the instructions of connected servers and the cached ones of stopped servers, in at most `total` characters. The servers share `total` equally;
    /// the unused part of a share goes to the others. The text changes often, so it belongs at the end of a prompt.
    pub fn instructions(&self, total: usize) -> Vec<Instructions> {
        let said: Vec<(Arc<Server>, String)> = self
            .directory
            .servers()
            .into_iter()
            .filter(|server| self.shows(server, Offer::Instructions))
            .filter_map(|server| {
                let text = if server.is_stopped_when_idle() {
                    server.offers().instructions.as_deref()?.to_owned()
                } else {
                    server.live().profile.as_ref()?.instructions.clone()?
                };
                (!text.trim().is_empty()).then_some((server, text))
            })
            .collect();
        let wanted: Vec<usize> =
            said.iter().map(|(_, text)| text.chars().count().min(sanitize::DESCRIPTION)).collect();
        let shares = fair(&wanted, total);
        let mut all = Vec::with_capacity(said.len());
        for ((server, text), share) in said.into_iter().zip(shares) {
            let cleaned = clean(&text, share);
            if cleaned.cut {
                self.directory.hub.bus.tell(Event::InstructionsCut { server: server.name.clone() });
            }
            let server = server.name.clone();
            all.push(Instructions { server, text: cleaned.text, cut: cleaned.cut });
        }
        all
    }

    /// Returns the prompts of connected servers as commands, and the cached prompts of stopped servers.
    pub fn commands(&self) -> Vec<Command> {
        let mut commands = Vec::new();
        for server in self.directory.servers() {
            let prompts = if server.is_stopped_when_idle() {
                server.offers().prompts.clone().unwrap_or_default()
            } else {
                server.live().prompts.clone()
            };
            let is_shown = |prompt: &&Prompt| self.shows(&server, prompt_of(&prompt.name));
            for prompt in prompts.iter().filter(is_shown) {
                let key = format!("\0prompt:{}", prompt.name);
                let name = self
                    .directory
                    .hub
                    .registry
                    .naming(|namer| namer.command(&server.name, &prompt.name, &key));
                let description = prompt.description.as_deref().unwrap_or_default();
                commands.push(Command {
                    name,
                    server: server.name.clone(),
                    prompt: prompt.name.clone(),
                    description: clean(description, sanitize::UNTRUSTED).text,
                    arguments: prompt.arguments.clone(),
                });
            }
        }
        commands
    }

    /// Gets the prompt of a command. `words` are its arguments in order; the last argument takes the remaining words.
    /// The permission is `mcp:<server>:prompt/<name>`.
    ///
    /// # Errors
    /// Returns [`CallError::Declined`] if a rule or the user denies it.
    pub async fn run_command(
        &self,
        name: &str,
        words: &[&str],
    ) -> Result<GetPromptResult, OfferError> {
        let command = self.command_called(name)?;
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
        self.allowed(&server, prompt_of(&command.prompt), json!(arguments)).await?;
        Ok(server.ready_client().await?.get_prompt(&command.prompt, &arguments).await?)
    }

    /// Returns completions for an argument of a command.
    pub async fn complete(
        &self,
        command: &str,
        argument: &str,
        value: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Completion, OfferError> {
        let command = self.command_called(command)?;
        let server = self.server_called(&command.server)?;
        self.allowed(&server, prompt_of(&command.prompt), json!({argument: value})).await?;
        let client = server.ready_client().await?;
        let target = CompletionTarget::Prompt(&command.prompt);
        Ok(client.complete(target, argument, value, others).await?)
    }

    /// Returns completions for an argument of a server's resource template.
    pub async fn complete_template(
        &self,
        template: &TemplateRef,
        argument: &str,
        value: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Completion, OfferError> {
        let server = self.server_called(&template.server)?;
        let uri = &template.template.uri_template;
        self.allowed(&server, resource_of(uri), json!({argument: value})).await?;
        let client = server.ready_client().await?;
        let target = CompletionTarget::Resource(uri);
        Ok(client.complete(target, argument, value, others).await?)
    }

    /// Returns the stopped servers with an incomplete listing of prompts and resources. Connecting such a server and
    /// listing them fills the gap, also for later processes that share the
    /// [catalogue](crate::BridgeOptions::catalogue).
    pub fn unlisted(&self) -> Vec<Arc<str>> {
        let is_unlisted =
            |server: &&Arc<Server>| server.is_stopped_when_idle() && !server.offers().is_complete();
        self.directory
            .servers()
            .iter()
            .filter(is_unlisted)
            .map(|server| server.name.clone())
            .collect()
    }

    /// Returns the resources of every connected server, and the cached resources of stopped servers. A server that
    /// fails to list its resources contributes none.
    pub async fn resources(&self) -> Vec<ResourceRef> {
        let mut all = Vec::new();
        for (server, list) in resources::of_each(&self.directory, self.directory.servers()).await {
            match list {
                Ok(list) => {
                    let shown =
                        list.iter().filter(|one| self.shows(&server, resource_of(&one.uri)));
                    all.extend(shown.map(|resource| ResourceRef {
                        server: server.name.clone(),
                        resource: resource.clone(),
                    }));
                }
                Err(error) => tracing::debug!(server = %server.name, %error, "no resources"),
            }
        }
        all
    }

    /// Returns the resource templates of every connected server, and the cached ones of stopped servers.
    pub async fn resource_templates(&self) -> Vec<TemplateRef> {
        let mut all = Vec::new();
        for server in self.directory.servers() {
            let templates = match server.readable() {
                Some(client) => {
                    let Some(list) = resources::list_templates(&client).await else { continue };
                    server.update_offers(&self.directory.hub, |offers| {
                        offers.templates = Some(list.clone());
                    });
                    list
                }
                None if server.is_stopped_when_idle() => {
                    server.offers().templates.clone().unwrap_or_default()
                }
                None => continue,
            };
            let is_shown = |template: &&ResourceTemplate| {
                self.shows(&server, resource_of(&template.uri_template))
            };
            all.extend(templates.iter().filter(is_shown).map(|template| TemplateRef {
                server: server.name.clone(),
                template: template.clone(),
            }));
        }
        all
    }

    /// Runs `work` while `owner` handles the requests of this server. Tool calls pass their handler in
    /// [`CallContext`](mcp_tool::CallContext); this is for all other operations.
    pub async fn on_behalf<T>(
        &self,
        server: &str,
        owner: Arc<dyn Handler>,
        work: impl Future<Output = T>,
    ) -> T {
        match self.directory.server(server) {
            Some(server) => server.router.on_behalf(Some(owner), None, work).await,
            None => work.await,
        }
    }

    /// Reads a resource, starting its server if needed. The permission is `mcp:<server>:resource/<uri>`. The user is
    /// asked about a URI that an untrusted server does not list.
    ///
    /// # Errors
    /// Returns [`CallError::Declined`] if a rule or the user denies it.
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<ReadResourceResult, OfferError> {
        let (scope, context) = (self.scope(), self.context());
        let use_of = Use { hub: &self.directory.hub, scope: &scope, context: &context };
        let read = self.server_called(server)?.read(use_of, uri).await;
        Ok(read.map_err(CallError::from)?)
    }

    /// Reads a resource that the user attaches to a message, in the form that `read_mcp_resource` gives to a model:
    /// within the [limits](crate::BridgeOptions::output) of output, and with likely credentials redacted. The notes of
    /// the outcome list what was truncated or redacted.
    ///
    /// # Errors
    /// As [`read_resource`](Self::read_resource).
    pub async fn attach(&self, mention: &Mention) -> Result<ToolOutcome, OfferError> {
        let read = self.read_resource(&mention.server, &mention.uri).await?;
        let mut outcome = ToolOutcome::new(resources::contents(read));
        output::redact_secrets(&mut outcome);
        let mut limits = self.directory.hub.options.output.clone();
        if !limits.is_unlimited()
            && let Some(own) = self.directory.output_limit(&mention.server)
        {
            limits.max_chars = own;
        }
        output::fit(&mut outcome, &limits, "attachment").await;
        Ok(outcome)
    }

    /// Subscribes to changes of these resources, and subscribes again after every reconnect. Starts the server if
    /// needed. Subscribing requires the same permission as reading.
    ///
    /// # Errors
    /// Returns [`CallError::Unsupported`] if the server does not support subscriptions, and [`CallError::Declined`] if
    /// a rule or the user denies it.
    pub async fn subscribe(
        &self,
        server: &str,
        uris: Vec<String>,
    ) -> Result<ResourceUpdates, OfferError> {
        let server = self.server_called(server)?;
        let (scope, context) = (self.scope(), self.context());
        let use_of = Use { hub: &self.directory.hub, scope: &scope, context: &context };
        for uri in &uris {
            server.reader(use_of, uri).await.map_err(CallError::from)?;
        }
        Ok(ResourceUpdates::open(&self.directory, &server, uris).await?)
    }

    /// Decides whether an offer of a server may be used, by the rules, the plan and the user.
    pub(super) async fn permitted(
        &self,
        server: &Server,
        offer: Offer,
        arguments: Value,
        context: CallContext,
    ) -> Result<(), ToolOutcome> {
        let scope = self.scope();
        let use_of = Use { hub: &self.directory.hub, scope: &scope, context: &context };
        server.permit(use_of, offer, arguments).await
    }

    async fn allowed(
        &self,
        server: &Server,
        offer: Offer,
        arguments: Value,
    ) -> Result<(), CallError> {
        let permitted = self.permitted(server, offer, arguments, self.context()).await;
        permitted.map_err(|refused| OfferFailure::Refused(refused).into())
    }

    /// Whether an offer of a server is listed. Offers that a rule denies are hidden.
    fn shows(&self, server: &Server, offer: Offer) -> bool {
        !server.hides(&self.directory.hub, self.conversation.caller(), offer)
    }

    fn scope(&self) -> Scope {
        Scope { caller: self.conversation.caller().clone(), part: Part::Turn }
    }

    /// The context for uses without an explicit one. Its owner is the handler of the current task, or else of the
    /// conversation.
    fn context(&self) -> CallContext {
        let mut context = CallContext::default();
        context.owner =
            Router::current_owner().or_else(|| self.conversation.caller().handler.clone());
        context
    }

    fn server_called(&self, name: &str) -> Result<Arc<Server>, OfferError> {
        self.directory.server(name).ok_or_else(|| OfferError::UnknownServer(name.to_owned()))
    }

    /// Finds the command of this name, with or without its slash.
    fn command_called(&self, name: &str) -> Result<Command, OfferError> {
        let name = name.strip_prefix('/').unwrap_or(name);
        let mut commands = self.commands();
        if let Some(at) = commands.iter().position(|command| command.name == name) {
            return Ok(commands.swap_remove(at));
        }
        let known = commands.iter().map(|command| command.name.as_str());
        let nearest = nearest::among(known, name);
        Err(OfferError::UnknownCommand { name: name.to_owned(), nearest })
    }
}

fn prompt_of(name: &str) -> Offer {
    Offer::Prompt { name: name.into() }
}

fn resource_of(uri: &str) -> Offer {
    Offer::Resource { uri: uri.into(), listed: true }
}

/// Divides `total` fairly: no share exceeds the wanted size, and none is smaller than the share of a larger want.
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
    fn unused_shares_are_redistributed() {
        assert_eq!(fair(&[10, 500, 500], 210), [10, 100, 100]);
        assert_eq!(fair(&[500, 10], 1_000), [500, 10]);
        assert_eq!(fair(&[], 5), [0; 0]);
        assert_eq!(fair(&[5, 5, 5], 0), [0, 0, 0]);
    }
}
