//! Starts, stops and inspects background hosts.

use std::{
    io::Write as _,
    time::{Duration, SystemTime},
};

use clap::ArgMatches;
use serde_json::{Value, json};

use super::gateways;
use crate::{
    exit::{Done, Exit, Problem},
    host::{
        app::App,
        background::{
            self,
            place::{self, HostPlace},
            service::{Listening, Service},
            start, wire,
        },
    },
    terminal::{
        out::brief,
        paint::Paint,
        table::{Table, plain},
    },
};

pub(in super::super) async fn up(app: &App, matches: &ArgMatches) -> Done {
    let place = app.host_place()?;
    if let Some(state) = &app.config.places.state {
        let is_on = matches.get_flag("auto");
        if is_on || matches.get_flag("no-auto") {
            place::set_automatic(state, is_on).map_err(|error| failed(&error))?;
        }
        if matches.get_flag("no-auto") {
            app.out.line("commands no longer start the background host")?;
            return Ok(Exit::Done);
        }
    }
    let idle = matches.get_one::<u64>("idle").copied().unwrap_or_default();
    if matches.get_flag("foreground") {
        return run_host(app, &place, matches.get_flag("detach"), Duration::from_secs(idle)).await;
    }
    let found = start::find(&place).await;
    let is_new = found.is_none();
    let host = match found {
        Some(host) => host,
        None => start_host(app, &place, idle).await?,
    };
    if app.out.json {
        app.out
            .value(&json!({"pid": host["pid"], "project": host["project"], "started": is_new}))?;
        return Ok(Exit::Done);
    }
    let word = if is_new { "started" } else { "is already running" };
    app.out.line(format!("the background host {word}: pid {}", host["pid"]))?;
    app.out.remark("`mcp status` shows it, `mcp down` stops it");
    Ok(Exit::Done)
}

/// Starts a host and returns its status.
async fn start_host(app: &App, place: &HostPlace, idle: u64) -> Result<Value, Problem> {
    let mut arguments = vec!["--idle".to_owned(), idle.to_string()];
    for file in app.config.named() {
        arguments.extend(["--config".to_owned(), file.to_string_lossy().into_owned()]);
    }
    if let Some(spec) = app.config.spec() {
        arguments.extend(["--server".to_owned(), spec.to_owned()]);
    }
    let started = app.interrupt.or(start::start(place, &arguments)).await?;
    started.map_err(|error| failed(&error))?;
    start::find(place).await.ok_or_else(|| {
        Problem::new(Exit::Failed, "the background host exited immediately")
            .hint(format!("see its log in {}", place.log().display()))
    })
}

/// Starts a host if `mcp up --auto` is set and none is running. A failure is only reported, because the command works
/// without a host.
pub(in super::super) async fn auto_start(app: &App) {
    let Some(state) = app.config.places.state.as_ref().filter(|state| place::is_automatic(state))
    else {
        return;
    };
    debug_assert!(state.is_absolute(), "state folder is absolute");
    let Ok(place) = app.host_place() else { return };
    if start::find(&place).await.is_none()
        && let Err(problem) = start_host(app, &place, 900).await
    {
        app.out.remark(format!("continuing without the background host: {}", problem.message));
    }
}

/// Runs the host until it is asked to stop.
async fn run_host(app: &App, place: &HostPlace, is_detached: bool, idle: Duration) -> Done {
    if is_detached {
        // Detach from the terminal, so that its signals reach only the command that started us.
        let _ = nix::unistd::setsid();
    }
    let listening = Listening::at(place).map_err(|error| failed(&error))?;
    tell_parent(is_detached);
    let Some(listening) = listening else {
        app.out.remark("another background host is already running");
        return Ok(Exit::Done);
    };
    app.out.remark(format!("listening at {}", place.socket().display()));
    let (connector, start_in) = app.host_connector();
    let service = Service {
        out: app.out,
        config: &app.config,
        connector,
        start_in,
        secrets: app.secrets.clone(),
        store: app.logins.vault().store().clone(),
        idle: Some(idle),
    };
    service.run(listening, app.interrupt.cancelled()).await;
    Ok(Exit::Done)
}

