//! The two built-in tools that list and read the resources of all servers.

use std::sync::{Arc, Weak};

use futures_core::future::BoxFuture;
use mcp_client::{
    CallError, Client, Content, Delivery, RawJson,
    rpc::ErrorObject,
    types::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::{Value, json};

use mcp_tool::{CallContext, FailureKind, Hints, Offer, ToolOutcome, ToolSpec};

use crate::{
    directory::Directory,
    sanitize::{self, clean},
    server::{
        Server,
        offered::{OfferFailure, Use},
    },
    tools::{
        registry::Registered,
        scope::{Caller, Entry, Scope, ScopedTool},
    },
};

/// The maximum number of resources listed per server.
const MOST: usize = 200;

pub(crate) fn tools(directory: &Arc<Directory>) -> Vec<Arc<Registered>> {
    let tool = |spec, kind| {
        let tool = ResourceTool { spec, kind, directory: Arc::downgrade(directory) };
        Arc::new(Registered::own(Entry::Scoped(Arc::new(tool))))
    };
    let mut list = ToolSpec::new(
        "list_mcp_resources",
        "Lists the resources of the MCP servers, such as files and records. Read one with read_mcp_resource.",
    );
    list.hints = Hints::reading();
    list.input_schema = schema(&json!({"type": "object", "properties": {
        "server": {"type": "string", "description": "List the resources of this server only"}}}));
    let mut read = ToolSpec::new("read_mcp_resource", "Reads a resource of an MCP server.");
    read.hints = Hints::reading();
    read.input_schema = schema(
        &json!({"type": "object", "required": ["server", "uri"], "properties": {
        "server": {"type": "string", "description": "The server's name"},
        "uri": {"type": "string", "description": "The resource's URI, exactly as it was listed"}}}),
    );
    vec![tool(list, Kind::List), tool(read, Kind::Read)]
}

fn schema(schema: &Value) -> RawJson {
    RawJson::encode(schema).unwrap_or_else(|_| crate::tools::schema::empty())
}

#[derive(Clone, Copy)]
enum Kind {
    List,
    Read,
}

struct ResourceTool {
    spec: ToolSpec,
    kind: Kind,
    directory: Weak<Directory>,
}

impl ScopedTool for ResourceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(
        &self,
        arguments: RawJson,
        context: CallContext,
        scope: Scope,
    ) -> BoxFuture<'_, ToolOutcome> {
        let arguments: Value = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        Box::pin(async move {
            let Some(directory) = self.directory.upgrade() else {
                return ToolOutcome::error("the bridge was shut down");
            };
            let mut servers = directory.servers();
            let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
            match self.kind {
                Kind::List => {
                    if let Some(only) = text("server") {
                        servers.retain(|server| *server.name == only);
                    }
                    list(&directory, &scope.caller, servers).await
                }
                Kind::Read => {
                    let (server, uri) = (text("server"), text("uri").unwrap_or_default());
                    let server = server.as_deref().unwrap_or_default();
                    let resource = Offer::Resource { uri: uri.as_str().into(), listed: true };
                    let is_seen = |known: &&Arc<Server>| {
                        &*known.name == server
                            && scope.caller.filter.admits(&known.offered(resource.clone()))
                    };
                    let found = servers.iter().find(is_seen);
                    match found {
                        Some(server) => {
                            let use_of =
                                Use { hub: &directory.hub, scope: &scope, context: &context };
                            read(server, use_of, &uri).await
                        }
                        None => ToolOutcome::error("unknown server"),
                    }
                }
            }
        })
    }
}

/// Lists the resources of each connected server, and the cached ones of stopped servers, in the order of the servers.
/// The requests run concurrently, so the total wait is that of the slowest server.
pub(crate) async fn of_each(
    directory: &Directory,
    servers: Vec<Arc<Server>>,
) -> Vec<(Arc<Server>, Readable)> {
    let mut asking = tokio::task::JoinSet::new();
    let mut all: Vec<(usize, Arc<Server>, Readable)> = Vec::with_capacity(servers.len());
    for (at, server) in servers.into_iter().enumerate() {
        if let Some(client) = server.readable() {
            asking.spawn(async move {
                let listed = client.list_resources().await;
                let is_known = server.offers().templates.is_some();
                let templates = if is_known { None } else { list_templates(&client).await };
                (at, server, listed, templates)
            });
        } else if server.is_stopped_when_idle()
            && let Some(known) = server.offers().resources.clone()
        {
            all.push((at, server.clone(), Ok(known)));
        }
    }
    while let Some(listed) = asking.join_next().await {
        let Ok((at, server, listed, templates)) = listed else { continue };
        let listed = listed.map(|list| Arc::new(list.items));
        server.update_offers(&directory.hub, |offers| {
            offers.resources = listed.as_ref().ok().cloned().or(offers.resources.take());
            offers.templates = templates.or(offers.templates.take());
        });
        all.push((at, server, listed));
    }
    all.sort_by_key(|(at, ..)| *at);
    all.into_iter().map(|(_, server, list)| (server, list)).collect()
}

