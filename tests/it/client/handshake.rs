//! Handshakes with server processes.

use std::time::Duration;

use mcp_client::{Client, ClientOptions, HandshakeError, types::Era};
use mcp_transport::Stdio;

use super::support::{connect, scripted, soon};

#[tokio::test]
async fn era_of_each_kind_of_server_is_detected() {
    for (traits, era) in [
        (&[][..], Era::Modern),
        (&["legacy"], Era::Legacy),
        (&["banner"], Era::Modern),
        (&["banner", "legacy"], Era::Legacy),
        (&["dies-of-probe"], Era::Legacy),
    ] {
        let options = ClientOptions::default();
        let remembered = options.remembered.clone();
        let client = connect(scripted(traits), options).await;
        assert_eq!((client.era(), remembered.get()), (era, Some(era)), "{traits:?}");
        let result = soon("a call", async { client.call_tool("echo", &()).await }).await.unwrap();
        assert_eq!(result.text(), "hello");
        soon("the end", client.close()).await;
    }
}

#[tokio::test]
async fn server_that_ignores_the_probe_is_legacy() {
    for traits in [&["silent-probe"][..], &["silent-probe", "late-probe"]] {
        let mut options = ClientOptions::default();
        options.probe_timeout = Duration::from_millis(100);
        let client = connect(scripted(traits), options).await;
        assert_eq!(client.era(), Era::Legacy);
        let result = soon("a call", async { client.call_tool("echo", &()).await }).await.unwrap();
        assert_eq!(result.text(), "hello");
    }
}

#[tokio::test]
async fn silent_or_unread_handshake_times_out() {
    for traits in [&["silent"], &["deaf"]] {
        let mut options = ClientOptions::default();
        options.probe_timeout = Duration::from_millis(50);
        options.handshake_timeout = Duration::from_millis(200);
        let server = Stdio::new(scripted(traits));
        let error = soon("giving up", Client::connect(&server, options)).await.unwrap_err();
        assert_eq!(error.to_string(), "no response to `initialize` within 200ms");
    }
}

#[tokio::test]
async fn server_that_exits_during_the_handshake_is_explained() {
    let server = Stdio::new(scripted(&["dies-of-probe", "dies-of-initialize"]));
    let error =
        soon("failing", Client::connect(&server, ClientOptions::default())).await.unwrap_err();
    let HandshakeError::Closed { phase, report } = &error else { panic!("{error}") };
    assert_eq!(*phase, "initialize");
    assert_eq!(report.diagnostics.exit, Some(mcp_transport::diagnostics::Exit::Code(4)));
    assert_eq!(
        error.to_string(),
        "during `initialize`: the server ended the connection (exit status 4)"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn server_that_closes_stdin_does_not_block_the_handshake() {
    let mut server = mcp_transport::StdioOptions::new("sh");
    server.args = vec!["-c".into(), "exec 0<&-; exec sleep 1000".into()];
    let mut options = ClientOptions::default();
    options.probe_timeout = Duration::from_millis(200);
    options.handshake_timeout = Duration::from_millis(400);
    let error = soon("giving up", Client::connect(&Stdio::new(server), options)).await.unwrap_err();
    assert_eq!(error.class(), mcp_client::diagnostics::ErrorClass::Transient);
    assert!(error.to_string().contains("initialize"), "{error}");
}

/// Lines without a pause use up tokio's budget for the reading task, which must not delay the time limit.
#[tokio::test]
async fn endless_invalid_output_ends_the_handshake_in_time() {
    for noise in ["yes", "yes ''", "yes '{}'"] {
        let mut command = mcp_transport::StdioOptions::new("sh");
        command.args = vec!["-c".into(), format!("exec {noise}").into()];
        let mut options = ClientOptions::default();
        options.handshake_timeout = Duration::from_secs(2);
        let server = Stdio::new(command);
        let error = soon("an end", Client::connect(&server, options)).await.unwrap_err();
        assert!(matches!(error, HandshakeError::TimedOut { .. }), "{noise}: {error}");
        if noise == "yes" {
            assert!(
                error.to_string().contains("lines that are not JSON-RPC messages, the first: y"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn unlimited_timeouts_do_not_overflow() {
    let mut options = ClientOptions::default();
    options.handshake_timeout = Duration::MAX;
    let client = connect(scripted(&[]), options).await;
    soon("the end", client.close()).await;
}
