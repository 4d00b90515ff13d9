//! The commands, one file for each, and what they have in common.

mod add;
mod approve;
mod auth;
mod call;
mod demo;
mod doctor;
mod edit;
mod explain;
mod generate;
mod import;
mod install;
mod list;
mod logs;
mod prompts;
mod record;
mod resources;
mod search;
mod serve;
mod stats;
mod tools;
mod validate;
mod watch;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::{app::App, exit::Done};

/// The command line as a whole.
pub(crate) fn root() -> Command {
    Command::new("mcp")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Every MCP server you have, in a terminal or behind one gateway")
        .after_help(EPILOGUE)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args(global())
        .subcommands(vec![
            demo::command(),
            list::command(),
            explain::command(),
            tools::command(),
            search::command(),
            call::command(),
            resources::list_command(),
            resources::read_command(),
            prompts::list_command(),
            prompts::get_command(),
            stats::command(),
            validate::command(),
            watch::command(),
            logs::command(),
            add::command(),
            add::json_command(),
            edit::remove_command(),
            edit::enable_command(),
            edit::disable_command(),
            approve::command(),
            import::command(),
            auth::login_command(),
            auth::logout_command(),
            auth::auth_command(),
            doctor::command(),
            serve::command(),
            install::command(),
            record::record_command(),
            record::replay_command(),
            generate::completions_command(),
            generate::man_command(),
        ])
}

const EPILOGUE: &str = "\
Exit codes:
  0 done   1 failed   2 wrong usage or arguments   3 configuration   4 not found
  5 server unavailable   6 login needed   7 denied   130 interrupted

Examples:
  mcp demo
  mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  mcp call files/read_file path=README.md";

fn global() -> [Arg; 6] {
    let flag = |name: &'static str| Arg::new(name).long(name).global(true);
    [
        flag("json").action(ArgAction::SetTrue).help("Print JSON, in a shape that stays"),
        flag("quiet").short('q').action(ArgAction::SetTrue).help("Leave out remarks on stderr"),
        flag("config")
            .value_name("FILE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(PathBuf))
            .help("Read this file only (may be given more than once)"),
        flag("yes")
            .short('y')
            .action(ArgAction::SetTrue)
            .conflicts_with("deny")
            .help("Answer every question with yes"),
        flag("deny").action(ArgAction::SetTrue).help("Answer every question with no"),
        flag("timeout")
            .value_name("SECONDS")
            .value_parser(value_parser!(u64).range(1..=86_400))
            .help("How long a server may take to start, and a call to end"),
    ]
}

/// Runs what was asked for.
pub(crate) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let Some((name, matches)) = matches.subcommand() else { return Ok(crate::exit::Exit::Usage) };
    let done = match name {
        "demo" => demo::run(app, matches).await,
        "list" => list::run(app, matches).await,
        "get" => explain::run(app, matches).await,
        "tools" => tools::run(app, matches).await,
        "search" => search::run(app, matches).await,
        "call" => call::run(app, matches).await,
        "resources" => resources::list(app, matches).await,
        "read" => resources::read(app, matches).await,
        "prompts" => prompts::list(app, matches).await,
        "prompt" => prompts::get(app, matches).await,
        "stats" => stats::run(app, matches).await,
        "validate" => validate::run(app, matches).await,
        "watch" => watch::run(app, matches).await,
        "logs" => logs::run(app, matches).await,
        "add" => add::run(app, matches),
        "add-json" => add::run_json(app, matches),
        "remove" => edit::remove(app, matches),
        "enable" => edit::enable(app, matches, true),
        "disable" => edit::enable(app, matches, false),
        "approve" => approve::run(app, matches).await,
        "import" => import::run(app, matches).await,
        "login" => auth::login(app, matches).await,
        "logout" => auth::logout(app, matches).await,
        "auth" => auth::status(app).await,
        "doctor" => doctor::run(app, matches).await,
        "serve" => serve::run(app, matches).await,
        "install" => install::run(app, matches).await,
        "record" => record::record(app, matches).await,
        "replay" => record::replay(app, matches).await,
        "completions" => generate::completions(app, matches),
        "man" => generate::man(app, matches),
        other => unreachable!("clap knows no `{other}`"),
    };
    let exit = done?;
    app.out.flush()?;
    Ok(exit)
}

/// The name of a server, as an argument.
fn server_arg() -> Arg {
    Arg::new("server").value_name("SERVER")
}

/// A text that was required, or has a default.
fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches.get_one::<String>(name).map(String::as_str).unwrap_or_default()
}

fn texts(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches.get_many::<String>(name).unwrap_or_default().cloned().collect()
}
