//! Finds tools by the names that users write.

use std::{sync::Arc, time::Duration};

use mcp_bridge::{Bridge, ServerStatus, Tool, ToolSpec, tool::Origin};
use mcp_search::{Card, Index, Query, SearchOptions};
use serde_json::{Value, json};

use crate::{
    exit::{Exit, Problem},
    host::app::App,
    terminal::server_state,
};

/// Returns every known tool of all servers, and all custom tools.
pub(crate) fn all(bridge: &Bridge) -> Vec<Arc<dyn Tool>> {
    let snapshot = bridge.snapshot();
    let tools = snapshot
        .tools()
        .iter()
        .filter(|tool| matches!(tool.spec().origin, Origin::Server { .. } | Origin::Custom));
    tools.cloned().collect()
}

/// Returns the number of known tools of a server; `None` if it was never connected.
///
/// Counts the registry, because remembered tools are not part of a server's status.
pub(crate) fn known(bridge: &Bridge, server: &str) -> Option<usize> {
    let count = all(bridge).iter().filter(|tool| tool.spec().server() == Some(server)).count();
    let status = bridge.status().into_iter().find(|status| *status.name == *server);
    let is_listed = count > 0 || status.is_some_and(|status| status.generation > 0);
    is_listed.then_some(count)
}

/// Returns the name of a tool on its server.
pub(crate) fn own_name(spec: &ToolSpec) -> &str {
    match &spec.origin {
        Origin::Server { tool, .. } => tool,
        _ => &spec.name,
    }
}

/// Returns `server/tool`.
pub(crate) fn short(spec: &ToolSpec) -> String {
    match &spec.origin {
        Origin::Server { server, tool } => format!("{server}/{tool}"),
        _ => spec.name.clone(),
    }
}

/// Finds a tool by the name that models use, by `server/tool`, or by its own name if only one server has it. Starts
/// as few servers as possible.
pub(crate) async fn find(app: &App, bridge: &Bridge, name: &str) -> Result<Arc<dyn Tool>, Problem> {
    if let Some(server) = server_of(bridge, name) {
        // A tool that is not in the catalogue may be new: ask the server before reporting it as missing.
        if known(bridge, &server).is_none() || candidates(bridge, name).is_empty() {
            app.settle(bridge, &[server]).await?;
        }
    } else if candidates(bridge, name).is_empty() {
        learn(app, bridge).await?;
    }
    let mut found = candidates(bridge, name);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(missing(app, bridge, name)),
        _ => {
            let names: Vec<String> = found.iter().map(|tool| short(tool.spec())).collect();
            let message = format!("several servers have a tool `{name}`");
            Err(Problem::usage(message).hint(format!("say which: {}", names.join(", "))))
        }
    }
}

/// Connects servers that are not in the catalogue, so that every tool is known.
pub(crate) async fn learn(app: &App, bridge: &Bridge) -> Result<Vec<(String, Duration)>, Problem> {
    let is_idle = |status: &ServerStatus| status.state.is_idle();
    let unknown: Vec<String> = bridge
        .status()
        .iter()
        .filter(|status| is_idle(status) && known(bridge, &status.name).is_none())
        .map(|status| status.name.to_string())
        .collect();
    app.settle(bridge, &app.without_failed(unknown)).await
}

/// Returns the server that a tool name begins with.
fn server_of(bridge: &Bridge, name: &str) -> Option<String> {
    let servers = bridge.status();
    let named = |server: &str| {
        let rest = name.strip_prefix(server).and_then(|rest| rest.strip_prefix('/'));
        let model = name.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(server));
        rest.is_some() || model.is_some_and(|rest| rest.starts_with("__"))
    };
    // Choose the longest, because one server name may be a prefix of another.
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

