//! `mcp add` and `mcp add-json`: add a server to a configuration file, with the flags of `claude mcp add`.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource, value_parser};
use mcp_config::{
    ConfigFile, Diagnostic, Remote, Scope, SecretText, ServerConfig, ServerName, Stdio, Template,
    Transport,
    approval::Disclosure,
    dialect::read_server,
    model::OAuth,
    resolve::{Change, Verdict, what_if},
};
use mcp_safe::secrets::{is_secret_name, looks_secret};
use serde_json::json;

use super::{flag, text, texts};
use crate::{
    exit::{Done, Exit, Problem},
    host::app::App,
    terminal::out::brief,
};

pub(super) fn command() -> Command {
    Command::new("add")
        .about("Add a server")
        .after_help(
            "Examples:\n  mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n  \
             mcp add -t http docs https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'\n  \
             mcp add docs https://example.com/mcp -H 'Authorization: Bearer ${secret:docs}'\n  \
             mcp add -s user -e API_KEY=abc weather -- weather-server --metric",
        )
        .arg(Arg::new("name").value_name("NAME").required(true))
        .arg(
            Arg::new("target").value_name("COMMAND or URL").num_args(1..).required(true).help(
                "A program and its arguments (after `--` if they have flags), or a URL",
            ),
        )
        .arg(scope_arg())
        .arg(
            Arg::new("transport")
                .short('t')
                .long("transport")
                .value_parser(["stdio", "http", "sse", "ws"])
                .help("Transport [default: http or ws for a URL, otherwise stdio]"),
        )
        .arg(
            Arg::new("env")
                .short('e')
                .long("env")
                .value_name("KEY=value")
                .action(ArgAction::Append)
                .help("Set an environment variable of the program (may be given more than once)"),
        )
        .arg(
            Arg::new("env-pass")
                .long("env-pass")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help(
                    "Pass this variable of your environment on (may be given more than once)",
                ),
        )
        .arg(
            Arg::new("cwd")
                .long("cwd")
                .value_name("FOLDER")
                .help("Working directory of the program"),
        )
        .arg(
            Arg::new("header")
                .short('H')
                .long("header")
                .value_name("Name: value")
                .action(ArgAction::Append)
                .help("HTTP header for every request (may be given more than once)"),
        )
        .arg(
            Arg::new("client-id")
                .long("client-id")
                .value_name("ID")
                .help("OAuth client ID, for servers without dynamic registration"),
        )
        .arg(
            Arg::new("client-secret")
                .long("client-secret")
                .value_name("SECRET")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("${MCP_CLIENT_SECRET}")
                .requires("client-id")
                .help("OAuth client secret, preferably as =${VARIABLE} [without a value: ${MCP_CLIENT_SECRET}]"),
        )
        .arg(
            Arg::new("callback-port")
                .long("callback-port")
                .value_name("PORT")
                .value_parser(value_parser!(u16).range(1..))
                .help("Port of the registered OAuth redirect URI"),
        )
        .args(common())
}

pub(super) fn json_command() -> Command {
    Command::new("add-json")
        .about("Add a server from a JSON entry")
        .after_help("Examples:\n  mcp add-json docs '{\"type\":\"http\",\"url\":\"https://example.com/mcp\"}'")
        .arg(Arg::new("name").value_name("NAME").required(true))
        .arg(Arg::new("definition").value_name("JSON").required(true))
        .arg(scope_arg())
        .args(common())
}

pub(super) fn scope_arg() -> Arg {
    Arg::new("scope")
        .short('s')
        .long("scope")
        .value_parser(["local", "user", "project"])
        .help("Scope: local (you, this project), user (you, every project), project (everybody, this project) [default: local]")
}

fn common() -> [Arg; 6] {
    let globs =
        |name: &'static str| Arg::new(name).long(name).value_name("GLOB").action(ArgAction::Append);
    [
        globs("include").help("Offer only tools that match (may be given more than once)"),
        globs("exclude").help("Never offer tools that match (may be given more than once)"),
        Arg::new("description")
            .long("description")
            .value_name("TEXT")
            .help("Description shown in lists"),
        flag("replace", "Replace a server of the same name"),
        flag("trust", "Trust it: run its tools without asking unless they may destroy something"),
        flag("dry-run", "Show what would change, and write nothing"),
    ]
}

