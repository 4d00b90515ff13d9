//! What the servers behind the gateway offer besides tools.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mcp_bridge::{
    BoxFuture, Bridge, Call, CompletionOf, CompletionQuestion, Completions, Detail, Event, Prompts,
    ResourceUpdates, Resources, ServeError, ServerStatus,
};
use mcp_client::{
    CallError, Completion, Delivery, GetPromptResult, Prompt, Resource, ResourceContents,
    ResourceTemplate,
};

use tokio::{sync::mpsc, task::AbortHandle};

use crate::app::is_settled;

/// How long a client waits for servers that have to be started before they can say what they have.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How many changes may wait to be told.
const UPDATES: usize = 256;

/// Resources under their own addresses, prompts under the names of commands.
#[derive(Debug)]
pub(super) struct Shelf {
    bridge: Bridge,
    /// Where changes of resources go that clients want to hear of.
    updated: mpsc::Sender<String>,
    /// Those who listen for them, each until nobody wants to hear of it any more.
    listeners: Mutex<HashMap<String, AbortHandle>>,
}

impl Shelf {
    pub(super) fn new(bridge: &Bridge) -> (Self, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(UPDATES);
        (Self { bridge: bridge.clone(), updated: sender, listeners: Mutex::default() }, receiver)
    }

    fn stock(&self) -> Stock {
        Stock(self.bridge.clone())
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.listeners().drain().for_each(|(_, listener)| listener.abort());
    }
}

/// What the servers behind have, by whom to ask for it.
#[derive(Clone, Debug)]
struct Stock(Bridge);

/// Hears of changes of one resource, from whenever its server is there.
async fn listen(stock: Stock, uri: String, tell: mpsc::Sender<String>) {
    let mut events = stock.0.events();
    loop {
        match stock.updates(&uri).await {
            Ok(mut updates) => {
                while let Some(uri) = updates.next().await {
                    if tell.send(uri).await.is_err() {
                        return;
                    }
                }
            }
            // A server that tells nobody has to be asked: its clients will find out by reading.
            Err(CallError::Unsupported(_)) => return,
            // Nobody has it, or its server is not there: the next one that comes may.
            Err(_) => {}
        }
        loop {
            match events.next().await {
                None => return,
                Some(Event::ServerConnected { .. } | Event::Missed(_)) => break,
                Some(_) => {}
            }
        }
    }
}

impl Stock {
    /// Changes of a resource, from the server that has it.
    async fn updates(&self, uri: &str) -> Result<ResourceUpdates, CallError> {
        let closed = CallError::Closed { delivery: Delivery::NotSent, report: None };
        let server = self.server_of(uri).await.ok_or(closed)?;
        self.0.subscribe(&server, vec![uri.to_owned()]).await
    }

    /// Starts what does not run yet and is not remembered from last time, and waits for what is starting.
    async fn open(&self) {
        let unlisted = self.0.unlisted();
        for server in &unlisted {
            self.0.connect(server);
        }
        let is_starting = |status: &ServerStatus| {
            unlisted.contains(&status.name) || matches!(status.detail, Detail::Connecting { .. })
        };
        let starting: Vec<_> = self.0.status().into_iter().filter(is_starting).collect();
        let all = async {
            for status in &starting {
                self.0.wait_for(&status.name, is_settled).await;
            }
            if !unlisted.is_empty() {
                // Whatever it is that was asked for: next time nothing has to be started for it.
                self.0.resources().await;
            }
        };
        // Whoever is late is announced when it comes.
        let _ = tokio::time::timeout(START_LIMIT, all).await;
    }

    /// The server to ask for a resource: the first that lists it, then the first with a family it fits.
    async fn server_of(&self, uri: &str) -> Option<Arc<str>> {
        self.open().await;
        let listed = self.0.resources().await;
        if let Some(one) = listed.into_iter().find(|one| one.resource.uri == uri) {
            return Some(one.server);
        }
        let families = self.0.resource_templates().await;
        let family = families.into_iter().find(|one| fits(&one.template.uri_template, uri));
        family.map(|one| one.server)
    }
}