/// Builds the error for an unknown tool, and suggests the nearest name.
fn missing(app: &App, bridge: &Bridge, name: &str) -> Problem {
    let server = name.split_once('/').map(|(server, _)| server);
    // The server is configured, but disabled or not approved.
    if let Some(server) = server.filter(|server| app.config.resolution.get(server).is_none())
        && !app.config.resolution.explain(server).entries.is_empty()
    {
        return app.config.missing(server);
    }
    if !app.has_servers() {
        let message = format!("tool not found: {name}");
        return Problem::new(Exit::NotFound, message).hint(crate::host::config::NO_SERVERS);
    }
    if let Some((server, _)) = name.split_once('/')
        && app.config.resolution.get(server).is_none()
    {
        return app.config.missing(server);
    }
    let servers = bridge.status();
    let server = match servers.as_slice() {
        // The tool can only be there.
        [only] => Some(only.name.to_string()),
        _ => server_of(bridge, name),
    };
    if let Some(problem) = server.and_then(|server| unreachable(app, bridge, &server)) {
        return problem;
    }
    let failed: Vec<&str> = servers
        .iter()
        .map(|status| &*status.name)
        .filter(|server| unreachable(app, bridge, server).is_some())
        .collect();
    if let Some(first) = failed.first() {
        app.out.remark(format!(
            "not searched, because they are unavailable: {} (`mcp explain {first}` shows why)",
            failed.join(", ")
        ));
    }
    let wanted = name.rsplit('/').next().unwrap_or(name);
    let wanted = wanted.strip_prefix("mcp__").unwrap_or(wanted);
    let query = Query::parse(&format!("select:{wanted}"));
    let results = index(&all(bridge)).search(&query, &SearchOptions::default());
    let nearest: Vec<String> = results.missing.iter().flat_map(|m| m.nearest.clone()).collect();
    let problem = Problem::new(Exit::NotFound, format!("tool not found: {name}"));
    if app.config.resolution.get(name).is_some() {
        return problem.hint(format!("{name} is a server: `mcp tools {name}` lists its tools"));
    }
    match nearest.first() {
        Some(near) => problem.hint(format!("did you mean {near}?")),
        None => problem.hint("`mcp tools` lists them, `mcp search WORDS` finds them"),
    }
}

/// Explains why a server could not be reached; `None` if it could, or was not tried.
pub(crate) fn unreachable(app: &App, bridge: &Bridge, server: &str) -> Option<Problem> {
    let status = bridge.status().into_iter().find(|status| *status.name == *server)?;
    if status.state.is_connected() {
        return None;
    }
    if status.state.needs_login() {
        let next = bridge.explain(server).map(|explained| explained.next_step);
        let problem = Problem::new(Exit::NeedsLogin, format!("{server} requires a login"));
        // A server without a login names the header or variable to set.
        return Some(
            match next.filter(|next| next.starts_with("set ") && app.config.spec().is_none()) {
                Some(next) => problem.hint(next),
                None => problem.hint(app.config.login_hint(server)),
            },
        );
    }
    let reason = match server_state::reason(bridge, &status) {
        Some(reason) => reason,
        // `--timeout` has ended the wait for it.
        None if status.state.is_pending() && !status.state.is_idle() => match app.timeout {
            Some(limit) => format!("no response within {} s", limit.as_secs()),
            None => "no response yet".to_owned(),
        },
        None => return None,
    };
    let exit = status.class.map_or(Exit::Unavailable, Exit::from);
    let problem = Problem::new(exit, format!("{server} is unavailable: {reason}"));
    Some(problem.hint(app.config.explain_hint(server)))
}

/// Builds a search index of these tools.
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

/// Returns a tool as its server published it, for scoring; for a custom tool, its own specification.
pub(crate) fn published(bridge: &Bridge, spec: &ToolSpec) -> Card {
    let definition = bridge.published(&spec.name).map(|raw| raw.decode::<Value>());
    match definition {
        Some(Ok(definition)) => {
            Card::from_definition(short(spec), spec.server().unwrap_or_default(), &definition)
        }
        _ => card(spec),
    }
}

/// Describes a tool for `--json`.
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
