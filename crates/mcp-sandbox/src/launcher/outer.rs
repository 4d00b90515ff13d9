//! The outer process: a namespace for processes, signals and the exit status.

use std::{
    env,
    ffi::OsString,
    fs,
    process::{Child, Command},
};

use nix::{
    errno::Errno,
    sys::{
        signal::{SigSet, Signal},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, close, getpid, getsid, setsid},
};

use super::{inner, namespaces};
use crate::{
    launch::Plan,
    report::{Measure, Report},
};

/// Arguments: the plan, the program, its arguments. Returns the exit code.
pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let text = args.next().ok_or("the plan is missing")?;
    let text = text.to_str().ok_or("the plan is not UTF-8")?;
    // Only to refuse a wrong plan early: the inner process reads it again.
    Plan::from_text(text).map_err(|error| format!("invalid plan: {error}"))?;
    close_inherited();

    let mut report = Report::default();
    let is_leader = getsid(None) == Ok(getpid());
    let session = if is_leader { Ok(()) } else { setsid().map(drop) };
    report.note(Measure::Session, session.map_err(|error| format!("setsid: {}", error.desc())));
    // Blocked rather than handled: this process outlives the server, to report its status. The standard library
    // unblocks them in the child.
    let mut signals = SigSet::empty();
    for signal in
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGCHLD]
    {
        signals.add(signal);
    }
    signals.thread_block().map_err(|error| error.desc().to_owned())?;
    let namespaces = namespaces::user_and_processes();
    let has_processes = namespaces.is_ok();
    report.note(Measure::Processes, namespaces);

    let this = env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let mut command = Command::new("/proc/self/exe");
    std::os::unix::process::CommandExt::arg0(&mut command, this);
    command.arg(inner::MARKER).arg(text).arg(report.to_json().to_string());
    command.arg(if has_processes { "init" } else { "plain" }).args(args);
    let child =
        command.spawn().map_err(|error| format!("could not start the launcher again: {error}"))?;
    Ok(supervise(&child, signals))
}

fn supervise(child: &Child, signals: SigSet) -> u8 {
    let pid = i32::try_from(child.id()).map_or(Pid::from_raw(i32::MAX), Pid::from_raw);
    loop {
        match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => return u8::try_from(code).unwrap_or(u8::MAX),
            Ok(WaitStatus::Signaled(_, signal, _)) => return inner::code_of_signal(signal as i32),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return u8::MAX,
        }
        // The server is in this process's group, so that signals of the host reach it directly.
        let _ = signals.wait();
    }
}

/// Closes everything above standard error that the host did not mark for closing.
fn close_inherited() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The descriptor of the listing is closed already.
        let _ = close(number);
    }
}
