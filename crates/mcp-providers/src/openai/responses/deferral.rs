//! Deferred tools: a `tool_search` that the client executes, its output with definitions grouped in namespaces, and
//! `additional_tools` for those loaded without a search.

use mcp_jsonrpc::RawJson;
use mcp_tool::ToolSpec;

use super::{Responses, output};
use crate::{
    api::{Api, CallResult, Definition},
    content,
    define::fitted,
    json::{Json, Object, object},
    session::{Answer, Changes, Deferral, Loaded},
};

/// The name of calls to the search, independent of the tool's own name.
pub(super) const SEARCH: &str = "tool_search";

impl Deferral for Responses {
    fn search_tool(&self, tool: &ToolSpec) -> Definition {
        let tool = fitted(tool, self.limits(), super::dialect(false));
        let json = object! {
            "type" => "tool_search",
            "execution" => "client",
            "description" => tool.description.as_str(),
            "parameters" => tool.schema,
        };
        Definition { name: SEARCH.to_owned(), json: Json::from(json).raw(), losses: tool.losses }
    }

    /// A loaded tool is defined by the output of the search, not by the request.
    fn deferred(&self, _tool: &Loaded) -> Option<RawJson> {
        None
    }

    fn answers(&self, answers: &[Answer<'_>]) -> Vec<RawJson> {
        let mut items = Vec::new();
        for answer in answers {
            match answer {
                Answer::Outcome(result) => items.push(outcome(result)),
                Answer::Found { search, tools } => {
                    items.push(search_output(&search.call.id, tools));
                    // The output has no text member, so an empty result is sent as a message with the reason.
                    if tools.is_empty() {
                        let parts = content::of_outcome(search.outcome);
                        items.push(developer(&content::split(parts, |_| false).0));
                    }
                }
            }
        }
        items.iter().map(Json::raw).collect()
    }

    fn announce(&self, changes: &Changes) -> Vec<RawJson> {
        let mut items = Vec::new();
        let new: Vec<Loaded> = changes.added.iter().chain(&changes.changed).cloned().collect();
        if !new.is_empty() {
            let tools = namespaces(&new, false);
            let item =
                object! { "type" => "additional_tools", "role" => "developer", "tools" => tools };
            items.push(item.into());
        }
        let remarks = changes.remarks();
        if !remarks.is_empty() {
            items.push(developer(&remarks.join("\n")));
        }
        items.iter().map(Json::raw).collect()
    }
}

fn outcome(result: &CallResult<'_>) -> Json {
    output(&result.call.id, content::of_outcome(result.outcome), result.outcome.is_error)
}

fn developer(text: &str) -> Json {
    object! { "role" => "developer", "content" => text }.into()
}

fn search_output(id: &str, tools: &[Loaded]) -> Json {
    object! {
        "type" => "tool_search_output",
        "execution" => "client",
        "call_id" => id,
        "status" => "completed",
        "tools" => namespaces(tools, true),
    }
    .into()
}

/// The definitions, grouped by server in namespaces.
fn namespaces(tools: &[Loaded], is_deferred: bool) -> Vec<Json> {
    let mut list: Vec<Json> = Vec::new();
    let mut servers: Vec<&str> = Vec::new();
    for tool in tools {
        match &tool.server {
            None => list.push(function(tool, is_deferred)),
            Some(server) if !servers.contains(&server.as_str()) => {
                servers.push(server);
                let of_server = |other: &&Loaded| other.server.as_ref() == Some(server);
                let functions: Vec<Json> = tools
                    .iter()
                    .filter(of_server)
                    .map(|tool| function(tool, is_deferred))
                    .collect();
                list.push(namespace(server, functions).into());
            }
            Some(_) => {}
        }
    }
    list
}

fn namespace(server: &str, functions: Vec<Json>) -> Object {
    object! {
        "type" => "namespace",
        "name" => super::LIMITS.wire_name(server).as_ref(),
        "description" => format!("Tools of the server {}.", mcp_safe::text::one_line(server, 64)),
        "tools" => functions,
    }
}

fn function(tool: &Loaded, is_deferred: bool) -> Json {
    let mut definition = match Json::read(&tool.definition) {
        Json::Object(definition) => definition,
        _ => Object::default(),
    };
    if is_deferred {
        definition.set("defer_loading", true);
    }
    definition.into()
}
