//! `mcp add` and `mcp add-json`: another server, with the flags people know from `claude mcp add`.

use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource, value_parser};
use mcp_config::{
    Change, ConfigFile, OAuth, ReadOptions, Remote, Scope, SecretText, ServerConfig, ServerName,
    Stdio, Template, Transport, Verdict, read, what_if,
};
use serde_json::{Value, json};

use super::{text, texts};
use crate::{
    app::App,
    exit::{Done, Exit, Problem},
    out::brief,
};

pub(super) fn command() -> Command {
    Command::new("add")
        .about("Add a server")
        .after_help(
            "Examples:\n  mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n  \
             mcp add -t http docs https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'\n  \
             mcp add -s user -e API_KEY=abc weather -- weather-server --metric",
        )
        .arg(Arg::new("name").value_name("NAME").required(true))
        .arg(
            Arg::new("target").value_name("COMMAND or URL").num_args(1..).required(true).help(
                "A program and its arguments (after `--` if those have flags), or an address",
            ),
        )
        .arg(scope_arg())
        .arg(
            Arg::new("transport")
                .short('t')
                .long("transport")
                .value_parser(["stdio", "http", "sse", "ws"])
                .help("How it is reached [default: http or ws for an address, else stdio]"),
        )
        .arg(
            Arg::new("env")
                .short('e')
                .long("env")
                .value_name("KEY=value")
                .action(ArgAction::Append)
                .help("A variable for the program (may be given more than once)"),
        )
        .arg(
            Arg::new("header")
                .short('H')
                .long("header")
                .value_name("Name: value")
                .action(ArgAction::Append)
                .help("A header for every request (may be given more than once)"),
        )
        .arg(
            Arg::new("client-id")
                .long("client-id")
                .value_name("ID")
                .help("The OAuth client to be, where none can be registered by itself"),
        )
        .arg(
            Arg::new("client-secret")
                .long("client-secret")
                .value_name("SECRET")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("${MCP_CLIENT_SECRET}")
                .requires("client-id")
                .help("Its secret, better as =${VARIABLE} [without a value: ${MCP_CLIENT_SECRET}]"),
        )
        .arg(
            Arg::new("callback-port")
                .long("callback-port")
                .value_name("PORT")
                .value_parser(value_parser!(u16).range(1..))
                .help("The port a login comes back to, where it was registered"),
        )
        .args(common())
}

pub(super) fn json_command() -> Command {
    Command::new("add-json")
        .about("Add a server from its JSON")
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
        .help("Where: local (you, here), user (you, everywhere), project (everybody here) [default: local]")
}

fn common() -> [Arg; 3] {
    [
        Arg::new("replace")
            .long("replace")
            .action(ArgAction::SetTrue)
            .help("Put it in the place of one of the same name"),
        Arg::new("trust")
            .long("trust")
            .action(ArgAction::SetTrue)
            .help("Vouch for it: what it says of its tools is believed"),
        Arg::new("dry-run")
            .long("dry-run")
            .action(ArgAction::SetTrue)
            .help("Say what would happen, and change nothing"),
    ]
}

/// The scope that was asked for, if any was.
pub(super) fn scope(matches: &ArgMatches) -> Option<Scope> {
    matches.get_one::<String>("scope").and_then(|name| Scope::from_name(name))
}