/// Returns the scope given with `-s`, if any.
pub(super) fn scope(matches: &ArgMatches) -> Option<Scope> {
    matches.get_one::<String>("scope").and_then(|name| Scope::from_name(name))
}

/// Warns of secrets that would be written into a file of the repository.
fn warn_of_shared_secrets(app: &App, matches: &ArgMatches) {
    for (flag, short, separator) in [("env", "-e", '='), ("header", "-H", ':')] {
        for pair in texts(matches, flag) {
            let Some((name, value)) = pair.split_once(separator) else { continue };
            let is_secret = is_secret_name(name) || looks_secret(value.trim());
            if is_secret && !value.contains("${") {
                let name = brief(name, 100);
                let variable = name.to_uppercase().replace('-', "_");
                let space = if separator == ':' { " " } else { "" };
                app.out.remark(format!(
                    "note: the value of {name} becomes readable to everybody with this repository; {short} \
                     '{name}{separator}{space}${{{variable}}}' takes it from each user's environment"
                ));
            }
        }
    }
}

pub(super) fn run(app: &App, matches: &ArgMatches) -> Done {
    let words = texts(matches, "target");
    let Some((first, rest)) = words.split_first() else {
        return Err(Problem::usage("missing the program or URL of the server"));
    };
    let kind = match text(matches, "transport") {
        "" if first.starts_with("http://") || first.starts_with("https://") => "http",
        "" if first.starts_with("ws://") || first.starts_with("wss://") => "ws",
        "" => "stdio",
        said => said,
    };
    flags_before_program(matches, kind == "stdio")?;
    let transport = if kind == "stdio" {
        if first.is_empty() {
            return Err(Problem::usage("missing the program to start"));
        }
        if text(matches, "transport").is_empty() && rest.is_empty() && is_host_and_port(first) {
            let message =
                format!("`{}` could be a URL without a scheme or a program", brief(first, 100));
            return Err(Problem::usage(message)
                .hint(format!("write http://{first} for a URL, or add -t stdio for a program")));
        }
        if matches.contains_id("header") {
            return Err(Problem::usage("-H is only for URLs; use -e for a program"));
        }
        if ["client-id", "callback-port"].iter().any(|flag| matches.contains_id(flag)) {
            return Err(Problem::usage("OAuth flags are only for URLs; use -e for a program"));
        }
        let mut program = Stdio::new(Template::parse(first));
        program.args = rest.iter().map(|word| Template::parse(word)).collect();
        for pair in texts(matches, "env") {
            let (key, value) = split(&pair, '=', "-e", "KEY=value")?;
            program.env.insert(key, SecretText::parse(value));
        }
        program.env_pass = texts(matches, "env-pass");
        program.cwd = matches.get_one::<String>("cwd").map(|folder| Template::parse(folder));
        Transport::Stdio(program)
    } else {
        let is_of_program = ["env", "env-pass", "cwd"].iter().any(|flag| matches.contains_id(flag));
        if is_of_program || !rest.is_empty() {
            return Err(Problem::usage(
                "a URL takes no environment variables, working directory or arguments",
            )
            .hint("use -H for headers, or -t stdio for a program"));
        }
        has_scheme(first, kind)?;
        let mut remote = Remote::new(Template::parse(first));
        for pair in texts(matches, "header") {
            let (name, value) = split(&pair, ':', "-H", "Name: value")?;
            remote.headers.insert(name, SecretText::parse(value));
        }
        remote.oauth = oauth(matches).map(Box::new);
        match kind {
            "sse" => Transport::Sse(remote),
            "ws" => Transport::Ws(remote),
            _ => Transport::Http(remote),
        }
    };
    if scope(matches) == Some(Scope::Project) {
        warn_of_shared_secrets(app, matches);
    }
    let name: ServerName = text(matches, "name").parse().map_err(|error| bad_name(&error))?;
    put(app, matches, ServerConfig::new(name, transport))
}

