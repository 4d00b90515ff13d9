//! The inner process: restricts itself, starts the server and waits for it.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::Write as _,
    path::Path,
    process::{Child, Command},
};

use nix::{
    errno::Errno,
    sys::{
        prctl,
        signal::Signal,
        stat::{Mode, umask},
        wait::{WaitStatus, waitpid},
    },
};
use serde_json::Value;

use super::{
    calls::{self, Sockets},
    files::{self, View},
    limits, mounts, namespaces, privileges,
};
use crate::{
    launch::Plan,
    places::SESSION_VARIABLES,
    report::{Measure, Report},
    rules::{Network, Rules},
};

/// The first argument of the inner process.
pub(super) const MARKER: &str = "mcp-sandbox:apply";

/// Variables that name a proxy. None is reachable without a network.
const PROXY_VARIABLES: &[&str] =
    &["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "http_proxy", "https_proxy"];

/// Arguments: the plan, the outer process's report, its kind of namespace, the program, its arguments.
pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> Result<u8, String> {
    // First of all: the outer process may be killed at any time.
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| error.desc().to_owned())?;
    // What the launcher creates is for this user alone. The server gets the mask of the host.
    let mask = umask(Mode::from_bits_truncate(0o077));
    let mut text = || args.next()?.into_string().ok();
    let plan = text().ok_or("the plan is missing")?;
    let report = text().ok_or("the report is missing")?;
    let is_init = text().is_some_and(|kind| kind == "init");
    let program = args.next().ok_or("the program is missing")?;
    let Plan { rules, report: file } = Plan::from_text(&plan).map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_str(&report).map_err(|error| error.to_string())?;
    let mut report = Report::from_json(&report).map_err(|error| error.to_string())?;
    // Opened before its folder becomes invisible.
    let file = File::create_new(&file);

    let (is_private, _lock) = restrict(&rules, is_init, &mut report)?;
    if let Some(missing) = report.missing.first().filter(|_| rules.required) {
        return Err(format!("its profile is required, and this system lacks {missing}"));
    }
    let text = format!("{}\n", report.to_json());
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    // On a full disk a complete sandbox starts all the same. One that lacks something must say so.
    if let (Err(error), Some(missing)) = (written, report.missing.first()) {
        return Err(format!("the report cannot be written: {error}; this system lacks {missing}"));
    }

    umask(mask);
    let mut command = command(&program, &rules, is_private);
    let child = command.args(args).spawn();
    let child = child.map_err(|error| format!("{}: {error}", Path::new(&program).display()))?;
    Ok(wait(&child))
}

