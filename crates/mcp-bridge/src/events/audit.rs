//! The events that belong into an audit log.

use std::time::SystemTime;

use mcp_audit::{Kind, Record};

use super::Event;

/// The record of an event; `None` if the log has no line for it, or has a more detailed one.
pub(super) fn of_event(event: &Event) -> Option<Record<'static>> {
    let record = |kind| Record::new(kind, SystemTime::now());
    let failed = |server| record(Kind::ServerError).with_server(server, None);
    Some(match event {
        Event::ServerError { server, problem, .. } => {
            failed(server).with_outcome("error").with_reason(problem)
        }
        Event::NeedsAuth { server } => failed(server).with_outcome("needs_auth"),
        Event::Denied { tool, permission, message } => record(Kind::Decision)
            .with_tool(tool, None)
            .with_decision("deny", Some(permission))
            .with_reason(message),
        Event::Queued { tool, .. } => {
            record(Kind::Decision).with_tool(tool, None).with_decision("queue", None)
        }
        Event::DefinitionChanged { server, tool, .. } => record(Kind::Decision)
            .with_server(server, None)
            .with_tool(tool, None)
            .with_decision("definition_changed", None),
        _ => return None,
    })
}
