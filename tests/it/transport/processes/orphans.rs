//! What wrappers start must end with them.

use mcp_transport::{CloseReason, Connect as _, Exit, Stdio};
use tokio::sync::oneshot;

use super::{run, script, until_gone};
use crate::transport::host::Host;

/// A wrapper as package runners are one: a shell that waits for a server, here a stubborn one. Both
/// ignore the polite signal and the end of their input.
const WRAPPER: &str = "
    trap '' TERM
    sleep 1000 &
    say $$ $!
    while :; do wait; done
";

#[tokio::test]
async fn a_close_ends_what_the_wrapper_started() {
    let mut host = run(script(WRAPPER)).await;
    let pids = host.pids().await;
    assert_eq!(pids.len(), 2);
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Signal(9)));
    until_gone(&pids).await;
}

#[tokio::test]
async fn a_polite_wrapper_does_not_hide_a_stubborn_server() {
    let wrapper = "(trap '' TERM; exec sleep 1000) & say $$ $!; read -r line; exit 0";
    let mut host = run(script(wrapper)).await;
    let pids = host.pids().await;
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Code(0)));
    until_gone(&pids).await;
}

#[tokio::test]
async fn a_server_behind_a_wrapper_works_and_ends_in_good_order() {
    // What runs in the background of a shell has no input of its own, unless it is kept for it.
    let server = env!("CARGO_BIN_EXE_parity-server");
    let wrapper = format!("exec 3<&0; '{server}' <&3 3<&- & exec 3<&- </dev/null; wait $!");
    let mut options = script(&wrapper);
    options.shutdown.after_eof = std::time::Duration::from_secs(60);
    let mut host = run(options).await;
    host.ask(1, "parity/echo", &serde_json::json!({}));
    assert_eq!(host.next().await, "1");
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn a_dropped_link_ends_what_the_wrapper_started() {
    let mut host = run(script(WRAPPER)).await;
    let pids = host.pids().await;
    drop(host);
    until_gone(&pids).await;
}

#[tokio::test]
async fn a_panic_of_the_task_that_holds_the_link_ends_everything() {
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
async fn an_attempt_dropped_halfway_leaves_nothing() {
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
fn the_end_of_the_runtime_ends_everything() {
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
async fn a_wrapper_that_dies_is_reported_although_its_server_holds_the_pipes() {
    let mut host = run(script("sleep 1000 & say $!; echo oops >&2; exit 7")).await;
    let pids = host.pids().await;
    let (_, report) = host.end().await;
    assert_eq!(report.reason, CloseReason::Ended);
    assert_eq!(report.diagnostics.exit, Some(Exit::Code(7)));
    assert_eq!(report.diagnostics.stderr, ["oops"]);
    until_gone(&pids).await;
}

#[tokio::test]
async fn a_killed_wrapper_takes_its_server_along() {
    let mut host = run(script("(trap '' TERM; exec sleep 1000) & say $!; kill -9 $$")).await;
    let pids = host.pids().await;
    let (_, report) = host.end().await;
    assert_eq!(report.diagnostics.exit, Some(Exit::Signal(9)));
    until_gone(&pids).await;
}