/// Applies everything, and notes it in the report. An error is for a sandbox that would not be one.
fn restrict(
    rules: &Rules,
    is_init: bool,
    report: &mut Report,
) -> Result<(bool, Option<File>), String> {
    if is_init {
        report.note(Measure::Ipc, namespaces::ipc());
    } else {
        report.note(Measure::Ipc, Err("needs a user namespace".into()));
    }
    let mut sockets = Sockets::default();
    let mut lock = None;
    let mut view = View { is_private: false, has_terminals: false };
    match namespaces::mounts().and_then(|()| mounts::separate()) {
        Ok(()) => {
            // A failure from here on may be the server's doing: fewer mounts must not be what it gains.
            let built = mounts::build(rules, is_init).map_err(|problem| {
                let state = rules.state.display();
                format!("{problem} (if the server changed its private home, remove `{state}`)")
            })?;
            view = View { is_private: true, has_terminals: built.has_terminals };
            lock = built.lock;
            report.note(Measure::Mounts, Ok(()));
            for problem in built.partly {
                report.note(Measure::Mounts, Err(problem));
            }
            report.remarks.extend(built.remarks);
        }
        Err(problem) => {
            check_without_mounts(rules, &problem)?;
            // Landlock does not judge connections to sockets: without mounts all of them could be reached.
            sockets.refuse_unix = true;
            let exposed = rules
                .protect
                .first()
                .map(|path| format!("; `{}` and the like can be changed", path.display()));
            report.note(Measure::Mounts, Err(problem + &exposed.unwrap_or_default()));
        }
    }
    if let Network::Hosts(hosts) = &rules.network {
        let separate = namespaces::network();
        sockets.refuse_internet = separate.is_err();
        // Refusing internet sockets leaves less than a namespace would, so it counts as applied.
        report.note(Measure::Network, Ok(()));
        if !hosts.is_empty() {
            report
                .remarks
                .push("the hosts of the profile cannot be reached yet: there is no proxy".into());
        }
    }
    report.note(Measure::Limits, limits::apply(&rules.limits));
    let bounded = if is_init {
        limits::bound_processes(&rules.limits)
    } else {
        Err("processes of root are limited only in a process namespace".into())
    };
    // The limit on processes of a user does not apply to root.
    if nix::unistd::geteuid().is_root() && bounded.is_err() {
        report.note(Measure::Limits, bounded);
    }
    enter(rules);
    privileges::drop_all()?;
    report.note(Measure::Privileges, Ok(()));
    let partly = files::restrict(rules, view)?;
    report.note(Measure::Files, Ok(()));
    report.note(Measure::Scopes, partly.map_or(Ok(()), Err));
    // The server must not read this process's memory and arguments, nor its open files.
    prctl::set_dumpable(false).map_err(|error| error.desc().to_owned())?;
    calls::restrict(sockets)?;
    report.note(Measure::SystemCalls, Ok(()));
    Ok((view.is_private, lock))
}

/// Refuses rules that Landlock alone cannot express, if they concern secrets.
fn check_without_mounts(rules: &Rules, problem: &str) -> Result<(), String> {
    let granted = |path: &&std::path::PathBuf| {
        let is_inside = |folder: &std::path::PathBuf| path.starts_with(folder);
        // Those of the system are readable by root alone.
        !path.starts_with("/etc") && rules.read.iter().chain(&rules.write).any(is_inside)
    };
    match rules.hide.iter().find(granted) {
        Some(path) => {
            let shown = path.display();
            Err(format!(
                "`{shown}` must be hidden, and this system refuses private mounts ({problem})"
            ))
        }
        None => Ok(()),
    }
}

/// The server's program, with its environment and working directory.
fn command(program: &OsStr, rules: &Rules, is_private: bool) -> Command {
    let mut command = Command::new(program);
    let proxies = if rules.network == Network::Open { &[] } else { PROXY_VARIABLES };
    for name in SESSION_VARIABLES.iter().chain(proxies) {
        command.env_remove(name);
    }
    if !is_private {
        let home = rules.state.join("home");
        command.env("HOME", &home).env("TMPDIR", home);
    } else if env::var_os("TMPDIR").is_some_and(|folder| !Path::new(&folder).is_dir()) {
        command.env_remove("TMPDIR");
    }
    command
}

/// Enters the working directory again: the one inherited may be covered now.
fn enter(rules: &Rules) {
    let home = &rules.home;
    let _ = env::set_current_dir(rules.cwd.as_ref().unwrap_or(home))
        .or_else(|_| env::set_current_dir(home))
        .or_else(|_| env::set_current_dir("/"));
}

/// Waits for the server, and collects the orphans that the kernel hands to this process meanwhile.
fn wait(child: &Child) -> u8 {
    let server = i32::try_from(child.id()).unwrap_or(i32::MAX);
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == server => {
                return u8::try_from(code).unwrap_or(u8::MAX);
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == server => {
                return code_of_signal(signal as i32);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return u8::MAX,
        }
    }
}

/// The exit code that shells use for a signal.
pub(super) fn code_of_signal(signal: i32) -> u8 {
    u8::try_from(signal + 128).unwrap_or(u8::MAX)
}
