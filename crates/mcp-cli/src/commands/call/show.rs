//! Prints the result of a tool call, as text or JSON.

use std::io::{self, IsTerminal as _};

use mcp_bridge::{
    Bridge, FailureKind, Tool, ToolOutcome,
    tool::{Content, Note},
};
use mcp_client::RawJson;
use serde_json::{Value, json};

use super::{
    super::{content, signature},
    fold,
};
use crate::{
    exit::{Done, Exit, Problem},
    host::{app::App, tools},
    terminal::{out::brief, server_state},
};

/// Prints the result of a call and returns the exit code.
pub(in super::super) fn print(
    app: &App,
    bridge: &Bridge,
    tool: &dyn Tool,
    outcome: &ToolOutcome,
) -> Done {
    let exit = outcome.into();
    if app.out.json {
        app.out.value(&in_json(tool, outcome, exit))?;
        return Ok(exit);
    }
    if outcome.failure.is_some() {
        return Err(explained(app, bridge, tool, outcome, exit));
    }
    let parts = without_repetition(outcome);
    match parts.as_slice() {
        [only] if !io::stdout().is_terminal() && content::bytes(only).is_some() => {
            app.out.bytes(&content::bytes(only).unwrap_or_default())?;
        }
        [] => match &outcome.structured {
            Some(structured) => app.out.line(structured.as_str())?,
            None => app.out.remark("the tool returned nothing"),
        },
        parts => {
            let text: Vec<String> = parts.iter().map(|part| content::in_words(part)).collect();
            let text = text.join("\n");
            let shown = if io::stdout().is_terminal() {
                fold::fold(app, tools::own_name(tool.spec()), &text)
            } else {
                text
            };
            app.out.line(shown)?;
        }
    }
    for note in &outcome.notes {
        app.out.remark(remark(note));
    }
    Ok(exit)
}

/// Returns the parts to show, without structured content that a text part repeats.
fn without_repetition(outcome: &ToolOutcome) -> Vec<&Content> {
    let mut parts: Vec<&Content> = outcome.content.iter().collect();
    let Some(structured) = &outcome.structured else { return parts };
    let is_structure = |part: &&Content| part.as_text() == Some(structured.as_str());
    let Some(last) = parts.pop_if(|part| is_structure(part)) else { return parts };
    let value: Value = serde_json::from_str(structured.as_str()).unwrap_or_default();
    let wrapped = value.as_object().filter(|members| members.len() == 1);
    let wrapped = wrapped.and_then(|members| members.values().next());
    let is_said = |part: &&Content| {
        part.as_text().is_some_and(|text| {
            wrapped.and_then(Value::as_str) == Some(text)
                || serde_json::from_str::<Value>(text).is_ok_and(|said| said == value)
        })
    };
    if !parts.iter().any(is_said) {
        parts.push(last);
    }
    parts
}

fn explained(
    app: &App,
    bridge: &Bridge,
    tool: &dyn Tool,
    outcome: &ToolOutcome,
    exit: Exit,
) -> Problem {
    let spec = tool.spec();
    let server = spec.server().unwrap_or_default();
    let problem = Problem::new(exit, outcome.text_content());
    match outcome.failure_kind() {
        Some(FailureKind::InvalidArguments) => {
            let message = problem.message.replace(&spec.name, &tools::short(spec));
            Problem::new(exit, message).hint(signature::usage(spec))
        }
        Some(FailureKind::Denied) => app.denied(problem.message),
        Some(FailureKind::Auth) => problem.hint(format!("mcp login {server}")),
        Some(FailureKind::Unavailable) => {
            // The outcome has the text for a model, which omits exit status and stderr.
            let status = bridge.status().into_iter().find(|status| *status.name == *server);
            if let Some(reason) = status.and_then(|status| server_state::reason(bridge, &status)) {
                app.out.remark(format!("{server}: {reason}"));
            }
            problem.hint(app.config.explain_hint(server))
        }
        _ => problem,
    }
}

fn in_json(tool: &dyn Tool, outcome: &ToolOutcome, exit: Exit) -> Value {
    let raw = |raw: &RawJson| serde_json::from_str::<Value>(raw.as_str()).unwrap_or_default();
    let content: Vec<Value> = without_repetition(outcome)
        .into_iter()
        .filter_map(|content| RawJson::encode(content).ok())
        .map(|content| raw(&content))
        .collect();
    json!({
        "tool": tools::short(tool.spec()),
        "isError": outcome.is_error,
        "content": content,
        "structuredContent": outcome.structured.as_ref().map(raw),
        "failure": outcome.failure.as_ref().map(|failure| json!({
            "code": exit.name(),
            "delivery": format!("{:?}", failure.delivery),
        })),
        "notes": outcome.notes.iter().map(remark).collect::<Vec<_>>(),
    })
}

fn remark(note: &Note) -> String {
    match note {
        Note::Truncated { chars, kept_in: Some(path) } => {
            format!("truncated: {chars} characters in total, stored in {}", path.display())
        }
        Note::Truncated { chars, .. } => format!("truncated: {chars} characters in total"),
        Note::Repaired { changes } => {
            format!("arguments repaired: {}", brief(&changes.join("; "), 500))
        }
        Note::Retried { failures, .. } => format!("it took {} attempts", failures + 1),
        Note::Redacted => "text that looked like a credential was redacted".into(),
        Note::OutputMismatch { problem } => {
            let problem = brief(problem, 500);
            format!("the result does not match the output schema of the tool: {problem}")
        }
        Note::Unchecked { reason } => brief(reason, 500),
        other => brief(&format!("{other:?}"), 500),
    }
}