/// Rejects flags between a program and its arguments, because they could belong to either command.
fn flags_before_program(matches: &ArgMatches, is_program: bool) -> Result<(), Problem> {
    let first = matches.indices_of("target").and_then(|mut all| all.next());
    let Some(first) = first.filter(|_| is_program) else { return Ok(()) };
    let late = matches.ids().map(clap::Id::as_str).filter(|id| *id != "target").find(|id| {
        let said = matches.value_source(id) == Some(ValueSource::CommandLine);
        said && matches.indices_of(id).is_some_and(|mut all| all.any(|index| index > first))
    });
    match late {
        None => Ok(()),
        Some(id) => Err(Problem::usage(format!(
            "`--{id}` after the program is ambiguous: it may belong to mcp or to the program"
        ))
        .hint(
            "put `--` before the program, and flags for mcp before that: mcp add NAME -- npx -y …",
        )),
    }
}

/// Matches `localhost:3000`, which is not a plausible program name.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, rest)) = text.split_once(':') else { return false };
    let port = rest.split('/').next().unwrap_or_default();
    !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        && port.parse::<u16>().is_ok()
}

/// Rejects a URL without a supported scheme, unless it begins with a variable.
fn has_scheme(address: &str, kind: &str) -> Result<(), Problem> {
    let schemes: &[&str] =
        if kind == "ws" { &["ws", "wss"] } else { &["http", "https", "unix", "pipe"] };
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    if address.starts_with("${") || scheme.is_some_and(|s| schemes.contains(&s.as_str())) {
        return Ok(());
    }
    let message = format!("not a valid server URL: `{}`", brief(address, 100));
    let example = if kind == "ws" { "wss" } else { "https" };
    Err(Problem::usage(message).hint(format!("a URL looks like {example}://…")))
}

/// Returns the OAuth settings from the flags, if any were given.
fn oauth(matches: &ArgMatches) -> Option<OAuth> {
    let mut oauth = OAuth::default();
    oauth.client_id = matches.get_one::<String>("client-id").map(|id| Template::parse(id));
    oauth.client_secret =
        matches.get_one::<String>("client-secret").map(|secret| SecretText::parse(secret));
    oauth.callback_port = matches.get_one::<u16>("callback-port").copied();
    (oauth != OAuth::default()).then_some(oauth)
}

pub(super) fn run_json(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "name");
    let _: ServerName = name.parse().map_err(|error| bad_name(&error))?;
    let server =
        read_server(name, text(matches, "definition")).map_err(|found| not_a_server(&found))?;
    put(app, matches, server)
}

/// Builds the error for JSON that is not a server entry. A diagnostic about a misspelled key may name the cause.
fn not_a_server(found: &[Diagnostic]) -> Problem {
    let cause = found.first().map_or_else(
        || "the entry has neither `command` nor `url`".into(),
        |error| {
            let position = error.place.position;
            let place =
                position.filter(|_| error.problem == mcp_config::diagnostic::Problem::Syntax);
            let place = place
                .map_or_else(String::new, |at| format!("line {}, column {}: ", at.line, at.column));
            format!("not a valid server entry: {place}{}", error.message())
        },
    );
    match found.get(1) {
        Some(remark) => Problem::usage(cause).hint(remark.message()),
        None => Problem::usage(cause),
    }
}

fn bad_name(error: &mcp_config::model::NameError) -> Problem {
    Problem::usage(error.to_string())
}

fn split<'a>(
    pair: &'a str,
    at: char,
    flag: &str,
    shape: &str,
) -> Result<(&'a str, &'a str), Problem> {
    match pair.split_once(at) {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim(), value.trim_start())),
        _ => Err(Problem::usage(format!("{flag} expects `{shape}`"))),
    }
}

