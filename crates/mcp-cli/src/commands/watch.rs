//! `mcp watch`: what happens, as it happens.

use std::time::SystemTime;

use clap::{ArgMatches, Command};
use mcp_bridge::Event;
use serde_json::{Value, json};

use crate::{
    app::App,
    exit::{Done, Exit},
    out::{Paint, brief},
};

pub(super) fn command() -> Command {
    Command::new("watch")
        .about("Connect every server and show what happens, until Ctrl-C")
        .after_help(
            "Examples:\n  mcp watch\n  mcp watch --json | jq 'select(.event == \"server.error\")'",
        )
}

pub(super) async fn run(app: &App, _: &ArgMatches) -> Done {
    let bridge = app.bridge();
    if !app.has_servers() {
        // Nothing will ever happen.
        return Ok(Exit::Done);
    }
    let mut events = bridge.events();
    for status in bridge.status() {
        bridge.connect(&status.name);
    }
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => show(app, &event)?,
                None => break,
            },
            () = app.interrupt.cancelled() => break,
        }
    }
    Ok(Exit::Done)
}

fn show(app: &App, event: &Event) -> std::io::Result<()> {
    let (subject, more) = words(event);
    if app.out.json {
        let at = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
        let mut value = json!({"at": u64::try_from(at).unwrap_or(u64::MAX), "event": event.name()});
        value[subject.0] = json!(subject.1);
        value["detail"] = more;
        app.out.line(value.to_string())?;
    } else {
        let name = app.out.paint(paint(event), event.name());
        let more = match more {
            Value::String(text) => brief(&text, 200),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        app.out.line(format!("{name} {} {more}", subject.1).trim_end())?;
    }
    app.out.flush()
}

fn paint(event: &Event) -> Paint {
    match event {
        Event::ServerConnected { .. } => Paint::Good,
        Event::ServerError { .. } | Event::DeadLetter { .. } => Paint::Bad,
        Event::NeedsAuth { .. } | Event::Quarantined { .. } => Paint::Warn,
        _ => Paint::Plain,
    }
}

/// Whom it is about, and what there is to say.
fn words(event: &Event) -> ((&'static str, String), Value) {
    let server = |server: &str| ("server", server.to_owned());
    let tool = |tool: &str| ("tool", tool.to_owned());
    match event {
        Event::ServerConnecting { server: name, attempt } => {
            (server(name), json!({"attempt": attempt}))
        }
        Event::ServerConnected { server: name, tools, .. } => {
            (server(name), json!({"tools": tools}))
        }
        Event::ServerError { server: name, problem, .. } => (server(name), json!(&**problem)),
        Event::ListChanged { server: name, added, removed, changed } => {
            (server(name), json!({"added": added, "removed": removed, "changed": changed}))
        }
        Event::Quarantined { server: name, tool, reason } => {
            (server(name), json!(format!("{tool}: {reason}")))
        }
        Event::ServerDisconnected { server: name }
        | Event::NeedsAuth { server: name }
        | Event::InstructionsCut { server: name } => (server(name), Value::Null),
        Event::DescriptionRedacted { server: name, tool }
        | Event::NameTaken { server: name, tool, .. } => (server(name), json!(tool)),
        Event::ToolCall { tool: name, call } => (tool(name), json!({"call": call})),
        Event::ToolResult { tool: name, call, is_error, took, .. } => (
            tool(name),
            json!({"call": call, "isError": is_error, "tookMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX)}),
        ),
        Event::ToolLoaded { tool: name } => (tool(name), Value::Null),
        other => (("what", format!("{other:?}")), Value::Null),
    }
}
