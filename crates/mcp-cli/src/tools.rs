//! Finding the tool a person means.

use std::sync::Arc;

use mcp_bridge::{Bridge, Origin, ServerState, Tool, ToolSpec};
use mcp_search::{Card, Index, Query, SearchOptions};
use serde_json::{Value, json};

use crate::{
    app::App,
    exit::{Exit, Problem},
};

/// Every tool of every server, as far as it is known, and those the user made of them.
pub(crate) fn all(bridge: &Bridge) -> Vec<Arc<dyn Tool>> {
    let snapshot = bridge.snapshot();
    let tools = snapshot.tools().iter().filter(|tool| tool.spec().origin != Origin::Host);
    tools.cloned().collect()
}

/// How many tools are known of a server; `None` if nobody has asked it yet.
///
/// Counted here: what is remembered from last time is in the registry before it is in a server's status.
pub(crate) fn known(bridge: &Bridge, server: &str) -> Option<usize> {
    let count = all(bridge).iter().filter(|tool| tool.spec().server() == Some(server)).count();
    let status = bridge.status().into_iter().find(|status| *status.name == *server);
    let is_listed = count > 0 || status.is_some_and(|status| status.generation > 0);
    is_listed.then_some(count)
}

/// What a tool is called on its own server.
pub(crate) fn own_name(spec: &ToolSpec) -> &str {
    match &spec.origin {
        Origin::Server { tool, .. } => tool,
        Origin::Host | Origin::Custom => &spec.name,
    }
}

/// `server/tool`, as people write it.
pub(crate) fn short(spec: &ToolSpec) -> String {
    match &spec.origin {
        Origin::Server { server, tool } => format!("{server}/{tool}"),
        Origin::Host | Origin::Custom => spec.name.clone(),
    }
}

/// The tool called `name`: as a model calls it, as `server/tool`, or by its own name if only one has it.
/// Starts no server it need not start.
pub(crate) async fn find(app: &App, bridge: &Bridge, name: &str) -> Result<Arc<dyn Tool>, Problem> {
    if let Some(server) = server_of(bridge, name) {
        if known(bridge, &server).is_none() {
            app.settle(bridge, &[server]).await?;
        }
    } else if candidates(bridge, name).is_empty() {
        app.learn(bridge).await?;
    }
    let mut found = candidates(bridge, name);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(missing(app, bridge, name)),
        _ => {
            let names: Vec<String> = found.iter().map(|tool| short(tool.spec())).collect();
            let message = format!("several servers have a tool `{name}`");
            Err(Problem::new(Exit::Usage, message).hint(format!("say which: {}", names.join(", "))))
        }
    }
}

/// The server a name says it is of.
fn server_of(bridge: &Bridge, name: &str) -> Option<String> {
    let servers = bridge.status();
    let named = |server: &str| {
        let rest = name.strip_prefix(server).and_then(|rest| rest.strip_prefix('/'));
        let model = name.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(server));
        rest.is_some() || model.is_some_and(|rest| rest.starts_with("__"))
    };
    // The longest, since one name may be the beginning of another.
    let fitting = servers.iter().map(|status| &*status.name).filter(|server| named(server));
    fitting.max_by_key(|server| server.len()).map(str::to_owned)
}

fn candidates(bridge: &Bridge, name: &str) -> Vec<Arc<dyn Tool>> {
    let all = all(bridge);
    let exact = all.iter().find(|tool| tool.spec().name == name || short(tool.spec()) == name);
    match exact {
        Some(tool) => vec![tool.clone()],
        None => all.into_iter().filter(|tool| own_name(tool.spec()) == name).collect(),
    }
}

/// Why there is no such tool, and which is nearest.
fn missing(app: &App, bridge: &Bridge, name: &str) -> Problem {
    if app.config.resolution.servers().next().is_none() {
        let message = format!("there is no tool called {name}");
        return Problem::new(Exit::NotFound, message).hint(crate::config::NO_SERVERS);
    }
    if let Some((server, _)) = name.split_once('/')
        && app.config.resolution.get(server).is_none()
    {
        return app.config.missing(server);
    }
    if let Some(server) = server_of(bridge, name)
        && let Some(problem) = unreachable(bridge, &server)
    {
        return problem;
    }
    let wanted = name.rsplit('/').next().unwrap_or(name);
    let wanted = wanted.strip_prefix("mcp__").unwrap_or(wanted);
    let query = Query::parse(&format!("select:{wanted}"));
    let results = index(&all(bridge)).search(&query, &SearchOptions::default());
    let nearest: Vec<String> = results.missing.iter().flat_map(|m| m.nearest.clone()).collect();
    let problem = Problem::new(Exit::NotFound, format!("there is no tool called {name}"));
    match nearest.first() {
        Some(near) => problem.hint(format!("did you mean {near}?")),
        None => problem.hint("`mcp tools` lists them, `mcp search WORDS` finds them"),
    }
}

/// What to say of a server that could not be reached; `None` if it could, or was not tried.
pub(crate) fn unreachable(bridge: &Bridge, server: &str) -> Option<Problem> {
    let status = bridge.status().into_iter().find(|status| *status.name == *server)?;
    if status.state == ServerState::Connected {
        return None;
    }
    let reason = status.problem.clone();
    if status.state == ServerState::NeedsAuth {
        let problem = Problem::new(Exit::NeedsLogin, format!("{server} wants a login first"));
        Some(problem.hint(format!("mcp login {server}")))
    } else {
        let message = format!("{server} is not there: {}", reason?);
        let exit = status.class.map_or(Exit::Unavailable, Exit::of_class);
        Some(Problem::new(exit, message).hint(format!("`mcp explain {server}` says more")))
    }
}

/// An index of these tools, as the search library wants them.
pub(crate) fn index(tools: &[Arc<dyn Tool>]) -> Index {
    let mut index = Index::new();
    index.extend(tools.iter().map(|tool| card(tool.spec())));
    index
}

pub(crate) fn card(spec: &ToolSpec) -> Card {
    let schema: Value = serde_json::from_str(spec.input_schema.as_str()).unwrap_or_default();
    let definition = json!({
        "name": own_name(spec),
        "title": spec.title.clone().unwrap_or_default(),
        "description": spec.description,
        "inputSchema": schema,
    });
    Card::from_definition(short(spec), spec.server().unwrap_or_default(), &definition)
}

/// A tool as `--json` shows it.
pub(crate) fn describe(spec: &ToolSpec) -> Value {
    let raw = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    json!({
        "name": short(spec),
        "modelName": spec.name,
        "server": spec.server(),
        "title": spec.title,
        "description": spec.description,
        "inputSchema": raw(spec.input_schema.as_str()),
        "outputSchema": spec.output_schema.as_ref().map(|schema| raw(schema.as_str())),
        "readOnly": spec.hints.is_read_only(),
        "destructive": spec.hints.is_destructive(),
        "idempotent": spec.hints.is_idempotent(),
        "openWorld": spec.hints.is_open_world(),
        "trusted": spec.hints.trusted,
    })
}
