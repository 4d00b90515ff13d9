//! The checks of `mcp doctor`. Each reports facts only, without guessing.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use mcp_bridge::ServerState;
use mcp_config::{Transport, diagnostic::Severity, expand, expand::AskInput};
use mcp_safe::fs::{create_folder, is_program};

use super::Check;
use crate::{
    exit::Problem,
    host::{
        app::App,
        config::{Config, NO_SERVERS},
        event_log::EventLog,
        places::Places,
        sandbox::Shown,
    },
    terminal::{out::brief, server_state},
};

/// A time before the release of this program, in seconds since the epoch. A correct clock is later.
const WRITTEN: Duration = Duration::from_secs(1_760_000_000);

/// Checks the clock, which decides whether tokens and certificates are valid.
pub(super) fn clock() -> Check {
    match SystemTime::UNIX_EPOCH.elapsed() {
        Ok(now) if now > WRITTEN => Check::good("clock", "plausible"),
        _ => Check::bad("clock", "it shows a time before this program was built", "set the clock"),
    }
}

/// Checks that `mcp` on `PATH` is this program: other packages install a program of that name too.
pub(super) fn command_name() -> Option<Check> {
    let here = env::current_exe().and_then(fs::canonicalize).ok()?;
    let found = lookup("mcp").and_then(|path| Some((fs::canonicalize(&path).ok()?, path)));
    match found {
        Some((real, path)) if real != here => Some(Check::warning(
            "the name mcp",
            format!("{} is another program, and comes first on PATH", path.display()),
            "use `mcph`, the second name of this program, or change PATH",
        )),
        _ => None,
    }
}

/// Reports whether a background host runs, and the path of its log.
pub(super) async fn background(app: &App) -> Option<Check> {
    #[cfg(unix)]
    {
        let place = app.host_place().ok()?;
        let host = crate::host::background::start::find(&place).await?;
        let (pid, log) = (&host["pid"], place.log());
        Some(Check::good("background host", format!("pid {pid}, log {}", log.display())))
    }
    #[cfg(not(unix))]
    {
        let _ = app;
        None
    }
}

/// Where gateways keep their log.
pub(super) fn gateway_log(places: &Places) -> Option<Check> {
    let path = EventLog::place(places)?;
    let found = match fs::metadata(&path) {
        Ok(about) => format!("{}, {} bytes", path.display(), about.len()),
        Err(_) => format!("{}, not written yet", path.display()),
    };
    Some(Check::good("log of `mcp serve`", found))
}

/// Checks that our folders are writable.
pub(super) fn folders(places: &Places) -> Vec<Check> {
    let folders = [
        ("configuration folder", &places.config),
        ("state folder", &places.state),
        ("cache folder", &places.cache),
    ];
    let check = |(what, folder): (&str, &Option<PathBuf>)| match folder {
        None => Check::warning(
            what,
            "home directory not found",
            "set HOME; without it nothing is stored",
        ),
        Some(folder) => match writable(folder) {
            Ok(()) => Check::good(what, folder.display().to_string()),
            Err(error) => Check::warning(
                what,
                format!("{}: {error}", folder.display()),
                "make it writable; until then nothing is stored there",
            ),
        },
    };
    folders.into_iter().map(check).collect()
}

/// Writes a file, because permission bits do not show read-only mounts and full disks.
fn writable(folder: &Path) -> io::Result<()> {
    create_folder(folder)?;
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
            let next =
                diagnostic.hint.clone().unwrap_or_else(|| "fix it in the file named above".into());
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
            "it is an entry of this project and waits for approval",
            format!("look at it with `mcp explain {name}`, then `mcp approve {name}`"),
        ));
    }
    checks
}

/// Checks that every step of a custom tool belongs to an active server.
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
                format!(
                    "its step `{}` does not belong to an active server",
                    brief(&step.tool, 200)
                ),
                "name the step's tool as server/tool; `mcp list` shows the servers",
            )),
        }
    }
    checks
}

/// Checks servers without starting them.
pub(super) fn servers(config: &Config, secrets: &dyn AskInput) -> Vec<Check> {
    config
        .resolution
        .servers()
        .filter_map(|candidate| server(config, secrets, &candidate.entry.config))
        .collect()
}

fn server(
    config: &Config,
    secrets: &dyn AskInput,
    server: &mcp_config::ServerConfig,
) -> Option<Check> {
    let what = format!("server {}", server.name);
    let expanded = match expand(server, &config.environment, secrets) {
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
        Some(path) if !is_program(&path) => Some(Check::bad(
            what,
            format!("{} is not executable", path.display()),
            format!("make it executable: chmod +x {}", path.display()),
        )),
        Some(path) => Some(Check::good(what, format!("starts {}", path.display()))),
        None => Some(Check::bad(
            what,
            format!("program `{command}` was not found on PATH"),
            "install it, or give its full path",
        )),
    }
}

fn lookup(command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(PathBuf::from(command)).filter(|path| path.is_file());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(command)).find(|path| is_program(path))
}

/// Checks that the secret store works, if a server uses logins.
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

/// Connects all servers and reports why each failure happened.
pub(super) async fn live(app: &App) -> Result<Vec<Check>, Problem> {
    let bridge = app.bridge();
    let names: Vec<String> = bridge.status().iter().map(|s| s.name.to_string()).collect();
    let took = app.settle(&bridge, &names).await?;
    let mut checks = Vec::new();
    for server in app.config.servers() {
        let Some(sandbox) = Shown::new(&app.config, &server) else { continue };
        let lacks = sandbox.lacks();
        if !lacks.is_empty() {
            checks.push(Check::warning(
                format!("server {}", server.name),
                format!("its sandbox `{}` is not complete: {}", sandbox.word(), lacks.join("; ")),
                "`\"required\": true` in its `sandbox` refuses such a start",
            ));
        }
    }
    for status in bridge.status() {
        let what = format!("connection {}", status.name);
        let explained = bridge.explain(&status.name);
        let cause = explained.as_ref().map(|e| e.cause.clone()).unwrap_or_default();
        let place = app.config.place_of(&status.name);
        let next = explained.map(|e| server_state::next_step(&status, &e, &place));
        let next = next.unwrap_or_default();
        checks.push(match status.state {
            ServerState::Connected => {
                let time = took.iter().find(|(name, _)| **name == *status.name);
                let time = time.map_or(0, |(_, time)| time.as_millis());
                Check::good(what, format!("{} tools after {time} ms", status.tools))
            }
            ServerState::NeedsLogin => Check::bad(what, "it requires a login", next),
            ServerState::Disabled => Check::good(what, "disabled"),
            ServerState::Idle => Check::good(what, "not needed yet"),
            _ => {
                let reason = server_state::reason(&bridge, &status).unwrap_or(cause);
                let next = format!("{next}; `mcp explain {}` shows the details", status.name);
                Check::bad(what, reason, next)
            }
        });
    }
    Ok(checks)
}