impl Resources for Shelf {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async {
            self.stock().open().await;
            let all = self.bridge.resources().await;
            Ok(all.into_iter().map(|one| one.resource).collect())
        })
    }

    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async {
            self.stock().open().await;
            let all = self.bridge.resource_templates().await;
            Ok(all.into_iter().map(|one| one.template).collect())
        })
    }

    fn read(
        &self,
        uri: String,
        call: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(async move {
            let Some(server) = self.stock().server_of(&uri).await else {
                return Err(ServeError::UnknownResource(uri));
            };
            let reading = self.bridge.read_resource(&server, &uri);
            let read = self.bridge.on_behalf(&server, Arc::new(call), reading).await;
            read.map(|read| read.contents).map_err(refused)
        })
    }

    fn watch(&self, uri: &str) {
        let listening = listen(self.stock(), uri.to_owned(), self.updated.clone());
        let listener = tokio::spawn(listening).abort_handle();
        if let Some(before) = self.listeners().insert(uri.to_owned(), listener) {
            before.abort();
        }
    }

    fn unwatch(&self, uri: &str) {
        if let Some(listener) = self.listeners().remove(uri) {
            listener.abort();
        }
    }
}

impl Prompts for Shelf {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async {
            let prompt = |command: mcp_bridge::Command| {
                let mut prompt = Prompt::new(command.name);
                prompt.description = Some(command.description);
                prompt.arguments = command.arguments;
                prompt
            };
            self.stock().open().await;
            Ok(self.bridge.commands().into_iter().map(prompt).collect())
        })
    }

    fn get(
        &self,
        name: String,
        arguments: BTreeMap<String, String>,
        call: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        Box::pin(async move {
            self.stock().open().await;
            let commands = self.bridge.commands();
            let Some(command) = commands.iter().find(|command| command.name == name) else {
                return Err(ServeError::InvalidParams(format!("there is no prompt `{name}`")));
            };
            let value = |name: &str| arguments.get(name).map(String::as_str).unwrap_or_default();
            let words: Vec<&str> =
                command.arguments.iter().map(|argument| value(&argument.name)).collect();
            let filling = self.bridge.run_command(&name, &words);
            self.bridge.on_behalf(&command.server, Arc::new(call), filling).await.map_err(refused)
        })
    }
}

impl Completions for Shelf {
    fn complete(
        &self,
        question: CompletionQuestion,
    ) -> BoxFuture<'_, Result<Completion, ServeError>> {
        Box::pin(async move {
            self.stock().open().await;
            let CompletionQuestion { of, argument, value, settled, .. } = question;
            let completed = match &of {
                CompletionOf::Prompt(name) => {
                    if !self.bridge.commands().iter().any(|command| command.name == *name) {
                        let problem = format!("there is no prompt `{name}`");
                        return Err(ServeError::InvalidParams(problem));
                    }
                    self.bridge.complete(name, &argument, &value, &settled).await
                }
                CompletionOf::Resource(text) => {
                    let families = self.bridge.resource_templates().await;
                    let family = families.iter().find(|one| one.template.uri_template == *text);
                    let Some(family) = family else {
                        let problem = format!("there is no resource template `{text}`");
                        return Err(ServeError::InvalidParams(problem));
                    };
                    self.bridge.complete_template(family, &argument, &value, &settled).await
                }
            };
            match completed {
                // A server without completions has nothing to say, which is no failure.
                Err(CallError::Unsupported(_)) => Ok(Completion::new(Vec::new())),
                other => other.map_err(refused),
            }
        })
    }
}

/// Whether an address can be one of the family: what a template says literally is there, in its order.
fn fits(template: &str, uri: &str) -> bool {
    let mut pieces = template.split('{').enumerate().map(|(index, piece)| match index {
        0 => piece,
        _ => piece.split_once('}').map_or("", |(_, literal)| literal),
    });
    let Some(mut rest) = uri.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let literals: Vec<&str> = pieces.collect();
    let Some((last, between)) = literals.split_last() else { return rest.is_empty() };
    for literal in between {
        let Some(at) = rest.find(literal) else { return false };
        rest = &rest[at + literal.len()..];
    }
    rest.ends_with(last)
}

/// What a server refuses is passed on as it is: its client may know the code.
fn refused(error: CallError) -> ServeError {
    match error {
        CallError::Rejected(object) => ServeError::Rpc(object),
        other => ServeError::Internal(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn an_address_fits_a_family_by_what_is_literal_in_it() {
        assert!(fits("test://template/{id}/data", "test://template/123/data"));
        assert!(fits("a:{x}/{y}", "a:1/2"));
        assert!(fits("a:b", "a:b"));
        assert!(!fits("a:b", "a:bc"));
        assert!(!fits("test://template/{id}/data", "test://template/123/other"));
        assert!(!fits("test://template/{id}/data", "other://template/123/data"));
        assert!(!fits("a:{x}/{y}", "a:12"));
    }
}
