//! Two tools for everything servers let us read.

use std::sync::{Arc, Weak};

use futures_core::future::BoxFuture;
use mcp_client::{
    CallError, Client, Content, Delivery, ErrorObject, RawJson, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

use super::core::Core;
use crate::{
    context::CallContext,
    hygiene::{self, clean},
    outcome::{FailureKind, ToolOutcome},
    registry::Registered,
    server::Server,
    tool::{Hints, Tool, ToolSpec},
};

/// The most resources of one server to list.
const MOST: usize = 200;

pub(super) fn tools(core: &Arc<Core>) -> Vec<Arc<Registered>> {
    let tool = |spec, kind| {
        let tool = ResourceTool { spec, kind, core: Arc::downgrade(core) };
        Arc::new(Registered::host(Arc::new(tool)))
    };
    let mut list = ToolSpec::new(
        "list_mcp_resources",
        "Lists what the MCP servers have to read: files, records, pages. Read one with read_mcp_resource.",
    );
    list.hints = Hints::reading();
    list.input_schema = schema(&json!({"type": "object", "properties": {
        "server": {"type": "string", "description": "Only this server's"}}}));
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
    RawJson::encode(schema).unwrap_or_else(|_| crate::schema::empty())
}

#[derive(Clone, Copy)]
enum Kind {
    List,
    Read,
}

struct ResourceTool {
    spec: ToolSpec,
    kind: Kind,
    core: Weak<Core>,
}

impl Tool for ResourceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        let arguments: Value = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        Box::pin(async move {
            let Some(core) = self.core.upgrade() else {
                return ToolOutcome::error("this bridge is gone");
            };
            let mut servers = core.servers();
            if let Some(lease) = &context.lease {
                servers.retain(|server| lease.admits_resources_of(&server.name));
            }
            let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
            match self.kind {
                Kind::List => {
                    if let Some(only) = text("server") {
                        servers.retain(|server| *server.name == only);
                    }
                    list(&core, servers).await
                }
                Kind::Read => {
                    let (server, uri) = (text("server"), text("uri").unwrap_or_default());
                    let server = server.as_deref().unwrap_or_default();
                    let found = servers.iter().find(|known| &*known.name == server);
                    match found {
                        Some(server) => read(server, &uri, &context).await,
                        None => ToolOutcome::error("there is no server of that name"),
                    }
                }
            }
        })
    }
}

/// What each connected server has to read, and what is remembered of those at rest, in their order. All are
/// asked at once, so a slow one keeps nobody waiting but once.
pub(super) async fn of_each(
    core: &Core,
    servers: Vec<Arc<Server>>,
) -> Vec<(Arc<Server>, Readable)> {
    let mut asking = tokio::task::JoinSet::new();
    let mut all: Vec<(usize, Arc<Server>, Readable)> = Vec::with_capacity(servers.len());
    for (at, server) in servers.into_iter().enumerate() {
        if let Some(client) = server.readable() {
            asking.spawn(async move {
                let listed = client.list_resources().await;
                let is_known = server.offers().templates.is_some();
                let templates = if is_known { None } else { families(&client).await };
                (at, server, listed, templates)
            });
        } else if server.is_resting()
            && let Some(known) = server.offers().resources.clone()
        {
            all.push((at, server.clone(), Ok(known)));
        }
    }
    while let Some(listed) = asking.join_next().await {
        let Ok((at, server, listed, templates)) = listed else { continue };
        let listed = listed.map(|list| Arc::new(list.items));
        core.note_offers(&server, |offers| {
            offers.resources = listed.as_ref().ok().cloned().or(offers.resources.take());
            offers.templates = templates.or(offers.templates.take());
        });
        all.push((at, server, listed));
    }
    all.sort_by_key(|(at, ..)| *at);
    all.into_iter().map(|(_, server, list)| (server, list)).collect()
}

/// A server's families of resources; `None` if it could not say.
pub(super) async fn families(client: &Client) -> Option<Arc<Vec<ResourceTemplate>>> {
    match client.list_resource_templates().await {
        Ok(list) => Some(Arc::new(list.items)),
        // One that has resources need not have families of them.
        Err(CallError::Rejected(error)) if error.code == ErrorObject::METHOD_NOT_FOUND => {
            Some(Arc::default())
        }
        Err(CallError::Unsupported(_)) => Some(Arc::default()),
        Err(error) => {
            tracing::debug!(%error, "no families of resources");
            None
        }
    }
}

type Readable = Result<Arc<Vec<Resource>>, CallError>;

async fn list(core: &Core, servers: Vec<Arc<Server>>) -> ToolOutcome {
    let mut all = Vec::new();
    for (server, list) in of_each(core, servers).await {
        match list {
            Ok(list) => all.extend(list.iter().take(MOST).map(|resource| {
                json!({"server": &*server.name, "uri": resource.uri,
                    "name": clean(&resource.name, hygiene::SUMMARY).text,
                    "description": resource.description.as_deref()
                        .map(|text| clean(text, hygiene::UNTRUSTED).text),
                    "mimeType": resource.mime_type})
            })),
            Err(_) => {
                all.push(json!({"server": &*server.name, "error": "it cannot list them now"}));
            }
        }
    }
    let answer = json!({ "resources": all });
    let mut outcome = ToolOutcome::text(answer.to_string());
    outcome.structured = RawJson::encode(&answer).ok();
    outcome
}

async fn read(server: &Server, uri: &str, context: &CallContext) -> ToolOutcome {
    let _in_flight = server.begin();
    let client = match server.ready(context).await {
        Ok(client) => client,
        Err(outcome) => return outcome,
    };
    let reading = client.read_resource(uri);
    match server.router.on_behalf(context.owner.clone(), reading).await {
        Ok(result) => {
            let mut outcome = ToolOutcome::text("");
            outcome.content = contents(result);
            outcome
        }
        Err(error) => {
            let text = clean(&error.to_string(), 1_000).text;
            let delivery: Delivery = error.delivery();
            ToolOutcome::failed(FailureKind::Rejected, delivery, text)
        }
    }
}

/// What was read, for a model: texts as text, pictures and sounds as such, the rest whole.
fn contents(result: ReadResourceResult) -> Vec<Content> {
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
