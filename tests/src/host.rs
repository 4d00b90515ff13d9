//! A host that answers requests and records them, and helpers for scenarios.

#![expect(clippy::missing_panics_doc, reason = "a scenario that goes wrong panics")]

use std::{future::Future, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use mcp_client::{
    CallToolResult, Client, ClientCapabilities, ClientOptions, ElicitRequest, ElicitResult,
    Handler, ServerEvent,
    types::{CreateMessageRequest, CreateMessageResult, Root, events::Refusal},
};
use mcp_jsonrpc::RawJson;
use serde_json::Value;
use tokio::sync::mpsc;

/// Awaits `future` with a generous time limit; exceeding it is a failure.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let never = |_| panic!("took too long: {what}");
    tokio::time::timeout(Duration::from_secs(60), future).await.unwrap_or_else(never)
}

/// The result of a tool, which must not be an error.
pub async fn call(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    let result = soon(tool, async { client.call_tool(tool, &arguments).await }).await;
    let result = result.unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(!result.is_error, "{tool}: {}", result.text());
    result
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).expect("it is written here")
}

/// A host that offers all capabilities, accepts every request, and records what it receives.
#[derive(Debug)]
pub struct Host {
    /// The roots it reports.
    pub roots: Vec<Root>,
    asked: mpsc::UnboundedSender<String>,
    heard: mpsc::UnboundedSender<ServerEvent>,
}

/// The requests and events a [`Host`] received.
#[derive(Debug)]
pub struct Diary {
    asked: mpsc::UnboundedReceiver<String>,
    heard: mpsc::UnboundedReceiver<ServerEvent>,
}

impl Host {
    /// A host without roots, and its diary.
    pub fn new() -> (Self, Diary) {
        let (asked, was_asked) = mpsc::unbounded_channel();
        let (heard, was_heard) = mpsc::unbounded_channel();
        let host = Self { roots: Vec::new(), asked, heard };
        (host, Diary { asked: was_asked, heard: was_heard })
    }

    /// Default options with this host.
    pub fn options(self) -> ClientOptions {
        let mut options = ClientOptions::default();
        options.handler = Arc::new(self);
        options
    }
}

impl Diary {
    /// Waits for the next event that matches.
    pub async fn hears(&mut self, what: &str, is_it: impl Fn(&ServerEvent) -> bool) {
        soon(what, async { while !is_it(&self.heard.recv().await.expect("the host lives")) {} })
            .await;
    }

    /// All requests to the host since the last call of this function.
    pub fn all_asked(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.asked.try_recv().ok()).collect()
    }

    /// Waits until the host has received exactly this request.
    pub async fn is_asked(&mut self, what: &str) {
        soon(what, async { while self.asked.recv().await.expect("the host lives") != what {} })
            .await;
    }
}

impl Handler for Host {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered.elicitation_url = true;
        offered.sampling = true;
        offered.roots = true;
        offered.roots_list_changed = true;
        offered
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let _ = self.asked.send(request.url.clone().unwrap_or_else(|| request.message.clone()));
        Box::pin(async move {
            if request.is_url() {
                return ElicitResult::accept_url();
            }
            let properties = request.requested_schema.as_ref().and_then(|s| s.get("properties"));
            let has = |name| properties.as_ref().is_some_and(|all| all.get(name).is_some());
            ElicitResult::accept(if has("name") { raw(r#"{"name":"Ada"}"#) } else { raw("{}") })
        })
    }

    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        let _ = self.asked.send(format!("sample {}", request.messages.len()));
        Box::pin(async { Ok(CreateMessageResult::text("a-model", "as if by a model")) })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        let _ = self.asked.send("roots".into());
        Box::pin(async { Ok(self.roots.clone()) })
    }

    fn event(&self, event: ServerEvent) {
        let _ = self.heard.send(event);
    }
}
