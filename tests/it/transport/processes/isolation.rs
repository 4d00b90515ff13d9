//! Isolation of a server from its host: terminal, open files, environment.

use std::{
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::{Command, Output},
};

use super::{run, script, stat, until_gone};

const HOST: &str = env!("CARGO_BIN_EXE_hardened-host");

/// The output of a hardened host that `command` starts with a server script. It ends with the method of the
/// server's message.
fn printed(mut command: Command) -> String {
    let Output { stdout, stderr, .. } = command.output().unwrap();
    let printed = String::from_utf8_lossy(&stdout).into_owned();
    assert!(printed.contains("terminal "), "{printed} {}", String::from_utf8_lossy(&stderr));
    printed
}

/// A script that sends the value of `expression` as the method of a notification.
fn answer(expression: &str) -> String {
    format!(r#"printf '{{"jsonrpc":"2.0","method":"%s"}}\n' "{expression}"; cat >/dev/null"#)
}

#[tokio::test]
async fn server_leads_its_own_session() {
    let mut host = run(script("say $$; cat >/dev/null")).await;
    let [server] = host.pids().await[..] else { panic!("one server") };
    let fields = stat(server).unwrap();
    let (group, session, terminal) = (&fields[2], &fields[3], &fields[4]);
    assert_eq!((group, session), (&server.to_string(), &server.to_string()));
    assert_eq!(terminal, "0");
}

#[test]
fn server_cannot_open_the_terminal_of_its_host() {
    if !Path::new("/usr/bin/script").exists() {
        mcp_skip::skip(
            "`script` is not installed, so a terminal cannot be created",
            "install `bsdutils`",
        );
        return;
    }
    let tries = answer("$( (: >/dev/tty) 2>/dev/null && echo opened || echo failed)");
    let mut command = Command::new("/usr/bin/script");
    // Quoted for the shell that `script` starts.
    let quoted = tries.replace('\'', r"'\''");
    command.args(["-qec", &format!("{HOST} '{quoted}'"), "/dev/null"]);
    let printed = printed(command);
    assert!(printed.contains("terminal true"), "{printed}");
    assert!(printed.contains("\"failed\"") && !printed.contains("\"opened\""), "{printed}");
}

#[test]
fn server_does_not_inherit_open_files() {
    let lists = answer("$(echo /proc/$$/fd/*)");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"exec 7</etc/passwd; exec "$0" "$1""#, HOST, &lists]);
    let printed = printed(command);
    assert!(printed.contains("/fd/2") && !printed.contains("/fd/7"), "{printed}");
}

#[test]
fn server_cannot_read_the_environment_of_its_host() {
    let reads = answer("$(grep -c CANARY /proc/$PPID/environ 2>/dev/null || echo unreadable)");
    let mut command = Command::new(HOST);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        // Root can read everything, so the host runs as another user.
        if !Path::new("/usr/bin/setpriv").exists() {
            let reason = "running as root without `setpriv` to become another user";
            mcp_skip::skip(reason, "install `util-linux`");
            return;
        }
        command = Command::new("/usr/bin/setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", HOST]);
    }
    let printed = printed({
        command.arg(&reads).env("MCP_CANARY", "CANARY");
        command
    });
    assert!(printed.contains("dumpable false"), "{printed}");
    assert!(printed.contains("\"unreadable\""), "{printed}");
}

#[tokio::test]
async fn descendants_that_left_the_session_end_with_the_link() {
    let folder = tempfile::tempdir().unwrap();
    // One process whose parent is alive, and one whose parents have exited.
    let mut options = script(
        "setsid sleep 1000 </dev/null >/dev/null 2>&1 & first=$!
        (setsid sh -c 'trap \"\" TERM; sleep 1000 & echo $$ $! >pids.new; mv pids.new pids; wait' \
            </dev/null >/dev/null 2>&1 &)
        while ! [ -f pids ]; do sleep 0.01; done
        say $first $(cat pids); cat >/dev/null",
    );
    options.cwd = Some(folder.path().into());
    let mut host = run(options).await;
    let daemons = host.pids().await;
    assert_eq!(daemons.len(), 3);
    host.close().await;
    until_gone(&daemons).await;
}

/// The end of the runtime has the same effect, as at the end of a short command.
#[test]
fn descendants_that_left_the_session_end_with_the_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (host, daemons) = runtime.block_on(async {
        let daemon = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & say $!; cat >/dev/null";
        let mut host = run(script(daemon)).await;
        let daemons = host.pids().await;
        (host, daemons)
    });
    drop(runtime);
    drop(host);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(until_gone(&daemons));
}
