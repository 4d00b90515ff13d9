//! `mcp get` and `mcp explain`: show where a server is configured, its state, and the cause of a failure.

use std::{ffi::OsString, io};

use clap::{Arg, ArgMatches, Command};
use mcp_bridge::{Bridge, ServerStatus, report::Quarantined};
use mcp_client::ServerProfile;
use mcp_config::{
    Dialect, Transport,
    custom::{CustomCandidate, CustomVerdict},
    edit,
    model::InheritEnv,
    resolve::{Candidate, Verdict},
};
use mcp_transport::{StdioOptions, process::Environment};
use serde_json::{Value, json};

use super::{flag, import::TOOLS, server_arg, text};
use crate::{
    exit::{Done, Exit, Problem},
    host::{app::App, sandbox::Shown, tools},
    terminal::{
        out::brief,
        paint::{Line, Paint},
        server_state,
    },
};

pub(super) fn command() -> Command {
    Command::new("get")
        .visible_alias("explain")
        .about("Explain a server or custom tool: where it is configured, and whether it works")
        .after_help(
            "Examples:\n  mcp explain github\n  mcp get github --offline\n  mcp get github --export\n  \
             mcp get github --export --format codex",
        )
        .arg(server_arg().required(true))
        .arg(flag("offline", "Do not start the server"))
        .arg(flag("export", "Print its entry for another file, without expanding variables"))
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("TOOL")
                .requires("export")
                .value_parser(TOOLS.iter().map(|(name, _)| *name).collect::<Vec<_>>())
                .help("Format of this tool [default: mcpServers, as used by most tools]"),
        )
}

pub(super) async fn run(app: &App, matches: &ArgMatches) -> Done {
    let name = text(matches, "server");
    if matches.get_flag("export") {
        return export(app, name, text(matches, "format"));
    }
    let explanation = app.config.resolution.explain(name);
    let all = &app.config.resolution.custom_tools;
    let custom: Vec<_> = all.iter().filter(|tool| tool.entry.tool.name == name).collect();
    if explanation.entries.is_empty() && explanation.diagnostics.is_empty() {
        return if custom.is_empty() {
            Err(app.config.missing(name))
        } else {
            explain_tool(app, name, &custom)
        };
    }
    let is_active = explanation.entries.first().is_some_and(|c| c.verdict == Verdict::Active);
    let is_asked = is_active && !matches.get_flag("offline");
    let bridge = app.bridge();
    if is_asked {
        app.settle(&bridge, &[name.to_owned()]).await?;
    }
    let live = bridge.explain(name).filter(|_| is_active);
    let status = bridge.status().into_iter().find(|status| *status.name == *name);
    let is_late = is_asked && status.as_ref().is_some_and(is_still_starting);
    let word = match &status {
        // The same as in `mcp list`.
        Some(_) if is_late => "failed",
        Some(status) => server_state::word(status).0,
        None => "unknown",
    };
    let down = tools::unreachable(app, &bridge, name).filter(|_| is_asked);
    let cause = match &down {
        Some(problem) if is_late => Some(problem.message.clone()),
        _ => live.as_ref().map(|live| live.cause.clone()),
    };
    let next = if is_late {
        Some(format!("a longer --timeout; `mcp logs {name}` shows its output"))
    } else {
        let place = app.config.place_of(name);
        let step = |(live, status)| server_state::next_step(&status, live, &place);
        live.as_ref().zip(status).map(step)
    };
    let quarantined = bridge.quarantined(name);
    let profile = bridge.profile(name).filter(|_| is_asked);
    let withheld = app.config.resolution.get(name).filter(|_| down.is_some());
    let withheld = withheld.map(withheld_from).unwrap_or_default();
    let sandbox = sandbox_of(app, name);
    if app.out.json {
        let one = |tool: &Quarantined| json!({"tool": tool.tool, "reason": tool.reason});
        let quarantined: Vec<Value> = quarantined.iter().map(one).collect();
        app.out.value(&json!({
            "name": name,
            "active": is_active,
            "configuration": explanation.to_string().lines().collect::<Vec<_>>(),
            "state": live.as_ref().map(|_| word),
            "tools": tools::known(&bridge, name),
            "cause": cause,
            "evidence": live.as_ref().map(|live| live.evidence.clone()),
            "nextStep": next,
            "notPassed": withheld,
            "sandbox": sandbox.as_ref().map(Shown::json),
            "quarantined": quarantined,
            "customTools": in_words(&custom),
            "server": profile.as_ref().map(described),
        }))?;
    } else {
        app.out.line(explanation.to_string().trim_end())?;
        for text in undecided(app, name) {
            app.out.line(text.trim_end())?;
        }
        if let Some(live) = &live {
            let titled = |title: &str, text: &str| {
                app.out.line(Paint::Bold.of(title).then(format!(" {text}")))
            };
            titled("state:", word)?;
            if word != "connected" {
                titled("cause:", cause.as_deref().unwrap_or_default())?;
            }
            for line in &live.evidence {
                app.out.line(format!("  {line}"))?;
            }
            if let Some(next) = next.filter(|_| word != "connected") {
                titled("next:", &next)?;
            }
        }
        print_sandbox(app, sandbox.as_ref())?;
        for line in profile.iter().flat_map(|profile| profile_lines(&bridge, name, profile)) {
            app.out.line(line)?;
        }
        for line in in_words(&custom) {
            app.out.line(line)?;
        }
        for Quarantined { tool, reason, .. } in &quarantined {
            app.out.line(format!("quarantined tool: {}: {reason}", brief(tool, 200)))?;
        }
    }
    Ok(down.map_or(Exit::Done, |problem| problem.exit))
}

