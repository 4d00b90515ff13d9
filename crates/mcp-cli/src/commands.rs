//! The commands, one file each, and their shared arguments.

mod add;
mod approve;
mod audit;
mod auth;
mod call;
mod connect;
mod content;
mod demo;
mod doctor;
mod edit;
mod explain;
mod generate;
mod images;
mod import;
mod install;
mod list;
mod logs;
mod ping;
mod prompts;
mod record;
mod resources;
mod search;
mod secret;
mod serve;
mod signature;
mod stats;
mod tools;
mod trust;
mod types;
mod up;
mod validate;
mod watch;

use std::{future::ready, path::PathBuf, pin::Pin, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::{
    exit::{Done, Exit},
    host::app::App,
    terminal::interrupt,
};

/// Builds the clap command with all subcommands.
pub(crate) fn root() -> Command {
    Command::new("mcp")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Every MCP server you have, in a terminal or behind one gateway")
        .after_help(EPILOGUE)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args(global())
        .subcommands(COMMANDS.iter().map(|(command, _)| command()))
}

const EPILOGUE: &str = "\
Exit codes:
  0 done   1 failed   2 wrong usage or arguments   3 configuration   4 not found
  5 server unavailable   6 login needed   7 denied   130 interrupted

Examples:
  mcp demo
  mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  mcp call files/read_file path=README.md";

fn global() -> [Arg; 7] {
    let flag = |name: &'static str| Arg::new(name).long(name).global(true);
    [
        flag("json").action(ArgAction::SetTrue).help("Print JSON, with a stable structure"),
        flag("quiet").short('q').action(ArgAction::SetTrue).help("Do not print remarks on stderr"),
        flag("config")
            .value_name("FILE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(PathBuf))
            .help("Read this file only (may be given more than once)"),
        Arg::new("server-spec")
            .long("server")
            .global(true)
            .value_name("URL or COMMAND")
            .conflicts_with("config")
            .help("Use only this server, which does not need to be configured"),
        flag("yes")
            .short('y')
            .action(ArgAction::SetTrue)
            .conflicts_with("deny")
            .help("Answer yes-or-no questions with yes, and forms with their defaults"),
        flag("deny").action(ArgAction::SetTrue).help("Answer every question with no"),
        flag("timeout")
            .value_name("SECONDS")
            .value_parser(value_parser!(u64).range(1..=86_400))
            .help("Maximum time for a server to start and for a call to finish"),
    ]
}

/// Every command: its clap definition and its implementation.
const COMMANDS: &[(Describe, Run)] = &[
    (demo::command, |app, matches| Box::pin(demo::run(app, matches))),
    (list::command, |app, matches| Box::pin(list::run(app, matches))),
    (explain::command, |app, matches| Box::pin(explain::run(app, matches))),
    (tools::command, |app, matches| Box::pin(tools::run(app, matches))),
    (search::command, |app, matches| Box::pin(search::run(app, matches))),
    (call::command, |app, matches| Box::pin(call::run(app, matches))),
    (resources::list_command, |app, matches| Box::pin(resources::list(app, matches))),
    (resources::read_command, |app, matches| Box::pin(resources::read(app, matches))),
    (prompts::list_command, |app, matches| Box::pin(prompts::list(app, matches))),
    (prompts::get_command, |app, matches| Box::pin(prompts::get(app, matches))),
    (ping::subscribe_command, |app, matches| Box::pin(ping::subscribe(app, matches))),
    (ping::ping_command, |app, matches| Box::pin(ping::ping(app, matches))),
    (stats::command, |app, matches| Box::pin(stats::run(app, matches))),
    (validate::command, |app, matches| Box::pin(validate::run(app, matches))),
    (watch::command, |app, matches| Box::pin(watch::run(app, matches))),
    (logs::command, |app, matches| Box::pin(logs::run(app, matches))),
    (connect::connect_command, |app, matches| Box::pin(connect::connect(app, matches))),
    (connect::disconnect_command, |app, matches| Box::pin(connect::disconnect(app, matches))),
    (up::up_command, |app, matches| Box::pin(up::up(app, matches))),
    (up::down_command, |app, matches| Box::pin(up::down(app, matches))),
    (up::status_command, |app, matches| Box::pin(up::status(app, matches))),
    (add::command, |app, matches| Box::pin(ready(add::run(app, matches)))),
    (add::json_command, |app, matches| Box::pin(ready(add::run_json(app, matches)))),
    (edit::remove_command, |app, matches| Box::pin(ready(edit::remove(app, matches)))),
    (edit::enable_command, |app, matches| Box::pin(ready(edit::enable(app, matches, true)))),
    (trust::command, |app, matches| Box::pin(ready(trust::run(app, matches)))),
    (edit::disable_command, |app, matches| Box::pin(ready(edit::enable(app, matches, false)))),
    (approve::command, |app, matches| Box::pin(approve::run(app, matches))),
    (import::command, |app, matches| Box::pin(import::run(app, matches))),
    (auth::login_command, |app, matches| Box::pin(auth::login(app, matches))),
    (auth::logout_command, |app, matches| Box::pin(auth::logout(app, matches))),
    (auth::auth_command, |app, _| Box::pin(auth::status(app))),
    (audit::command, |app, matches| Box::pin(audit::run(app, matches))),
    (secret::command, |app, matches| Box::pin(secret::run(app, matches))),
    (doctor::command, |app, matches| Box::pin(doctor::run(app, matches))),
    (serve::command, |app, matches| Box::pin(serve::run(app, matches))),
    (install::command, |app, matches| Box::pin(install::run(app, matches))),
    (record::record_command, |app, matches| Box::pin(record::record(app, matches))),
    (record::replay_command, |app, matches| Box::pin(record::replay(app, matches))),
    (types::command, |app, matches| Box::pin(types::run(app, matches))),
    (generate::names_command, |app, matches| Box::pin(ready(generate::print_names(app, matches)))),
    (generate::completions_command, |app, matches| {
        Box::pin(ready(generate::completions(app, matches)))
    }),
    (generate::man_command, |app, matches| Box::pin(ready(generate::man(app, matches)))),
];

/// Commands that start the background host if `mcp up --auto` is set.
const STATEFUL: &[&str] = &["call", "read", "prompt", "connect"];

/// Builds the clap definition of a command.
type Describe = fn() -> Command;
/// Runs a command with its parsed arguments.
type Run = for<'a> fn(&'a App, &'a ArgMatches) -> Pin<Box<dyn Future<Output = Done> + 'a>>;

/// Runs the selected subcommand.
pub(crate) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let Some((name, matches)) = matches.subcommand() else { return Ok(Exit::Usage) };
    let command = COMMANDS.iter().find(|(command, _)| command().get_name() == name);
    let Some((_, run)) = command else { return Ok(Exit::Usage) };
    if STATEFUL.contains(&name) {
        up::auto_start(app).await;
    }
    let exit = run(app, matches).await?;
    app.out.flush()?;
    Ok(exit)
}

/// The positional `SERVER` argument.
fn server_arg() -> Arg {
    Arg::new("server").value_name("SERVER")
}

/// Defines the boolean flag `--name`.
fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// Returns the value of an argument that is required or has a default.
fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches.get_one::<String>(name).map(String::as_str).unwrap_or_default()
}

/// Returns how long the command may take to shut down after a signal. A gateway first waits for calls in flight.
pub(crate) fn grace(matches: &ArgMatches) -> Duration {
    let drain = matches.subcommand_matches("serve").map(serve::drain_timeout).unwrap_or_default();
    interrupt::GRACE.max(drain + AFTER_DRAIN)
}

/// Time for servers to stop after the gateway's last call has finished.
const AFTER_DRAIN: Duration = Duration::from_millis(400);

fn texts(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches.get_many::<String>(name).unwrap_or_default().cloned().collect()
}
