//! Starts each program in a new session, without the host's controlling terminal.
//!
//! A program that keeps the terminal can write to it, read from it, and on some kernels inject input. Calling
//! `setsid` between fork and exec takes `unsafe`, so a launcher of the system does it and then executes the program:
//! `setsid(1)`, or `perl` where it is missing, as on macOS. The process id stays the same. Without either, the
//! program leads a process group, which only shields it from the terminal's Ctrl-C.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    sync::OnceLock,
};

use mcp_safe::fs::is_program;
use tokio::process::Command;

/// A program that calls `setsid`, and its arguments before the program to start.
type Launcher = (&'static str, &'static [&'static str]);

/// Absolute paths, since PATH may be that of a server.
const LAUNCHERS: &[Launcher] = &[
    ("/usr/bin/setsid", &[]),
    ("/bin/setsid", &[]),
    ("/usr/bin/perl", &["-e", "use POSIX; POSIX::setsid(); exec {$ARGV[0]} @ARGV; exit 127"]),
];
/// The maximum length of the first line of a script.
const LONGEST_FIRST_LINE: u64 = 4096;

/// Returns a command that starts `program`, given by its absolute path, in a new session if possible.
pub(super) fn command(program: &Path) -> Command {
    if let Some((launcher, arguments)) = launcher().filter(|_| can_start(program)) {
        let mut command = Command::new(launcher);
        command.args(*arguments).arg(program);
        return command;
    }
    let mut command = Command::new(program);
    lead_group(&mut command);
    command
}

fn launcher() -> Option<&'static Launcher> {
    static FOUND: OnceLock<Option<&'static Launcher>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let found = LAUNCHERS.iter().find(|(path, _)| cfg!(unix) && Path::new(path).is_file());
        if found.is_none() && cfg!(unix) {
            tracing::warn!(
                "neither setsid nor perl is in /usr/bin: servers keep the controlling terminal"
            );
        }
        found
    })
}

/// Whether the system can start this file. If not, it is started without a launcher, to get the system's error.
fn can_start(program: &Path) -> bool {
    is_program(program)
        && interpreter(program).is_none_or(|interpreter| Path::new(&interpreter).is_file())
}

/// Returns the interpreter in the first line of a script.
fn interpreter(script: &Path) -> Option<String> {
    let file = std::fs::File::open(script).ok()?;
    let mut line = Vec::new();
    BufReader::new(file).take(LONGEST_FIRST_LINE).read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8(line).ok()?;
    line.strip_prefix("#!")?.split_whitespace().next().map(str::to_owned)
}

/// Makes the process the leader of a new group. The terminal's Ctrl-C then goes to the host alone, which decides how
/// its servers end.
fn lead_group(command: &mut Command) {
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(windows)]
    {
        /// `CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW`
        const FLAGS: u32 = 0x0000_0200 | 0x0800_0000;
        command.creation_flags(FLAGS);
    }
    #[cfg(not(any(unix, windows)))]
    let _ = command;
}
