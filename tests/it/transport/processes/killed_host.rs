//! A killed host runs no destructors, and its servers still end.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use super::{SAY, stat, until_gone};

/// A server and its child that both ignore closed stdin and `SIGTERM`.
const STUBBORN: &str = "trap '' TERM; sleep 1000 & say $$ $!; while :; do wait; done";
/// A server and its child that both exit when stdin closes.
const POLITE: &str = "exec 3<&0; cat <&3 >/dev/null & say $$ $!; wait";

struct Doomed {
    host: Child,
    descendants: Vec<i32>,
}

impl Doomed {
    fn start(arguments: [&str; 4], script: &str) -> Self {
        let mut host = Command::new(env!("CARGO_BIN_EXE_doomed-host"))
            .args(arguments)
            .arg(format!("{SAY}\n{script}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(host.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let descendants = descendants(i32::try_from(host.id()).unwrap());
        Self { host, descendants }
    }

    async fn dies_and_leaves_nobody(mut self) {
        self.host.kill().unwrap();
        self.host.wait().unwrap();
        until_gone(&self.descendants).await;
    }
}

/// All descendants of `ancestor` whose parents are still running.
fn descendants(ancestor: i32) -> Vec<i32> {
    let pids: Vec<i32> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .collect();
    let parents: Vec<(i32, i32)> =
        pids.iter().filter_map(|pid| Some((*pid, stat(*pid)?[1].parse().ok()?))).collect();
    let mut known = HashSet::from([ancestor]);
    while let Some((pid, _)) =
        parents.iter().find(|(pid, parent)| known.contains(parent) && !known.contains(pid))
    {
        known.insert(*pid);
    }
    known.remove(&ancestor);
    known.into_iter().collect()
}

#[tokio::test]
async fn watchdog_kills_servers_and_their_descendants() {
    let doomed = Doomed::start(["2", "0", "lifeline", "keep-watchdog"], STUBBORN);
    assert_eq!(doomed.descendants.len(), 2 * 2 + 1, "two servers of two, and the watchdog");
    doomed.dies_and_leaves_nobody().await;
}

#[tokio::test]
async fn servers_exit_on_closed_stdin_without_a_watchdog() {
    let doomed = Doomed::start(["1", "0", "no-lifeline", "keep-watchdog"], POLITE);
    assert_eq!(doomed.descendants.len(), 2);
    doomed.dies_and_leaves_nobody().await;
}

#[tokio::test]
async fn watchdog_kills_the_servers_that_are_still_open() {
    let doomed = Doomed::start(["20", "10", "lifeline", "keep-watchdog"], STUBBORN);
    assert!(doomed.descendants.len() > 10 * 2, "{:?}", doomed.descendants);
    doomed.dies_and_leaves_nobody().await;
}

#[tokio::test]
async fn killed_watchdog_is_replaced() {
    let doomed = Doomed::start(["4", "0", "lifeline", "kill-watchdog"], STUBBORN);
    assert_eq!(doomed.descendants.len(), 4 * 2 + 1, "four servers of two, and the new watchdog");
    doomed.dies_and_leaves_nobody().await;
}
