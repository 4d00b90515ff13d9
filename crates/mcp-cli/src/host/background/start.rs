//! Finds or starts a background host.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufRead as _, BufReader},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::{place::HostPlace, wire};

/// How long a host may take to start listening.
const START: Duration = Duration::from_secs(20);
/// The log size in bytes above which the log is rotated when a host starts.
const LONGEST_LOG: u64 = 1 << 20;

/// Returns the status of the host at this place. `None` if none is running.
pub(crate) async fn find(place: &HostPlace) -> Option<Value> {
    wire::ask(&place.socket(), &json!({"status": true})).await.ok()
}

/// Starts a host in a new session, and waits until it or another host is listening.
///
/// # Errors
/// Fails if the host cannot be started, exits, or does not listen in time.
pub(crate) async fn start(place: &HostPlace, arguments: &[String]) -> io::Result<()> {
    place.prepare()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["up", "--foreground", "--detach"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log(&place.log())?);
    let mut child = command.spawn()?;
    let output = child.stdout.take();
    // The child prints a line once it listens; end of file means that it exited.
    let said = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        output.map(|output| BufReader::new(output).read_line(&mut line));
        line
    });
    let said = tokio::time::timeout(START, said).await;
    match said {
        Ok(Ok(line)) if line.starts_with(LISTENING) => Ok(()),
        Ok(_) => Err(io::Error::other(format!("it exited; see {}", place.log().display()))),
        Err(_) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, "it did not start listening in time"))
        }
    }
}

/// Printed by a host once it, or another host, is listening.
pub(crate) const LISTENING: &str = "listening";

fn log(path: &Path) -> io::Result<fs::File> {
    if fs::metadata(path).is_ok_and(|about| about.len() > LONGEST_LOG) {
        let _ = fs::rename(path, path.with_extension("log.1"));
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}
