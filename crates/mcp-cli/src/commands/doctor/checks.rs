//! The checks themselves. Each says what it found, never what it guesses.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use mcp_bridge::{Detail, ServerState};
use mcp_config::{NoInputs, Severity, Transport, expand};

use super::Check;
use crate::{
    app::App,
    config::{Config, NO_SERVERS},
    exit::Problem,
    out::shown,
    places::{Places, make_private},
    state,
};

/// When this was written: no honest clock shows an earlier time.
const WRITTEN: Duration = Duration::from_secs(1_760_000_000);

/// Tokens and certificates are judged by the clock.
pub(super) fn clock() -> Check {
    match SystemTime::UNIX_EPOCH.elapsed() {
        Ok(now) if now > WRITTEN => Check::good("clock", "plausible"),
        _ => Check::bad("clock", "it shows a time before this program was made", "set the clock"),
    }
}

/// Whether what is to be kept can be.
pub(super) fn folders(places: &Places) -> Vec<Check> {
    let folders = [
        ("configuration folder", &places.config),
        ("state folder", &places.state),
        ("cache folder", &places.cache),
    ];
    let check = |(what, folder): (&str, &Option<PathBuf>)| match folder {
        None => {
            Check::warning(what, "there is no home directory", "set HOME: nothing is remembered")
        }
        Some(folder) => match writable(folder) {
            Ok(()) => Check::good(what, folder.display().to_string()),
            Err(error) => Check::warning(
                what,
                format!("{}: {error}", folder.display()),
                "make it writable: until then nothing is remembered there",
            ),
        },
    };
    folders.into_iter().map(check).collect()
}

/// Tries it: a mode says little about read-only mounts and full disks.
fn writable(folder: &Path) -> io::Result<()> {
    make_private(folder)?;
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    fs::write(&probe, b"x").and_then(|()| fs::remove_file(&probe))
}

pub(super) fn files(config: &Config) -> Vec<Check> {
    let mut checks: Vec<Check> = config
        .resolution
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let what = "configuration";
            let next = diagnostic.hint.clone().unwrap_or_else(|| "put it right".into());
            match diagnostic.severity {
                Severity::Error => Check::bad(what, diagnostic.to_string(), next),
                Severity::Warning => Check::warning(what, diagnostic.to_string(), next),
                _ => Check::good(what, diagnostic.to_string()),
            }
        })
        .collect();
    for path in config.files().iter().filter(|path| path.exists()) {
        let name = path.display().to_string();
        let has_error = config.errors().any(|d| *d.place.file == *name);
        if !has_error {
            checks.push(Check::good("configuration", format!("{name} can be read")));
        }
    }
    if config.resolution.candidates.is_empty() {
        checks.push(Check::warning("configuration", "no servers", NO_SERVERS));
    }
    for waiting in config.resolution.unapproved() {
        let name = &waiting.entry.config.name;
        checks.push(Check::warning(
            format!("server {name}"),
            "it came with the project and waits for approval",
            format!("look at it with `mcp explain {name}`, then `mcp approve {name}`"),
        ));
    }
    checks
}

/// Whether the tools that are made of others are made of something.
pub(super) fn custom_tools(config: &Config) -> Vec<Check> {
    let mut checks = Vec::new();
    for tool in config.resolution.active_tools() {
        let what = format!("custom tool {}", tool.name);
        let has_server = |step: &str| {
            let named = |name: &str| {
                let rest = step.strip_prefix(name).and_then(|rest| rest.strip_prefix('/'));
                let model = step.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(name));
                rest.is_some() || model.is_some_and(|rest| rest.starts_with("__"))
            };
            config.resolution.servers().any(|server| named(server.entry.config.name.as_str()))
        };
        match tool.steps.iter().find(|step| !has_server(&step.tool)) {
            None => checks.push(Check::good(what, "its servers are configured")),
            Some(step) => checks.push(Check::bad(
                what,
                format!("its step `{}` is of no server that is in use", shown(&step.tool)),
                "name the step's tool as server/tool; `mcp list` shows the servers",
            )),
        }
    }
    checks
}

/// What can be said of servers without starting them.
pub(super) fn servers(config: &Config) -> Vec<Check> {
    config
        .resolution
        .servers()
        .filter_map(|candidate| server(config, &candidate.entry.config))
        .collect()
}

fn server(config: &Config, server: &mcp_config::ServerConfig) -> Option<Check> {
    let what = format!("server {}", server.name);
    let expanded = match expand(server, &config.environment, &NoInputs) {
        Ok(expanded) => expanded,
        Err(error) => {
            return Some(Check::bad(
                what,
                error.to_string(),
                "set it, or give it a default: ${NAME:-…}",
            ));
        }
    };
    let Transport::Stdio(program) = &expanded.transport else { return None };
    let command = program.command.expose();
    match lookup(command) {
        Some(path) => Some(Check::good(what, format!("starts {}", path.display()))),
        None => Some(Check::bad(
            what,
            format!("there is no program `{command}` on PATH"),
            "install it, or give its full path",
        )),
    }
}

fn lookup(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(PathBuf::from(command)).filter(|path| path.is_file());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_file())
}

/// Whether logins can be kept, where there is a server that has one.
pub(super) async fn secrets(app: &App) -> Option<Check> {
    let mut servers = app.config.resolution.servers();
    servers.find(|candidate| candidate.entry.config.transport.remote().is_some())?;
    Some(match app.logins.vault().store().list().await {
        Ok(keys) => Check::good("secret store", format!("works, {} entries", keys.len())),
        Err(error) => {
            let next = "unlock it, or set MCP_SECRET_STORE=file";
            Check::bad("secret store", error.to_string(), next)
        }
    })
}

/// Connects everything, and lets the bridge explain what does not work.
pub(super) async fn live(app: &App) -> Result<Vec<Check>, Problem> {
    let bridge = app.bridge();
    let names: Vec<String> = bridge.status().iter().map(|s| s.name.to_string()).collect();
    let took = app.settle(&bridge, &names).await?;
    let mut checks = Vec::new();
    for status in bridge.status() {
        let what = format!("connection {}", status.name);
        let explained = bridge.explain(&status.name);
        let cause = explained.as_ref().map(|e| e.cause.clone()).unwrap_or_default();
        let evidence = explained.as_ref().map(|e| e.evidence.join("; ")).unwrap_or_default();
        let next = explained.map(|e| state::next_step(&status, &e)).unwrap_or_default();
        checks.push(match (status.state, status.detail) {
            (ServerState::Connected, _) => {
                let time = took.iter().find(|(name, _)| **name == *status.name);
                let time = time.map_or(0, |(_, time)| time.as_millis());
                Check::good(what, format!("{} tools after {time} ms", status.tools))
            }
            (ServerState::NeedsAuth, _) => Check::bad(what, "it wants a login", next),
            (ServerState::Disabled, _) => Check::good(what, "switched off"),
            (ServerState::Pending, Detail::Idle) => Check::good(what, "not needed yet"),
            _ if evidence.is_empty() => Check::bad(what, cause, next),
            _ => Check::bad(what, format!("{cause} ({evidence})"), next),
        });
    }
    Ok(checks)
}
