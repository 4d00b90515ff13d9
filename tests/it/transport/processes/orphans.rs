//! Processes started by a wrapper end with it.

use mcp_transport::{
    Connect as _, Stdio,
    diagnostics::{CloseReason, Exit},
};
use tokio::sync::oneshot;

use super::{AMPLE, is_alive, run, script, until_gone};
use crate::transport::host::Host;

/// A wrapper like those of package runners: a shell that waits for a server. Both ignore `SIGTERM` and closed stdin.
const WRAPPER: &str = "
    trap '' TERM
    sleep 1000 &
    say $$ $!
    while :; do wait; done
";

#[tokio::test]
async fn close_ends_the_children_of_a_wrapper() {
    let mut host = run(script(WRAPPER)).await;
    let pids = host.pids().await;
    assert_eq!(pids.len(), 2);
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Signal(9)));
    until_gone(&pids).await;
}

#[tokio::test]
async fn wrapper_that_exits_does_not_hide_its_server() {
    let wrapper = "(trap '' TERM; exec sleep 1000) & say $$ $!; read -r line; exit 0";
    let mut host = run(script(wrapper)).await;
    let pids = host.pids().await;
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Code(0)));
    until_gone(&pids).await;
}

#[tokio::test]
async fn server_behind_a_wrapper_works_and_exits_cleanly() {
    // A background process of a shell has no stdin unless a descriptor is kept for it.
    let server = env!("CARGO_BIN_EXE_parity-server");
    let wrapper = format!("exec 3<&0; '{server}' <&3 3<&- & exec 3<&- </dev/null; wait $!");
    let mut options = script(&wrapper);
    options.shutdown.after_eof = AMPLE;
    let mut host = run(options).await;
    host.ask(1, "parity/echo", &serde_json::json!({}));
    assert_eq!(host.next().await, "1");
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn dropped_link_ends_the_children_of_a_wrapper() {
    let mut host = run(script(WRAPPER)).await;
    let pids = host.pids().await;
    drop(host);
    until_gone(&pids).await;
}

#[tokio::test]
async fn panic_of_the_task_with_the_link_ends_all_processes() {
    let (tell, told) = oneshot::channel();
    let task = tokio::spawn(async {
        let mut host = run(script(WRAPPER)).await;
        tell.send(host.pids().await).unwrap();
        panic!("on purpose");
    });
    let pids = told.await.unwrap();
    assert!(task.await.unwrap_err().is_panic());
    until_gone(&pids).await;
}

#[tokio::test]
async fn dropped_connection_attempt_leaves_no_process() {
    let stdio = Stdio::new(script(WRAPPER));
    let mut attempt = stdio.connect();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let pids = match attempt.as_mut().poll(&mut cx) {
        std::task::Poll::Ready(link) => Host::over(link.unwrap()).pids().await,
        std::task::Poll::Pending => Vec::new(),
    };
    drop(attempt);
    until_gone(&pids).await;
}

#[test]
fn end_of_the_runtime_ends_all_processes() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (host, pids) = runtime.block_on(async {
        let mut host = run(script(WRAPPER)).await;
        let pids = host.pids().await;
        (host, pids)
    });
    drop(runtime);
    drop(host);
    let check = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    check.block_on(until_gone(&pids));
}

#[tokio::test]
async fn exit_of_a_wrapper_is_reported_while_its_server_holds_the_pipes() {
    let mut host = run(script("sleep 1000 & say $!; echo oops >&2; exit 7")).await;
    let pids = host.pids().await;
    let (_, report) = host.end().await;
    assert_eq!(report.reason, CloseReason::Ended);
    assert_eq!(report.diagnostics.exit, Some(Exit::Code(7)));
    assert_eq!(report.diagnostics.stderr, ["oops"]);
    until_gone(&pids).await;
}

#[tokio::test]
async fn server_of_a_killed_wrapper_is_ended() {
    let mut host = run(script("(trap '' TERM; exec sleep 1000) & say $!; kill -9 $$")).await;
    let pids = host.pids().await;
    let (_, report) = host.end().await;
    assert_eq!(report.diagnostics.exit, Some(Exit::Signal(9)));
    until_gone(&pids).await;
}

#[tokio::test]
async fn children_of_an_exited_wrapper_get_sigterm_first() {
    let directory = tempfile::tempdir().unwrap();
    // The wrapper exits once the server has installed its signal handler.
    let mut options = script(
        "sh -c 'trap \"echo asked >asked; exit\" TERM; echo >ready; while :; do sleep 0.01; done' &
         until [ -e ready ]; do sleep 0.01; done; say $!; exit 7",
    );
    options.cwd = Some(directory.path().into());
    options.shutdown.after_term = AMPLE;
    let mut host = run(options).await;
    let pids = host.pids().await;
    host.end().await;
    until_gone(&pids).await;
    assert_eq!(std::fs::read_to_string(directory.path().join("asked")).unwrap(), "asked\n");
}

#[tokio::test]
async fn server_may_end_later_than_its_wrapper() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = script(
        "exec 3<&0; sh -c 'cat; sleep 0.2; echo saved >work' <&3 >/dev/null & cat >/dev/null; exit 0",
    );
    options.cwd = Some(directory.path().into());
    options.shutdown.after_eof = AMPLE;
    let mut host = run(options).await;
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Code(0)));
    assert_eq!(std::fs::read_to_string(directory.path().join("work")).unwrap(), "saved\n");
}

/// A host that exits right after dropping a link does not run any more of our code.
#[tokio::test]
async fn dropped_link_ends_processes_without_the_runtime() {
    let mut host = run(script(WRAPPER)).await;
    let pids = host.pids().await;
    drop(host);
    let start = std::time::Instant::now();
    // Block the only thread, so that the runtime cannot help.
    while pids.iter().any(|pid| is_alive(*pid)) {
        assert!(start.elapsed() < AMPLE, "{pids:?} wait for the runtime");
        std::thread::yield_now();
    }
}

#[test]
fn end_of_the_runtime_kills_processes_during_shutdown() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pids = runtime.block_on(async {
        let mut options = script("(trap '' TERM; exec sleep 1000) & say $!; exit 7");
        options.shutdown.after_term = AMPLE;
        let mut host = run(options).await;
        let pids = host.pids().await;
        host.end().await;
        pids
    });
    drop(runtime);
    let check = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    check.block_on(until_gone(&pids));
}
