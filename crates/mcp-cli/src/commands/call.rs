//! `mcp call`: one tool, from a terminal or a script.

use std::io::Read;

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::{CallContext, Content, FailureKind, Note, Tool, ToolOutcome};
use mcp_client::RawJson;
use serde_json::{Value, json};

use super::{text, texts};
use crate::{
    app::App,
    args,
    exit::{Done, Exit, Problem},
    out::shown,
    progress::CallBar,
    tools,
};

pub(super) fn command() -> Command {
    Command::new("call")
        .about("Call a tool")
        .long_about(
            "Call a tool.\n\nA tool is named as `server/tool`, as models name it, or by its own name if only one \
             server has it. Values are read as the tool's schema wants them; `key:=JSON` says JSON outright.",
        )
        .after_help(
            "Examples:\n  mcp call time/convert zone=Europe/Berlin\n  \
             mcp call files/write_file --args '{\"path\":\"a.txt\",\"content\":\"hi\"}'\n  \
             echo '{\"path\":\"a.txt\"}' | mcp call files/read_file -",
        )
        .arg(Arg::new("tool").value_name("TOOL").required(true))
        .arg(
            Arg::new("arguments")
                .value_name("key=value")
                .num_args(0..)
                .help("Arguments, or `-` to read them as JSON from stdin"),
        )
        .arg(
            Arg::new("args")
                .long("args")
                .value_name("JSON")
                .conflicts_with("arguments")
                .help("All arguments at once"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let bridge = app.bridge();
    let tool = tools::find(app, &bridge, text(matches, "tool")).await?;
    let arguments = arguments(matches, &*tool)?;
    if let Some(remark) = unknown(&*tool, &arguments) {
        app.out.remark(remark);
    }
    let outcome = call(app, &*tool, arguments).await?;
    let exit = print(app, &*tool, &outcome)?;
    Ok(exit)
}

/// Calls a tool with its progress shown, its questions asked, and Ctrl-C passed on.
pub(super) async fn call(
    app: &App,
    tool: &dyn Tool,
    arguments: RawJson,
) -> Result<ToolOutcome, Problem> {
    call_with(app, tool, arguments, false).await
}

/// The same, for a call that was agreed to already or not.
pub(super) async fn call_with(
    app: &App,
    tool: &dyn Tool,
    arguments: RawJson,
    approved: bool,
) -> Result<ToolOutcome, Problem> {
    let bar = CallBar::new(&tools::short(tool.spec()));
    app.terminal.show_progress(Some(bar.clone()));
    let mut context = CallContext::default();
    context.approved = approved;
    context.cancel = Some(app.interrupt.token());
    context.owner = Some(app.terminal.handler_for(tool.spec().server()));
    context.on_progress = Some(bar.reports());
    context.idle_timeout = app.timeout;
    context.total_timeout = app.timeout;
    let outcome = tool.call(arguments, context).await;
    app.terminal.show_progress(None);
    bar.end();
    match outcome.failure_kind() {
        Some(FailureKind::Cancelled) => Err(Problem::interrupted()),
        _ => Ok(outcome),
    }
}

pub(super) fn arguments(matches: &ArgMatches, tool: &dyn Tool) -> Result<RawJson, Problem> {
    let usage = |message: String| Problem::new(Exit::Usage, message);
    let words = texts(matches, "arguments");
    let given = match matches.get_one::<String>("args") {
        Some(json) => json.clone(),
        None if words == ["-"] => {
            let mut json = String::new();
            let read = std::io::stdin().read_to_string(&mut json);
            read.map_err(|error| usage(format!("can't read stdin: {error}")))?;
            json
        }
        None => {
            let schema = serde_json::from_str(tool.spec().input_schema.as_str());
            let arguments = args::read(&words, &schema.unwrap_or_default()).map_err(usage)?;
            Value::Object(arguments).to_string()
        }
    };
    let given = RawJson::parse(given).map_err(|error| usage(format!("not JSON: {error}")))?;
    if given.is_object() { Ok(given) } else { Err(usage("arguments must be a JSON object".into())) }
}

/// Arguments that the tool's schema does not name: let through, since it may take them all the same.
fn unknown(tool: &dyn Tool, arguments: &RawJson) -> Option<String> {
    let schema: Value = serde_json::from_str(tool.spec().input_schema.as_str()).ok()?;
    let known = schema["properties"].as_object()?;
    let given: Value = serde_json::from_str(arguments.as_str()).ok()?;
    let odd: Vec<&str> = given
        .as_object()?
        .keys()
        .map(String::as_str)
        .filter(|name| !known.contains_key(*name))
        .collect();
    if odd.is_empty() {
        return None;
    }
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let takes = if names.is_empty() { "nothing".into() } else { names.join(", ") };
    Some(format!("note: the tool names no argument {}; it names {takes}", shown(&odd.join(", "))))
}

/// Shows what came of a call, and says how to end.
pub(super) fn print(app: &App, tool: &dyn Tool, outcome: &ToolOutcome) -> Done {
    let exit = match outcome.failure_kind() {
        Some(kind) => Exit::of_failure(kind),
        None if outcome.is_error => Exit::Failed,
        None => Exit::Done,
    };
    if app.out.json {
        app.out.value(&in_json(tool, outcome, exit))?;
        return Ok(exit);
    }
    if outcome.failure.is_some() {
        return Err(explained(app, tool, outcome, exit));
    }
    for content in &outcome.content {
        app.out.line(in_words(content))?;
    }
    if outcome.content.is_empty()
        && let Some(structured) = &outcome.structured
    {
        app.out.line(structured.as_str())?;
    }
    for note in &outcome.notes {
        app.out.remark(remark(note));
    }
    Ok(exit)
}

fn explained(app: &App, tool: &dyn Tool, outcome: &ToolOutcome, exit: Exit) -> Problem {
    let problem = Problem::new(exit, shown(&outcome.text_content()));
    match outcome.failure_kind() {
        Some(FailureKind::InvalidArguments) => {
            problem.hint(format!("it takes {}", tool.spec().input_schema.as_str()))
        }
        Some(FailureKind::Denied) if app.terminal.was_missed() => {
            problem.hint("run it in a terminal, or allow it with --yes")
        }
        Some(FailureKind::Auth) => {
            problem.hint(format!("mcp login {}", tool.spec().server().unwrap_or_default()))
        }
        Some(FailureKind::Unavailable) => problem
            .hint(format!("`mcp explain {}` says more", tool.spec().server().unwrap_or_default())),
        _ => problem,
    }
}

fn in_json(tool: &dyn Tool, outcome: &ToolOutcome, exit: Exit) -> Value {
    let raw = |raw: &RawJson| serde_json::from_str::<Value>(raw.as_str()).unwrap_or_default();
    let content: Vec<Value> = outcome
        .content
        .iter()
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

fn in_words(content: &Content) -> String {
    match content {
        Content::Text(text) => shown(&text.text),
        Content::Image(media) => {
            format!("[image, {}, {} bytes]", shown(&media.mime_type), size(&media.data))
        }
        Content::Audio(media) => {
            format!("[audio, {}, {} bytes]", shown(&media.mime_type), size(&media.data))
        }
        Content::ResourceLink(link) => format!("[resource {}]", shown(&link.uri)),
        Content::Resource(embedded) => match &embedded.resource.text {
            Some(text) => shown(text),
            None => format!("[resource {}]", shown(&embedded.resource.uri)),
        },
        Content::Other(other) => format!("[{}]", shown(&other.kind)),
        _ => "[something this version does not know]".into(),
    }
}

/// How many bytes Base64 text stands for.
fn size(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

fn remark(note: &Note) -> String {
    match note {
        Note::Truncated { chars, kept_in: Some(path) } => {
            format!("cut: {chars} characters in all, kept in {}", path.display())
        }
        Note::Truncated { chars, .. } => format!("cut: {chars} characters in all"),
        Note::Repaired { changes } => format!("arguments put right: {}", changes.join("; ")),
        Note::Retried { failures, .. } => format!("it took {} tries", failures + 1),
        Note::Redacted => "something that looked like a credential was taken out".into(),
        Note::OutputMismatch { problem } => {
            format!("the result does not fit the schema its server published: {problem}")
        }
        other => format!("{other:?}"),
    }
}
