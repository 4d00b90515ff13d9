//! `tool_search` and `tool_list`: access to tools that are not in the prompt.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use futures_core::future::BoxFuture;
use mcp_client::RawJson;
use mcp_search::{Hit, Query, SearchOptions};
use mcp_tool::{CallContext, Hints, Tool, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use super::view::View;
use crate::{
    events::Event,
    tools::{registry::Registered, schema},
};

/// The maximum number of tools that one search loads, regardless of the requested limit.
const MOST: usize = 25;
/// The number of hits to rank for a conversation with a filter.
const MOST_RANKED: usize = 10_000;
/// The maximum number of lines in one list.
const MOST_LISTED: usize = 200;

/// The two tools of one conversation.
pub(super) fn tools(view: &Arc<View>) -> Vec<Arc<Registered>> {
    let tool = |spec, kind| -> Arc<Registered> {
        let tool = SearchTool { spec, kind, view: view.clone() };
        Arc::new(Registered::host(Arc::new(tool)))
    };
    vec![tool(search_spec(), Kind::Search), tool(list_spec(), Kind::List)]
}

fn search_spec() -> ToolSpec {
    let mut spec = ToolSpec::new(
        "tool_search",
        "Finds tools by what they do and loads them: they can be called from the next turn on. \
         Query with a few words; `+word` must occur; `server:name` narrows; `select:a,b` takes exact names.",
    );
    spec.hints = Hints::reading();
    spec.input_schema = encoded(&json!({"type": "object", "required": ["query"], "properties": {
        "query": {"type": "string", "description": "What the tool should do, or its name"},
        "regex": {"type": "boolean", "description": "Whether the query is a regular expression"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST,
            "description": "The maximum number of tools to load"}}}));
    spec
}

fn list_spec() -> ToolSpec {
    let mut spec = ToolSpec::new("tool_list", "Lists the tools of one server, or all servers.");
    spec.hints = Hints::reading();
    spec.input_schema = encoded(&json!({"type": "object", "properties": {
        "server": {"type": "string", "description": "The server's name; without it, all servers are listed"},
        "offset": {"type": "integer", "minimum": 0, "description": "The number of tools to skip"}}}));
    spec
}

fn encoded(schema: &Value) -> RawJson {
    RawJson::encode(schema).unwrap_or_else(|_| schema::empty())
}

#[derive(Clone, Copy)]
enum Kind {
    Search,
    List,
}

struct SearchTool {
    spec: ToolSpec,
    kind: Kind,
    view: Arc<View>,
}

impl Tool for SearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        let arguments: Value = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        Box::pin(async move {
            self.view.directory.discover().await;
            match self.kind {
                Kind::Search => search(&self.view, &arguments),
                Kind::List => list(&self.view, &arguments),
            }
        })
    }
}

fn search(view: &View, arguments: &Value) -> ToolOutcome {
    let text = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
    let query = if arguments.get("regex").and_then(Value::as_bool) == Some(true) {
        match Query::regex(text) {
            Ok(query) => query,
            Err(error) => return ToolOutcome::error(format!("not a regular expression: {error}")),
        }
    } else {
        Query::parse(text)
    };
    let limit = arguments.get("limit").and_then(Value::as_u64);
    // The host's setting bounds the limit that a model may request.
    let most = view.directory.hub.options.max_matches.clamp(1, MOST);
    let limit = limit.map_or(most, |n| usize::try_from(n).unwrap_or(MOST)).clamp(1, most);
    let visible: HashMap<String, Arc<Registered>> =
        view.visible().into_iter().map(|r| (r.tool.spec().name.clone(), r)).collect();
    let (hits, missing) = {
        let index =
            view.directory.hub.registry.index.read().unwrap_or_else(PoisonError::into_inner);
        // The index is shared by all conversations: fetch more hits, because this conversation may not see some of
        // them.
        let mut options = SearchOptions::default();
        options.limit = limit * 4;
        let floor = options.floor;
        if !view.caller.filter.is_empty() {
            (options.limit, options.floor) = (MOST_RANKED, 0.0);
        }
        let results = index.search(&query, &options);
        let seen = |hit: &Hit| Some((hit.score, visible.get(&hit.card.id)?.clone()));
        let found: Vec<_> = results.hits.iter().filter_map(seen).take(limit).collect();
        // Apply the score floor relative to the best hit that this conversation sees.
        let best = found.iter().map(|(score, _)| *score).fold(0.0, f32::max);
        let near = found.into_iter().filter(|(score, _)| *score >= best * floor);
        (near.map(|(_, tool)| tool).collect::<Vec<_>>(), results.missing)
    };
    view.directory.hub.bus.tell(Event::ToolSearch { results: hits.len() });
    view.activate(hits.iter());
    let matches: Vec<Value> = hits
        .iter()
        .map(|r| json!({"id": r.tool.spec().name, "description": r.description}))
        .collect();
    let mut answer = json!({ "matches": matches });
    if !missing.is_empty() {
        let missing = missing.iter().map(|missing| {
            let is_visible = |name: &&String| visible.contains_key(*name);
            let nearest: Vec<&String> = missing.nearest.iter().filter(is_visible).collect();
            json!({"name": missing.name, "nearest": nearest})
        });
        answer["missing"] = missing.collect();
    }
    structured(&answer)
}

/// The names in the outcome of a search.
pub(super) fn found(outcome: &ToolOutcome) -> Vec<String> {
    let matches = outcome.structured.as_ref().and_then(|structured| structured.get("matches"));
    let matches: Vec<RawJson> =
        matches.and_then(|matches| matches.decode().ok()).unwrap_or_default();
    let name = |found: &RawJson| found.get("id")?.decode().ok();
    matches.iter().filter_map(name).collect()
}

fn list(view: &View, arguments: &Value) -> ToolOutcome {
    let visible = view.visible();
    let Some(server) = arguments.get("server").and_then(Value::as_str) else {
        let mut servers: Vec<(&str, usize)> = Vec::new();
        for server in visible.iter().filter_map(|r| r.tool.spec().server()) {
            match servers.iter_mut().find(|(name, _)| *name == server) {
                Some((_, count)) => *count += 1,
                None => servers.push((server, 1)),
            }
        }
        let servers: Vec<_> = servers
            .into_iter()
            .map(|(name, tools)| json!({"server": name, "tools": tools}))
            .collect();
        return structured(&json!({ "servers": servers }));
    };
    let offset = arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let of_server: Vec<_> =
        visible.iter().filter(|r| r.tool.spec().server() == Some(server)).collect();
    let page: Vec<_> = of_server
        .iter()
        .skip(offset)
        .take(MOST_LISTED)
        .map(|r| json!({"id": r.tool.spec().name, "description": r.summary}))
        .collect();
    let mut answer = json!({"server": server, "tools": page});
    if of_server.len().saturating_sub(offset) > MOST_LISTED {
        answer["next_offset"] = json!(offset + MOST_LISTED);
    }
    structured(&answer)
}

fn structured(answer: &Value) -> ToolOutcome {
    let mut outcome = ToolOutcome::text(answer.to_string());
    outcome.structured = RawJson::encode(answer).ok();
    outcome
}