/// Writes a server to its file, unless policy forbids it.
fn put(app: &App, matches: &ArgMatches, mut config: ServerConfig) -> Done {
    let (file, scope) = app.config.target(scope(matches))?;
    config.trust |= matches.get_flag("trust");
    if let Some(seconds) = matches.get_one::<u64>("timeout") {
        config.timeouts.startup = Some(Duration::from_secs(*seconds));
        config.timeouts.call = Some(Duration::from_secs(*seconds));
    }
    if matches.contains_id("include") {
        config.tools.allow = Some(texts(matches, "include"));
    }
    config.tools.deny.extend(texts(matches, "exclude"));
    if let Some(about) = matches.get_one::<String>("description") {
        config.description = Some(about.clone());
    }
    let name = config.name.to_string();
    let answer = what_if(&app.config.layers, &Change::Add(scope, Box::new(config.clone())));
    let mine = answer
        .after
        .candidates
        .iter()
        .find(|c| c.scope == scope && c.entry.config.name.as_str() == name);
    if let Some(Verdict::Refused(refusal)) = mine.map(|candidate| &candidate.verdict) {
        return Err(Problem::new(Exit::Denied, refusal.to_string())
            .hint("the administrator of this machine restricts which servers may be used"));
    }
    let is_replaced = match file.read().get(&name) {
        Some(old) if old.config == config => {
            let said = format!("{name} already exists in {}", place(scope, &file));
            return say(app, &name, scope, &file, &said, false, None);
        }
        Some(_) if !matches.get_flag("replace") => {
            let message = format!("{name} already exists with a different entry");
            return Err(Problem::new(Exit::Config, message)
                .hint(format!("`mcp explain {name}` shows it; --replace overwrites it")));
        }
        old => old.is_some(),
    };
    let is_dry = matches.get_flag("dry-run");
    if !is_dry {
        app.config.places.secure(&file.path);
        file.add(&config)?;
        if scope == Scope::Project {
            approve(app, &config);
        }
    }
    let path = file.path.to_string_lossy();
    let why = match mine.map(|candidate| &candidate.verdict) {
        Some(Verdict::Shadowed(rival)) => Some(format!(
            "it is not used: `{name}` of the {} scope ({}) takes precedence",
            rival.scope, rival.entry.place
        )),
        // Duplicates within one file are intended.
        Some(Verdict::Duplicate(rival, _)) if *rival.entry.place.file != *path => Some(format!(
            "it is not used: it is the same server as `{}` ({})",
            rival.entry.config.name, rival.entry.place
        )),
        _ => None,
    };
    let place = place(scope, &file);
    let said = match (is_dry, is_replaced) {
        (true, true) => format!("would replace {name} in {place}"),
        (true, false) => format!("would add {name} to {place}"),
        (false, true) => format!("replaced {name} in {place}"),
        (false, false) => format!("added {name} to {place}"),
    };
    say(app, &name, scope, &file, &said, !is_dry, why)
}

fn say(
    app: &App,
    name: &str,
    scope: Scope,
    file: &ConfigFile,
    said: &str,
    written: bool,
    warning: Option<String>,
) -> Done {
    if app.out.json {
        app.out.value(&json!({"name": name, "scope": scope.as_str(), "file": file.path,
            "written": written, "warning": warning}))?;
        return Ok(Exit::Done);
    }
    app.out.line(said)?;
    if let Some(warning) = warning {
        app.out.remark(format!("note: {warning}"));
    }
    Ok(Exit::Done)
}

/// Describes the file of a server for messages.
pub(super) fn place(scope: Scope, file: &ConfigFile) -> String {
    let path = file.path.display();
    match scope {
        Scope::Dynamic => path.to_string(),
        scope => format!("the {scope} scope ({path})"),
    }
}

/// Approves an entry that the user has written into a project, so that they are not asked about it.
pub(super) fn approve(app: &App, config: &ServerConfig) {
    let Some(store) = app.config.approvals() else { return };
    let project = &app.config.project;
    let shown = Disclosure::of(config, &app.config.environment, project);
    if let Err(error) = store.update(project, |approvals| approvals.approve(project, &shown)) {
        app.out.remark(format!("run `mcp approve` to use it: {}", crate::exit::chain(&error)));
    }
}
