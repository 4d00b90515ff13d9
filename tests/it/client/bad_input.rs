//! The first six rows of the bad-input table, over stdio. The in-process tests are in `mcp-client`.

use std::time::Duration;

use mcp_client::{
    CallError, CallOptions, Client, ClientOptions, Delivery, diagnostics::ErrorClass, rpc::Failure,
};
use mcp_transport::{StdioOptions, diagnostics::Exit};

use super::support::{connect, scripted, soon};

async fn call(client: &Client, tool: &str) -> Result<String, CallError> {
    let result = soon(tool, async { client.call_tool(tool, &()).await }).await;
    result.map(|result| result.text())
}

async fn modern(server: StdioOptions) -> Client {
    connect(server, ClientOptions::default()).await
}

#[tokio::test]
async fn invalid_lines_unknown_ids_and_duplicates_are_counted() {
    let client = modern(scripted(&["banner"])).await;
    assert_eq!(call(&client, "noise").await.unwrap(), "right");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    let diagnostics = client.diagnostics();
    // Twice five lines; blank lines do not count.
    assert_eq!(diagnostics.skipped_lines, 10);
    assert_eq!(diagnostics.first_skipped.as_deref(), Some("Server v1.0 is listening"));
    assert!(diagnostics.noise.unknown > 0 && diagnostics.noise.duplicate > 0, "{diagnostics:?}");
}

#[tokio::test]
async fn invalid_batch_element_does_not_affect_the_others() {
    let client = modern(scripted(&["legacy"])).await;
    assert_eq!(call(&client, "batch").await.unwrap(), "");
    assert_eq!(client.diagnostics().skipped_lines, 1);
}

#[tokio::test]
async fn oversized_message_over_stdio_fails_only_its_own_call() {
    let mut server = scripted(&[]);
    server.max_message = 64 << 10;
    let client = modern(server).await;
    let (large, small) = tokio::join!(call(&client, "large"), call(&client, "echo"));
    let error = large.unwrap_err();
    assert!(
        matches!(error, CallError::Failed { failure: Failure::TooLarge { limit: 65_536, .. }, .. }),
        "{error}"
    );
    assert!(error.to_string().starts_with("message too large: "), "{error}");
    assert_eq!(small.unwrap(), "hello");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    assert_eq!(client.diagnostics().too_large, 1);
}

#[tokio::test]
async fn malformed_result_names_the_member() {
    let client = modern(scripted(&[])).await;
    let (wrong, fine) = tokio::join!(call(&client, "wrong shape"), call(&client, "echo"));
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "invalid response to `tools/call`: content[0].text: expected a string, found null"
    );
    assert_eq!(fine.unwrap(), "hello");
}

#[tokio::test]
async fn timed_out_call_is_cancelled_at_the_server() {
    let client = modern(scripted(&[])).await;
    let mut options = CallOptions::default();
    options.idle_timeout = Some(Duration::from_millis(500));
    let silent = soon("the limit", async { client.call_tool("never", &()).with(options).await });
    let error = silent.await.unwrap_err();
    assert!(
        matches!(
            error,
            CallError::Failed { method: Some("tools/call"), failure: Failure::TimedOut(_), .. }
        ),
        "{error}"
    );
    assert_eq!(error.delivery(), Delivery::Unknown);
    let dropped = tokio::time::timeout(Duration::from_millis(500), async {
        client.call_tool("never", &()).await
    });
    dropped.await.unwrap_err();
    assert_eq!(call(&client, "seen notifications/cancelled").await.unwrap(), "2");
}

#[tokio::test]
async fn flood_of_notifications_does_not_delay_calls() {
    let client = modern(scripted(&[])).await;
    assert_eq!(call(&client, "flood").await.unwrap(), "flooded");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn unread_responses_do_not_fill_memory() {
    let mut server = scripted(&["legacy"]);
    server.max_queued = 64 << 10;
    let client = modern(server).await;
    assert_eq!(call(&client, "pings").await.unwrap(), "asked");
    let answered: usize = call(&client, "seen answer").await.unwrap().parse().unwrap();
    // The pipe, the queue and the server's own reads account for fewer messages than it sent.
    assert!((1..50_000).contains(&answered), "{answered}");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn calls_fail_at_once_when_the_server_exits() {
    let client = modern(scripted(&[])).await;
    let (one, other, last) =
        tokio::join!(call(&client, "never"), call(&client, "never"), call(&client, "die"));
    for error in [one.unwrap_err(), other.unwrap_err(), last.unwrap_err()] {
        assert_eq!((error.delivery(), error.class()), (Delivery::Unknown, ErrorClass::Transient));
        assert_eq!(
            error.to_string(),
            "unavailable: the connection closed before the response; the server ended the connection \
             (exit status 7); last stderr line: fatal: the disk is full"
        );
    }
    let error = call(&client, "echo").await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotSent);
    assert!(error.to_string().starts_with("unavailable: the request was not sent"), "{error}");
    assert_eq!(client.closed().await.diagnostics.exit, Some(Exit::Code(7)));
}
