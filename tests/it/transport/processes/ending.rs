//! Shutdown of a server process: close stdin, then `SIGTERM`, then `SIGKILL`.

use mcp_jsonrpc::{Message, Notification};
use mcp_transport::{
    StdioOptions,
    diagnostics::{CloseReason, Exit},
};

use super::{AMPLE, is_alive, run, script, stat, until_gone};

#[tokio::test]
async fn server_exits_when_stdin_closes() {
    let mut options = StdioOptions::new("cat");
    options.shutdown.after_eof = AMPLE;
    let report = run(options).await.close().await;
    assert_eq!(report.reason, CloseReason::Requested);
    assert_eq!(report.diagnostics.exit, Some(Exit::Code(0)));
    assert_eq!(report.to_string(), "the connection was closed on request (exit status 0)");
}

#[tokio::test]
async fn server_may_finish_work_after_stdin_closes() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = script("while read -r line; do :; done; echo saved >work; say bye; exit 5");
    options.cwd = Some(directory.path().into());
    options.shutdown.after_eof = AMPLE;
    let mut host = run(options).await;
    host.outlet.close();
    assert_eq!(host.said().await, "bye");
    let (_, report) = host.end().await;
    assert_eq!(report.diagnostics.exit, Some(Exit::Code(5)));
    let work = std::fs::read_to_string(directory.path().join("work")).unwrap();
    assert_eq!(work, "saved\n");
}

#[tokio::test]
async fn server_that_ignores_closed_stdin_gets_sigterm() {
    let mut options = script("trap 'exit 42' TERM; say ready; while :; do sleep 1000; done");
    options.shutdown.after_term = AMPLE;
    let mut host = run(options).await;
    assert_eq!(host.said().await, "ready");
    let report = host.close().await;
    assert_eq!(report.diagnostics.exit, Some(Exit::Code(42)));
}

#[tokio::test]
async fn uncaught_sigterm_ends_the_server() {
    let mut options = script("say ready; exec sleep 1000");
    options.shutdown.after_term = AMPLE;
    let mut host = run(options).await;
    assert_eq!(host.said().await, "ready");
    assert_eq!(host.close().await.diagnostics.exit, Some(Exit::Signal(15)));
}

#[tokio::test]
async fn server_that_ignores_sigterm_is_killed() {
    let mut host = run(script("trap '' TERM; say $$; exec sleep 1000")).await;
    let pids = host.pids().await;
    let report = host.close().await;
    assert_eq!(report.diagnostics.exit, Some(Exit::Signal(9)));
    assert_eq!(report.to_string(), "the connection was closed on request (killed by signal 9)");
    until_gone(&pids).await;
}

#[tokio::test]
async fn server_that_does_not_read_can_be_closed() {
    let mut host = run(script("say $$; exec sleep 1000")).await;
    let pids = host.pids().await;
    let filler = serde_json::json!({ "filler": "x".repeat(1 << 20) });
    let ticket = host.tell("large", &filler);
    let report = host.close().await;
    assert_eq!(report.reason, CloseReason::Requested);
    assert!(report.flushed < ticket, "messages in our buffer were not sent");
    until_gone(&pids).await;
}

#[tokio::test]
async fn server_that_closed_stdin_is_given_up() {
    let mut host = run(script("exec </dev/null; say $$; exec sleep 1000")).await;
    let pids = host.pids().await;
    // The first write may still succeed: a process that another test is starting holds the pipe for a moment.
    let outlet = host.outlet.clone();
    let knocking = tokio::spawn(async move {
        let knock = || outlet.send(Message::Notification(Notification::new("knock", None)));
        let mut last = 0;
        while let Ok(ticket) = knock() {
            last = ticket;
            tokio::task::yield_now().await;
        }
        last
    });
    let (_, report) = host.end().await;
    let last = knocking.await.unwrap();
    assert!(matches!(report.reason, CloseReason::Failed { .. }), "{report}");
    assert!(report.flushed < last);
    until_gone(&pids).await;
}

#[tokio::test]
async fn server_leads_its_own_process_group() {
    let mut host = run(script("say $$; read -r line")).await;
    let pids = host.pids().await;
    let fields = stat(pids[0]).unwrap();
    assert_eq!(fields[2], pids[0].to_string());
    host.close().await;
}

#[tokio::test]
async fn dropped_link_kills_a_server_that_ignores_sigterm() {
    let mut host = run(script("trap '' TERM; say $$; while :; do sleep 1000; done")).await;
    let pids = host.pids().await;
    assert!(is_alive(pids[0]));
    drop(host);
    until_gone(&pids).await;
}