/// The sandbox that a server starts in.
fn sandbox_of(app: &App, name: &str) -> Option<Shown> {
    let candidate = app.config.resolution.get(name)?;
    let mut config = candidate.entry.config.clone();
    config.trust = candidate.is_trusted();
    Shown::new(&app.config, &config)
}

fn print_sandbox(app: &App, sandbox: Option<&Shown>) -> io::Result<()> {
    let mut lines = sandbox.into_iter().flat_map(Shown::lines);
    if let Some(first) = lines.next() {
        app.out.line(Paint::Bold.of("sandbox:").then(format!(" {first}")))?;
    }
    for line in lines {
        app.out.line(format!("  {}", brief(&line, 400)))?;
    }
    Ok(())
}

/// Whether `--timeout` ended the wait for a server that is still starting.
fn is_still_starting(status: &ServerStatus) -> bool {
    status.problem.is_none() && status.state.is_pending() && !status.state.is_idle()
}

/// Prints the entry in the format of another tool.
fn export(app: &App, name: &str, format: &str) -> Done {
    let candidates = &app.config.resolution.candidates;
    let Some(candidate) = candidates.iter().find(|c| c.entry.config.name.as_str() == name) else {
        return Err(app.config.missing(name));
    };
    let dialect = TOOLS.iter().find(|(tool, _)| *tool == format).map(|(_, dialect)| *dialect);
    let exported = edit::export(&candidate.entry.config, dialect.unwrap_or(Dialect::McpJson));
    let exported = exported.map_err(|error| Problem::chain(Exit::Config, &error))?;
    if !exported.lost.is_empty() {
        app.out.instruct(format!("note: {format} does not support {}", exported.lost.join(", ")));
    }
    if app.out.json {
        app.out.value(&json!({"name": name, "format": format, "text": exported.text,
            "lost": exported.lost}))?;
    } else {
        app.out.line(exported.text.trim_end())?;
    }
    Ok(Exit::Done)
}

fn described(profile: &ServerProfile) -> Value {
    let info = profile.info.as_ref();
    json!({"name": info.map(|info| info.name.clone()), "version": info.map(|info| info.version.clone()),
        "protocol": profile.version.as_str(), "capabilities": capabilities(profile),
        "instructions": profile.instructions})
}

/// Formats the name, version, protocol revision and capabilities of a server.
fn profile_lines(bridge: &Bridge, name: &str, profile: &ServerProfile) -> Vec<Line> {
    let titled = |title: &str, text: String| {
        Paint::Bold.of(title).then(if text.is_empty() { text } else { format!(" {text}") })
    };
    let mut lines = Vec::new();
    if let Some(info) = &profile.info {
        let text = format!("{} {}", brief(&info.name, 100), brief(&info.version, 40));
        lines.push(titled("server:", text));
    }
    lines.push(titled("protocol:", profile.version.as_str().to_owned()));
    lines.push(titled("offers:", capabilities(profile).join(", ")));
    if let Some(count) = tools::known(bridge, name) {
        lines.push(titled("tools:", count.to_string()));
    }
    if let Some(text) = &profile.instructions {
        lines.push(titled("instructions:", String::new()));
        lines.extend(
            text.lines().take(20).map(|line| Line::from(format!("  {}", brief(line, 400)))),
        );
    }
    lines
}

fn capabilities(profile: &ServerProfile) -> Vec<&'static str> {
    let offered = &profile.capabilities;
    let all = [
        ("tools", offered.tools.is_some()),
        ("resources", offered.resources.is_some()),
        ("prompts", offered.prompts.is_some()),
        ("logging", offered.logging.is_some()),
        ("completions", offered.completions.is_some()),
    ];
    all.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// Returns variables that are set here and often needed, but not passed to this local server.
fn withheld_from(server: &Candidate) -> Vec<String> {
    let Transport::Stdio(program) = &server.entry.config.transport else { return Vec::new() };
    if program.inherit_env == InheritEnv::All {
        return Vec::new();
    }
    let mut options = StdioOptions::new(program.command.unexpanded());
    if server.is_trusted() {
        options.environment = Environment::Trusted;
    }
    let given = program.env.iter().map(|(name, _)| name);
    for name in given.chain(program.env_pass.iter().map(String::as_str)) {
        options.env.insert(name.into(), OsString::new());
    }
    options.withheld()
}

/// Shows the full entries of the project that are not approved.
fn undecided(app: &App, name: &str) -> Vec<String> {
    let config = &app.config;
    let candidates = config.resolution.candidates.iter().filter(|candidate| {
        candidate.entry.config.name.as_str() == name
            && matches!(candidate.verdict, Verdict::Unapproved { .. } | Verdict::Rejected)
    });
    let shown = candidates.map(|c| c.disclosure(&config.environment, &config.project));
    shown.map(|shown| format!("the entry of this project:\n{shown}")).collect()
}

/// Explains a custom tool.
fn explain_tool(app: &App, name: &str, tools: &[&CustomCandidate]) -> Done {
    let is_active = tools.iter().any(|tool| tool.verdict == CustomVerdict::Active);
    if app.out.json {
        let lines = in_words(tools);
        app.out.value(&json!({"name": name, "active": is_active, "configuration": lines}))?;
    } else {
        app.out.line(in_words(tools).join("\n"))?;
    }
    Ok(Exit::Done)
}

fn in_words(tools: &[&CustomCandidate]) -> Vec<String> {
    let lines = tools.iter().map(ToString::to_string);
    lines.flat_map(|words| words.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}
