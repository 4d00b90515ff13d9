//! A host that starts servers, reports that they run, and waits to be killed.
//!
//! Arguments: how many servers, how many of them to close again, `lifeline` or `no-lifeline`,
//! `keep-watchdog` or `kill-watchdog` (half-way), and the script each server runs in `/bin/sh -c`. A
//! server is ready when it has sent a message.

use std::{future::poll_fn, io::Write as _, time::Duration};

use mcp_transport::{Connect as _, Link, Stdio, StdioOptions};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, closed, lifeline, watchdog, script] = &arguments[..] else {
        panic!("five arguments are wanted");
    };
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let (servers, closed) = (number(servers), number(closed));
    let mut options = StdioOptions::new("/bin/sh");
    options.args = vec!["-c".into(), script.into()];
    options.lifeline = lifeline == "lifeline";
    options.shutdown.after_eof = Duration::from_millis(50);
    options.shutdown.after_term = Duration::from_millis(50);
    let stdio = Stdio::new(options);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut links = Vec::new();
        for n in 0..servers {
            links.push(open(&stdio).await);
            if watchdog == "kill-watchdog" && n == servers / 2 {
                kill_watchdog();
            }
        }
        for mut link in links.drain(..closed) {
            link.outlet.close();
            while poll_fn(|cx| link.inlet.poll_recv(cx, &mut Vec::new())).await.is_ok() {}
        }
        let mut out = std::io::stdout();
        out.write_all(b"ready\n").and_then(|()| out.flush()).expect("stdout is open");
        std::future::pending::<()>().await;
        drop(links);
    });
}

async fn open(stdio: &Stdio) -> Link {
    let mut link = stdio.connect().await.expect("a server");
    let mut batch = Vec::new();
    poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.expect("a sign of life");
    link
}

/// Kills our watchdog process, as another program might.
#[cfg(target_os = "linux")]
fn kill_watchdog() {
    let children = format!("/proc/self/task/{}/children", std::process::id());
    let children = std::fs::read_to_string(children).expect("our children");
    let is_watchdog = |pid: &&str| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("mcp-lifeline"))
    };
    let pid = children.split_whitespace().find(is_watchdog).expect("a watchdog");
    let pid = nix::unistd::Pid::from_raw(pid.parse().expect("a number"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).expect("ours to kill");
    // Until the process is reaped its pipe may still appear open.
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        std::thread::yield_now();
    }
}

#[cfg(not(target_os = "linux"))]
fn kill_watchdog() {}