/// Lists a server's resource templates; `None` if the request failed.
pub(crate) async fn list_templates(client: &Client) -> Option<Arc<Vec<ResourceTemplate>>> {
    match client.list_resource_templates().await {
        Ok(list) => Some(Arc::new(list.items)),
        // A server with resources need not support templates.
        Err(CallError::Failed { failure: mcp_client::rpc::Failure::Rejected(error), .. })
            if error.code == ErrorObject::METHOD_NOT_FOUND =>
        {
            Some(Arc::default())
        }
        Err(CallError::Unsupported(_)) => Some(Arc::default()),
        Err(error) => {
            tracing::debug!(%error, "could not list resource templates");
            None
        }
    }
}

type Readable = Result<Arc<Vec<Resource>>, CallError>;

async fn list(directory: &Directory, caller: &Caller, servers: Vec<Arc<Server>>) -> ToolOutcome {
    let is_hidden = |server: &Server, uri: &str| {
        server.hides(&directory.hub, caller, Offer::Resource { uri: uri.into(), listed: true })
    };
    let mut all = Vec::new();
    for (server, list) in of_each(directory, servers).await {
        match list {
            Ok(list) => {
                let shown = list.iter().filter(|one| !is_hidden(&server, &one.uri)).take(MOST);
                all.extend(shown.map(|resource| described(&server, resource)));
            }
            Err(_) if is_hidden(&server, "") => {}
            Err(_) => {
                all.push(json!({"server": &*server.name, "error": "could not list its resources"}));
            }
        }
    }
    let answer = json!({ "resources": all });
    let mut outcome = ToolOutcome::text(answer.to_string());
    outcome.structured = RawJson::encode(&answer).ok();
    outcome
}

fn described(server: &Server, resource: &Resource) -> Value {
    let description = resource.description.as_deref();
    json!({"server": &*server.name, "uri": resource.uri,
        "name": clean(&resource.name, sanitize::SUMMARY).text,
        "description": description.map(|text| clean(text, sanitize::UNTRUSTED).text),
        "mimeType": resource.mime_type})
}

async fn read(server: &Server, use_of: Use<'_>, uri: &str) -> ToolOutcome {
    let _in_flight = server.begin();
    match server.read(use_of, uri).await {
        Ok(result) => {
            let mut outcome = ToolOutcome::text("");
            outcome.content = contents(result);
            outcome
        }
        Err(OfferFailure::Refused(outcome)) => outcome,
        Err(OfferFailure::Failed(error)) => {
            let text = clean(&error.to_string(), 1_000).text;
            let delivery: Delivery = error.delivery();
            ToolOutcome::failed(FailureKind::Rejected, delivery, text)
        }
    }
}

/// Converts resource contents for a model: text, images and audio as such, and everything else as a resource.
pub(crate) fn contents(result: ReadResourceResult) -> Vec<Content> {
    let block = |part: ResourceContents| {
        if let Some(text) = part.text {
            return Content::text(text);
        }
        let mime = part.mime_type.clone().unwrap_or_default();
        let kind = match mime.split('/').next() {
            Some("image") => "image",
            Some("audio") => "audio",
            _ => "resource",
        };
        let json = if kind == "resource" {
            json!({"type": kind, "resource": {"uri": part.uri, "mimeType": mime, "blob": part.blob}})
        } else {
            json!({"type": kind, "data": part.blob.unwrap_or_default(), "mimeType": mime})
        };
        let decoded = RawJson::encode(&json).and_then(|raw| raw.decode());
        decoded.unwrap_or_else(|_| Content::text(format!("[{} cannot be shown]", part.uri)))
    };
    result.contents.into_iter().map(block).collect()
}
