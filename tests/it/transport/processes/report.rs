//! Contents of the close report.

use mcp_transport::{
    Inbound, Stdio, StdioOptions,
    diagnostics::{CloseReason, Exit},
    record::{Cassette, Recorder},
};
use serde_json::json;

use super::{run, script};
use crate::transport::host::Host;

#[tokio::test]
async fn server_that_exits_at_once_is_explained() {
    let (_, report) =
        run(script("echo 'no API_KEY in the environment' >&2; exit 78")).await.end().await;
    assert_eq!(report.reason, CloseReason::Ended);
    assert_eq!(
        report.to_string(),
        "the server ended the connection (exit status 78); \
         last stderr line: no API_KEY in the environment"
    );
}

#[tokio::test]
async fn signal_is_named_in_the_report() {
    let (_, report) = run(script("kill -s SEGV $$")).await.end().await;
    assert_eq!(report.diagnostics.exit, Some(Exit::Signal(11)));
}

#[tokio::test]
async fn invalid_lines_are_counted_and_the_first_is_shown() {
    let banner = "echo; echo '  MCP server v1.2 ready'; say hello; echo '{broken'; say again";
    let mut host = run(script(banner)).await;
    assert_eq!(host.said().await, "hello");
    assert_eq!(host.said().await, "again");
    let (_, report) = host.end().await;
    let diagnostics = report.diagnostics;
    assert_eq!(diagnostics.skipped_lines, 2);
    assert_eq!(diagnostics.skipped_bytes, "  MCP server v1.2 ready{broken".len() as u64);
    assert_eq!(diagnostics.first_skipped.as_deref(), Some("  MCP server v1.2 ready"));
    assert_eq!(diagnostics.too_large, 0);
}

#[tokio::test]
async fn last_line_without_a_newline_is_received() {
    let last = r#"printf '{"jsonrpc":"2.0","method":"last/words"}'"#;
    let (words, _) = run(script(last)).await.end().await;
    assert_eq!(words, ["last/words"]);
}

#[tokio::test]
async fn oversized_lines_are_counted_and_skipped() {
    let mut options = script("head -c 100000 /dev/zero | tr '\\0' x; echo; say hello");
    options.max_message = 1000;
    let mut host = run(options).await;
    assert_eq!(host.said().await, "hello");
    let (_, report) = host.end().await;
    assert_eq!(report.diagnostics.too_large, 1);
    assert_eq!(report.diagnostics.skipped_lines, 0);
}

#[tokio::test]
async fn recorded_frames_have_no_content() {
    let mut host = run(StdioOptions::new(env!("CARGO_BIN_EXE_parity-server"))).await;
    host.ask(1, "parity/echo", &json!({ "password": "hunter2" }));
    host.next().await;
    host.ask(2, "no/such", &json!({}));
    host.next().await;
    let report = host.close().await;
    let frames: Vec<String> = report.diagnostics.frames.iter().map(ToString::to_string).collect();
    assert_eq!(frames, ["→ parity/echo #1", "← result #1", "→ no/such #2", "← error #2"]);
    assert!(!format!("{report:?}").contains("hunter2"));
}

#[tokio::test]
async fn names_in_frames_are_truncated() {
    let mut host = run(StdioOptions::new("cat")).await;
    let long = "é".repeat(100_000);
    host.ask_as(&long, &long);
    host.next().await;
    let report = host.close().await;
    // Both our method, built at run time, and the server's are truncated.
    assert!(format!("{report:?}").len() < 4_000, "{} bytes", format!("{report:?}").len());
    assert!(report.diagnostics.frames.iter().all(|frame| frame.to_string().contains('…')));
}

#[test]
fn debug_output_of_options_hides_values() {
    let mut options = StdioOptions::new("npx");
    options.args = vec!["--token".into(), "hunter2".into()];
    options.env.insert("API_KEY".into(), "hunter3".into());
    let shown = format!("{options:?} {:?}", mcp_transport::Stdio::new(options.clone()));
    assert!(shown.contains("npx") && shown.contains("API_KEY"), "{shown}");
    assert!(!shown.contains("hunter") && !shown.contains("--token"), "{shown}");
}

#[tokio::test]
async fn diagnostics_are_available_while_the_link_is_open() {
    let mut host = run(script("echo starting >&2; echo banner; say ready; read -r line")).await;
    assert_eq!(host.said().await, "ready");
    let diagnostics = host.outlet.diagnostics();
    assert_eq!(diagnostics.skipped_lines, 1);
    assert_eq!(diagnostics.exit, None);
    host.close().await;
    assert_eq!(host.outlet.diagnostics().stderr, ["starting"]);
}

#[tokio::test]
async fn malformed_response_reaches_its_caller_and_the_report() {
    let malformed = r#"printf '{"jsonrpc":"2.0","id":7,"result":[}\n'; say hello; read -r line"#;
    let recorder = Recorder::new(Stdio::new(script(malformed)));
    let mut host = Host::open(&recorder).await;
    match host.next_or_end().await {
        Ok(Inbound::Reply(reply)) => assert_eq!(*reply.id(), 7.into()),
        other => panic!("{other:?}"),
    }
    assert_eq!(host.said().await, "hello");
    let cassette = recorder.cassette();
    assert!(cassette.to_string().contains("its answer was malformed"), "{cassette}");
    assert_eq!(cassette.to_string().parse::<Cassette>(), Ok(cassette));
}
