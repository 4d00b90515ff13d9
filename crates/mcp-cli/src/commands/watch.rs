//! `mcp watch`: prints events of servers as they happen.

use std::time::SystemTime;

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::Event;
use serde_json::{Value, json};

use super::{logs::clock, texts};
use crate::{
    exit::{Done, Exit},
    host::{app::App, config::NO_SERVERS},
    terminal::{out::brief, paint::Paint},
};

pub(super) fn command() -> Command {
    Command::new("watch")
        .about("Connect to servers and show their events, until Ctrl-C")
        .after_help(
            "Times are in UTC.\n\nExamples:\n  mcp watch\n  mcp watch github files\n  \
             mcp watch --json | jq 'select(.event == \"server.error\")'",
        )
        .arg(
            Arg::new("servers")
                .value_name("SERVER")
                .num_args(0..)
                .help("Only these servers [default: all]"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let wanted = texts(matches, "servers");
    for name in &wanted {
        app.config.server(name)?;
    }
    let bridge = app.bridge();
    if !app.has_servers() {
        app.out.remark(NO_SERVERS);
        return Ok(Exit::Done);
    }
    let mut events = bridge.events();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    for status in bridge.status().iter().filter(|status| is_wanted(&status.name)) {
        let _ = bridge.connect(&status.name);
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
        let mut value = json!({"at": now(), "event": event.name()});
        value[subject.0] = json!(subject.1);
        value["detail"] = more;
        app.out.value_line(&value)?;
    } else {
        let more = brief(&format!("{}  {}", subject.1, in_words(more)), 300);
        let name = paint(event).of(format!("{:<20}", event.name()));
        app.out.line(Paint::Dim.of(clock(now())).then("  ").then(name).then(format!(" {more}")))?;
    }
    app.out.flush()
}

pub(super) fn now() -> u64 {
    let at = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis());
    u64::try_from(at).unwrap_or(u64::MAX)
}

/// Formats event details without JSON punctuation: `attempt 1`, `added a, b`.
fn in_words(detail: Value) -> String {
    match detail {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(all) => all.into_iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let word = |(name, value): (String, Value)| match in_words(value) {
                value if value.is_empty() => String::new(),
                value => format!("{name} {value}"),
            };
            let words: Vec<String> = members.into_iter().map(word).collect();
            words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

fn paint(event: &Event) -> Paint {
    match event {
        Event::ServerConnected { .. } => Paint::Good,
        Event::ServerError { .. } | Event::FailedCall { .. } => Paint::Bad,
        Event::NeedsAuth { .. } | Event::Quarantined { .. } => Paint::Warn,
        _ => Paint::Plain,
    }
}

/// Returns the subject and the details of an event.
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
