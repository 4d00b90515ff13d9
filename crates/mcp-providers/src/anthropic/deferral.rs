//! Deferred tools: `defer_loading` in the list of tools, `tool_reference` in a result.
//!
//! A deferred entry is not part of the prompt before a reference to it, so appending one does not change the cached
//! prefix. The definition is taken from the list of tools, so the entry of a changed tool is not rewritten: a message
//! carries the new definition.

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_tool::ToolSpec;

use super::{Anthropic, message, text, tool_result};
use crate::{
    api::{Api, Definition},
    content,
    json::{Json, object},
    session::{Answer, Changes, Deferral, Loaded},
};

impl Deferral for Anthropic {
    fn search_tool(&self, tool: &ToolSpec) -> Definition {
        self.definition(tool)
    }

    fn deferred(&self, tool: &Loaded) -> Option<RawJson> {
        let mut entry = ObjectWriter::new();
        entry.splice(&tool.definition).boolean("defer_loading", true);
        Some(entry.finish())
    }

    fn answers(&self, answers: &[Answer<'_>]) -> Vec<RawJson> {
        let (mut blocks, mut after) = (Vec::new(), Vec::new());
        for answer in answers {
            blocks.push(match answer {
                Answer::Found { search, tools } if !tools.is_empty() => {
                    references(&search.call.id, tools)
                }
                Answer::Outcome(result) | Answer::Found { search: result, .. } => {
                    let parts = content::of_outcome(result.outcome);
                    tool_result(&result.call.id, parts, result.outcome.is_error, &mut after)
                }
            });
        }
        blocks.extend(after);
        if blocks.is_empty() { Vec::new() } else { vec![message("user", blocks).raw()] }
    }

    fn announce(&self, changes: &Changes) -> Vec<RawJson> {
        let mut remarks = changes.remarks();
        if !changes.added.is_empty() {
            let names: Vec<&str> = changes.added.iter().map(|tool| tool.name.as_str()).collect();
            let names = names.join(", ");
            remarks
                .push(format!("New tools can be loaded with a search for their names: {names}."));
        }
        for tool in &changes.changed {
            let definition = tool.definition.as_str();
            remarks.push(format!("The tool {} has a new definition: {definition}", tool.name));
        }
        vec![message("user", vec![text(&remarks.join("\n"))]).raw()]
    }
}

fn references(id: &str, tools: &[Loaded]) -> Json {
    let reference = |tool: &Loaded| -> Json {
        object! { "type" => "tool_reference", "tool_name" => tool.name.as_str() }.into()
    };
    let references: Vec<Json> = tools.iter().map(reference).collect();
    object! { "type" => "tool_result", "tool_use_id" => id, "content" => references }.into()
}
