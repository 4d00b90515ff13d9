//! The launcher: restricts itself, then starts the server.
//!
//! A host calls [`run`] first in its `main`. It returns at once, unless the process was started by the command of a
//! [`Launch`](crate::Launch).
//!
//! On Linux two processes stay beside the server. The outer one is the child that the host knows. It creates a user and
//! a process namespace, starts the inner one there, passes signals on and exits with the server's status. The inner
//! one is the first process of the namespace: it creates the other namespaces, mounts, restricts itself with Landlock
//! and seccomp, writes the report, starts the server and collects orphans. When it ends, the kernel ends all
//! processes of the namespace.

use std::{
    env,
    io::{self, Write as _},
    process::ExitCode,
};

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod inner;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod outer;
#[cfg(target_os = "linux")]
mod paths;
#[cfg(target_os = "linux")]
mod privileges;

/// The exit code of a launcher that refused to start the server.
const REFUSED: u8 = 125;

/// Acts as the launcher if this process was started as one, and returns its exit code. Call it first in `main`, while
/// the process has one thread.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(code) = mcp_sandbox::launcher::run() {
///         return code;
///     }
///     // The host begins here.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn run() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    let marker = args.next()?;
    #[cfg(target_os = "linux")]
    {
        if marker == crate::launch::MARKER {
            return Some(refuse_or_exit(outer::run(args)));
        }
        if marker == inner::MARKER {
            return Some(refuse_or_exit(inner::run(args)));
        }
        None
    }
    #[cfg(not(target_os = "linux"))]
    {
        (marker == crate::launch::MARKER).then(|| {
            say("servers cannot be sandboxed by this launcher on this system");
            ExitCode::from(REFUSED)
        })
    }
}

#[cfg(target_os = "linux")]
fn refuse_or_exit(outcome: Result<u8, String>) -> ExitCode {
    outcome
        .unwrap_or_else(|problem| {
            // The host shows the last lines of standard error.
            say(&problem);
            REFUSED
        })
        .into()
}

/// Tells the host why there is no server.
fn say(problem: &str) {
    let _ = writeln!(io::stderr(), "mcp-sandbox: server not started: {problem}");
}