pub(super) fn run(app: &App, matches: &ArgMatches) -> Done {
    let words = texts(matches, "target");
    let Some((first, rest)) = words.split_first() else {
        return Err(Problem::new(Exit::Usage, "which program or address?"));
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
            return Err(Problem::new(Exit::Usage, "which program?"));
        }
        if text(matches, "transport").is_empty() && rest.is_empty() && is_host_and_port(first) {
            let message = format!("is {} an address, or a program?", brief(first, 100));
            return Err(Problem::new(Exit::Usage, message)
                .hint(format!("write http://{first}, or say -t stdio")));
        }
        if matches.contains_id("header") {
            return Err(Problem::new(Exit::Usage, "a program takes no headers; use -e"));
        }
        if ["client-id", "callback-port"].iter().any(|flag| matches.contains_id(flag)) {
            return Err(Problem::new(Exit::Usage, "a program takes no login; use -e"));
        }
        let mut program = Stdio::new(Template::parse(first));
        program.args = rest.iter().map(|word| Template::parse(word)).collect();
        for pair in texts(matches, "env") {
            let (key, value) = split(&pair, '=', "-e", "KEY=value")?;
            program.env.insert(key, SecretText::parse(value));
        }
        Transport::Stdio(program)
    } else {
        if matches.contains_id("env") || !rest.is_empty() {
            return Err(Problem::new(Exit::Usage, "an address takes no variables or arguments")
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
    let name: ServerName = text(matches, "name").parse().map_err(|error| bad_name(&error))?;
    put(app, matches, ServerConfig::new(name, transport))
}

/// Refuses flags between a program and its arguments: nobody could tell whose they are.
fn flags_before_program(matches: &ArgMatches, is_program: bool) -> Result<(), Problem> {
    let first = matches.indices_of("target").and_then(|mut all| all.next());
    let Some(first) = first.filter(|_| is_program) else { return Ok(()) };
    let late = matches.ids().map(clap::Id::as_str).filter(|id| *id != "target").find(|id| {
        let said = matches.value_source(id) == Some(ValueSource::CommandLine);
        said && matches.indices_of(id).is_some_and(|mut all| all.any(|index| index > first))
    });
    match late {
        None => Ok(()),
        Some(id) => Err(Problem::new(
            Exit::Usage,
            format!("is `--{id}` for mcp, or for the program? It stands after the program"),
        )
        .hint(
            "put `--` before the program, and flags for mcp before that: mcp add NAME -- npx -y …",
        )),
    }
}

/// `localhost:3000`, which no program is called.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, rest)) = text.split_once(':') else { return false };
    let port = rest.split('/').next().unwrap_or_default();
    !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        && port.parse::<u16>().is_ok()
}

/// Refuses what is no address, unless a variable stands for it.
fn has_scheme(address: &str, kind: &str) -> Result<(), Problem> {
    let schemes: &[&str] =
        if kind == "ws" { &["ws", "wss"] } else { &["http", "https", "unix", "pipe"] };
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    if address.starts_with("${") || scheme.is_some_and(|s| schemes.contains(&s.as_str())) {
        return Ok(());
    }
    let message = format!("`{}` is no address of a server", brief(address, 100));
    let example = if kind == "ws" { "wss" } else { "https" };
    Err(Problem::new(Exit::Usage, message).hint(format!("an address looks like {example}://…")))
}

/// How to log in, if anything is said about it.
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
    let value: Value = serde_json::from_str(text(matches, "definition"))
        .map_err(|error| Problem::new(Exit::Usage, format!("not JSON: {error}")))?;
    let document = json!({"mcpServers": {name: value}}).to_string();
    let document = read(document.as_bytes(), &ReadOptions::new("the JSON"));
    let Some(entry) = document.get(name) else {
        let why = document.diagnostics.first().map(ToString::to_string);
        return Err(Problem::new(Exit::Usage, why.unwrap_or_else(|| "this is no server".into())));
    };
    put(app, matches, entry.config.clone())
}

fn bad_name(error: &mcp_config::NameError) -> Problem {
    Problem::new(Exit::Usage, error.to_string())
}

fn split<'a>(
    pair: &'a str,
    at: char,
    flag: &str,
    shape: &str,
) -> Result<(&'a str, &'a str), Problem> {
    match pair.split_once(at) {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim(), value.trim_start())),
        _ => Err(Problem::new(Exit::Usage, format!("{flag} takes `{shape}`"))),
    }
}

/// Writes a server down, unless policy would refuse it anyway.
fn put(app: &App, matches: &ArgMatches, mut config: ServerConfig) -> Done {
    let (file, scope) = app.config.target(scope(matches))?;
    config.trust |= matches.get_flag("trust");
    let name = config.name.to_string();
    let answer = what_if(&app.config.layers, &Change::Add(scope, Box::new(config.clone())));
    let mine = answer
        .after
        .candidates
        .iter()
        .find(|c| c.scope == scope && c.entry.config.name.as_str() == name);
    if let Some(Verdict::Refused(refusal)) = mine.map(|candidate| &candidate.verdict) {
        return Err(Problem::new(Exit::Denied, refusal.to_string())
            .hint("this machine's administrator decides which servers may be used"));
    }
    let is_replaced = match file.read().get(&name) {
        Some(old) if old.config == config => {
            let said = format!("{name} is in {} already", place(scope, &file));
            return say(app, &name, scope, &file, &said, false, None);
        }
        Some(_) if !matches.get_flag("replace") => {
            let message = format!("{name} is there already, and is another one");
            return Err(Problem::new(Exit::Config, message)
                .hint(format!("`mcp explain {name}` shows it, --replace puts this in its place")));
        }
        old => old.is_some(),
    };
    let is_dry = matches.get_flag("dry-run");
    if !is_dry {
        if let Some(folder) = file.path.parent() {
            // If it cannot be made, writing the file says why.
            let _ = std::fs::create_dir_all(folder);
        }
        file.add(&config)?;
        if scope == Scope::Project {
            approve(app, &config);
        }
    }
    let path = file.path.to_string_lossy();
    let why = match mine.map(|candidate| &candidate.verdict) {
        Some(Verdict::Shadowed(rival)) => Some(format!(
            "it is not used: the `{name}` of the {} scope ({}) has precedence",
            rival.scope, rival.entry.place
        )),
        // Two entries of one file are both meant.
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

/// Where a server stands, in words.
pub(super) fn place(scope: Scope, file: &ConfigFile) -> String {
    let path = file.path.display();
    match scope {
        Scope::Dynamic => path.to_string(),
        scope => format!("the {scope} scope ({path})"),
    }
}

/// Who adds a server to a project by hand need not approve it.
pub(super) fn approve(app: &App, config: &ServerConfig) {
    let Some(store) = app.config.approvals() else { return };
    let project = &app.config.project;
    if let Err(error) = store.update(project, |approvals| approvals.approve(project, config)) {
        app.out.remark(format!("it waits for `mcp approve`: {}", crate::exit::chain(&error)));
    }
}