/// Reports to the command that started us that a host is listening.
fn tell_parent(is_detached: bool) {
    if is_detached {
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(stdout, "{}", start::LISTENING).and_then(|()| stdout.flush());
    }
}

pub(in super::super) async fn down(app: &App, matches: &ArgMatches) -> Done {
    let places = if matches.get_flag("all") { all(app) } else { vec![app.host_place()?] };
    let mut ended = Vec::new();
    for place in places {
        let answer = wire::ask(&place.socket(), &json!({"stop": true})).await;
        let Ok(answer) = answer else { continue };
        ended.push(answer["stopping"].clone());
        // The host releases its lock after its servers have ended.
        let lock = place.lock();
        let waited = tokio::task::spawn_blocking(move || {
            mcp_safe::fs::Lock::acquire(&lock, Duration::from_secs(10))
        });
        drop(app.interrupt.or(waited).await?);
    }
    if app.out.json {
        app.out.value(&json!({ "ended": ended }))?;
    } else if ended.is_empty() {
        app.out.line("no background host is running here")?;
    } else {
        let pids: Vec<String> = ended.iter().map(ToString::to_string).collect();
        app.out.line(format!("stopped: pid {}", pids.join(", ")))?;
    }
    Ok(Exit::Done)
}

fn all(app: &App) -> Vec<HostPlace> {
    app.config.places.state.as_ref().map(|state| HostPlace::all(state)).unwrap_or_default()
}

pub(in super::super) async fn status(app: &App, _: &ArgMatches) -> Done {
    let mut hosts = Vec::new();
    for place in all(app) {
        if let Some(mut host) = start::find(&place).await {
            host["log"] = json!(place.log());
            hosts.push(host);
        }
    }
    let gateways = match &app.config.places.state {
        Some(state) => background::gateways::running(state).await,
        None => Vec::new(),
    };
    let is_automatic =
        app.config.places.state.as_ref().is_some_and(|state| place::is_automatic(state));
    if app.out.json {
        app.out.value(&json!({"hosts": hosts, "gateways": gateways, "auto": is_automatic}))?;
        return Ok(Exit::Done);
    }
    if hosts.is_empty() {
        app.out.line("no background host is running")?;
        app.out.remark("`mcp up` starts one, which keeps servers running between commands");
    }
    for host in &hosts {
        let project = brief(host["project"].as_str().unwrap_or_default(), 200);
        let title = Paint::Bold.of(format!("host {}", host["pid"]));
        app.out.line(title.then(format!(" for {project}, up {}", age(&host["startedMs"]))))?;
        let servers = host["servers"].as_array().cloned().unwrap_or_default();
        if servers.is_empty() {
            app.out.line("  no server has been used yet")?;
            continue;
        }
        let mut table =
            Table::new(&["SERVER", "STATE", "UP", "CLIENTS", "CALLS", "IN FLIGHT", "LAST FAILURE"]);
        for server in &servers {
            let text = |key: &str| brief(server[key].as_str().unwrap_or_default(), 200);
            table.row([
                (text("name"), Paint::Bold),
                plain(text("state")),
                plain(age(&server["startedMs"])),
                plain(server["clients"].to_string()),
                plain(server["calls"].to_string()),
                plain(server["callsInFlight"].to_string()),
                (text("lastFailure"), Paint::Dim),
            ]);
        }
        table.print(app.out)?;
    }
    gateways::print(app, &gateways)?;
    Ok(Exit::Done)
}

/// Formats the time since a timestamp, in one unit.
pub(super) fn age(started: &Value) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let seconds = now.as_secs().saturating_sub(started.as_u64().unwrap_or_default() / 1_000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

fn failed(error: &std::io::Error) -> Problem {
    Problem::new(Exit::Failed, format!("could not start the background host: {error}"))
}
