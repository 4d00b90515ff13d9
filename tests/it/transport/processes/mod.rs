//! Real child processes. Scripts run in `/bin/sh`, and their state is read from `/proc`.

mod ending;
mod environment;
mod isolation;
mod killed_host;
mod orphans;
mod program;
mod report;
mod stderr;

use std::{
    fs,
    time::{Duration, Instant},
};

use mcp_jsonrpc::Message;
use mcp_transport::{Inbound, Stdio, StdioOptions};

use super::host::Host;

/// A time limit for steps that must not fail on a slow machine.
const AMPLE: Duration = Duration::from_secs(60);

/// The prelude of scripts: `say TEXT` sends a notification with this method.
const SAY: &str =
    r#"say() { printf '{"jsonrpc":"2.0","method":"said","params":{"text":"%s"}}\n' "$*"; }"#;

/// A server that runs `script` and gets little time to end.
fn script(script: &str) -> StdioOptions {
    let mut options = StdioOptions::new("/bin/sh");
    options.args = vec!["-c".into(), format!("{SAY}\n{script}").into()];
    options.shutdown.after_eof = Duration::from_millis(100);
    options.shutdown.after_term = Duration::from_millis(100);
    options
}

async fn run(options: StdioOptions) -> Host {
    Host::open(&Stdio::new(options)).await
}

impl Host {
    /// The next message of a script.
    async fn said(&mut self) -> String {
        match self.next_or_end().await {
            Ok(Inbound::Message(Message::Notification(said))) if said.method == "said" => {
                said.params.unwrap().get("text").unwrap().decode().unwrap()
            }
            other => panic!("expected a message, got {other:?}"),
        }
    }

    /// The pids in the next message of a script.
    async fn pids(&mut self) -> Vec<i32> {
        self.said().await.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }
}

/// The fields of `/proc/PID/stat` after the name: state, parent, group, …
fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// Whether a process runs. A zombie does not.
fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

/// Polls until none of these runs. There is no event for the end of another process's child.
async fn until_gone(pids: &[i32]) {
    let start = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| is_alive(**pid)) {
        assert!(start.elapsed() < Duration::from_secs(30), "{pid} of {pids:?} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
