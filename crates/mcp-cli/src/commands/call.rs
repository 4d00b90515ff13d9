//! `mcp call`: calls one tool and prints its result.

mod args;
mod fold;
mod show;

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use mcp_bridge::{CallContext, FailureKind, Tool, ToolOutcome};
use mcp_client::RawJson;
use serde_json::Value;

pub(super) use self::show::print;
use super::{content, flag, images, text, texts};
use crate::{
    exit::{Done, Problem},
    host::{app::App, tools},
    terminal::{out::brief, progress::CallBar},
};

pub(super) fn command() -> Command {
    Command::new("call")
        .about("Call a tool")
        .long_about(
            "Call a tool.\n\nA tool is named as `server/tool`, `server.tool` or `server tool`, as models name it, or by \
             its own name if only one server has it. Arguments are `key=value` or `--key value`; values are parsed as the \
             tool's schema requires. `key:=JSON` passes JSON, `key=@FILE` passes the text of a file, and a \
             JSON object in place of arguments passes all of them. Results are never truncated; on a terminal the middle of a \
             long one is folded. Images and audio are written to `-o`, or as raw bytes into a pipe.",
        )
        .after_help(
            "Examples:\n  mcp call time/convert zone=Europe/Berlin\n  mcp call time convert --zone Europe/Berlin\n  \
             mcp call files/write_file path=a.txt content=@notes.txt\n  \
             mcp call files/write_file '{\"path\":\"a.txt\",\"content\":\"hi\"}'\n  \
             echo '{\"path\":\"a.txt\"}' | mcp call files/read_file -\n  \
             mcp call playwright/browser_take_screenshot -o page.png\n  \
             mcp call --server 'npx -y @modelcontextprotocol/server-everything' get-sum a=1 b=2",
        )
        .arg(Arg::new("tool").value_name("TOOL").required(true))
        .arg(
            Arg::new("arguments")
                .value_name("key=value")
                .num_args(0..)
                .help("Arguments, or `-` to read them as JSON from stdin"),
        )
        .arg(flag("no-validate", "Send the arguments without checking them against the tool's schema"))
        .arg(output_arg())
        .arg(images::flag_off())
        .arg(
            Arg::new("args")
                .long("args")
                .value_name("JSON")
                .conflicts_with("arguments")
                .help("All arguments as one JSON object"),
        )
}

/// The `-o` argument: the file or folder that results are written to.
pub(super) fn output_arg() -> Arg {
    Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE or FOLDER")
        .value_parser(value_parser!(PathBuf))
        .help("Write the result to this file or folder; images, audio and other data as raw bytes")
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let bridge = app.bridge();
    let (name, words) = named(app, text(matches, "tool"), texts(matches, "arguments"));
    let tool = tools::find(app, &bridge, &name).await?;
    let given = ParsedArguments::read(matches, &words, &*tool)?;
    if let Some(remark) = given.unknown() {
        app.out.remark(remark);
    }
    let mut context = CallContext::default();
    context.no_validate = matches.get_flag("no-validate");
    let outcome = call_in(app, &*tool, given.arguments, context).await?;
    match matches.get_one::<PathBuf>("output") {
        // An error is not the result: a file would hide it.
        Some(path) if outcome.failure.is_none() && !outcome.is_error => {
            content::save(app, path, tools::own_name(tool.spec()), &outcome.content)?;
            Ok((&outcome).into())
        }
        _ => {
            let exit = print(app, &bridge, &*tool, &outcome)?;
            images::of_result(app, matches, &outcome.content)?;
            Ok(exit)
        }
    }
}

/// Splits off the tool name: `server tool …` and `server.tool …` become `server/tool …`.
fn named(app: &App, name: &str, mut words: Vec<String>) -> (String, Vec<String>) {
    let is_server = |name: &str| app.config.resolution.get(name).is_some();
    let is_name = |word: &String| !word.contains(['=', '{']) && word != "-";
    if is_server(name) && words.first().is_some_and(is_name) {
        return (format!("{name}/{}", words.remove(0)), words);
    }
    let dots = name.match_indices('.').map(|(at, _)| (&name[..at], &name[at + 1..]));
    let name = match dots.into_iter().find(|(server, _)| is_server(server)) {
        Some((server, tool)) if !name.contains('/') => format!("{server}/{tool}"),
        _ => name.to_owned(),
    };
    (name, words)
}

/// Calls a tool, shows its progress, answers its elicitations, and cancels it on Ctrl-C.
pub(super) async fn call_with(
    app: &App,
    tool: &dyn Tool,
    arguments: RawJson,
    approved: bool,
) -> Result<ToolOutcome, Problem> {
    let mut context = CallContext::default();
    context.approved = approved;
    call_in(app, tool, arguments, context).await
}

/// Like [`call_with`], with a given context.
async fn call_in(
    app: &App,
    tool: &dyn Tool,
    arguments: RawJson,
    mut context: CallContext,
) -> Result<ToolOutcome, Problem> {
    let bar = CallBar::new(&tools::short(tool.spec()));
    app.terminal.show_progress(Some(bar.clone()));
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

/// The arguments to send and the tool's schema, each parsed once.
pub(super) struct ParsedArguments {
    pub(super) arguments: RawJson,
    schema: Value,
}

impl ParsedArguments {
    pub(super) fn read(
        matches: &ArgMatches,
        words: &[String],
        tool: &dyn Tool,
    ) -> Result<Self, Problem> {
        let usage = |message: String| Problem::usage(message);
        let schema: Value =
            serde_json::from_str(tool.spec().input_schema.as_str()).unwrap_or_default();
        let json = match (matches.get_one::<String>("args"), words) {
            (Some(json), _) => json.clone(),
            (None, [object]) if object.trim_start().starts_with('{') => object.clone(),
            (None, [dash]) if dash == "-" => std::io::read_to_string(std::io::stdin())
                .map_err(|error| usage(format!("can't read stdin: {error}")))?,
            (None, words) => {
                let arguments = args::read(words, &schema)
                    .map_err(|message| usage(message).hint(super::signature::usage(tool.spec())))?;
                let arguments = RawJson::encode(&arguments);
                let arguments = arguments.map_err(|error| usage(format!("not JSON: {error}")))?;
                return Ok(Self { arguments, schema });
            }
        };
        let arguments =
            RawJson::parse(json).map_err(|error| usage(format!("not JSON: {error}")))?;
        if !arguments.is_object() {
            return Err(usage("arguments must be a JSON object".into()));
        }
        Ok(Self { arguments, schema })
    }

    /// Describes arguments that are not in the tool's schema. They are sent anyway, because the tool may accept them.
    fn unknown(&self) -> Option<String> {
        let known = self.schema["properties"].as_object()?;
        let mut odd: Vec<String> = self.arguments.members().map(|(name, _)| name).collect();
        odd.retain(|name| !known.contains_key(name));
        odd.sort();
        odd.dedup();
        if odd.is_empty() {
            return None;
        }
        let names: Vec<String> = known.keys().map(|name| brief(name, 60)).collect();
        let takes = if names.is_empty() { "none".into() } else { names.join(", ") };
        let odd = brief(&odd.join(", "), 300);
        Some(format!("note: unknown argument {odd}; known arguments: {takes}"))
    }
}
