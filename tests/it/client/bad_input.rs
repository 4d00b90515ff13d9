//! The first six rows of the table of bad input, over stdio. Their in-process half is in the crate's tests.

use std::time::Duration;

use mcp_client::{CallError, CallOptions, Client, ClientOptions, Delivery, ErrorClass};
use mcp_transport::{Exit, StdioOptions};

use super::support::{connect, scripted, soon};

async fn call(client: &Client, tool: &str) -> Result<String, CallError> {
    let result = soon(tool, async { client.call_tool(tool, &()).await }).await;
    result.map(|result| result.text())
}

async fn modern(server: StdioOptions) -> Client {
    connect(server, ClientOptions::default()).await
}

#[tokio::test]
async fn noise_unknown_ids_and_duplicates_are_counted_and_the_connection_lives() {
    let client = modern(scripted(&["banner"])).await;
    assert_eq!(call(&client, "noise").await.unwrap(), "right");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    let diagnostics = client.diagnostics();
    // Twice five lines: a blank one is nothing at all.
    assert_eq!(diagnostics.skipped_lines, 10);
    assert_eq!(diagnostics.first_skipped.as_deref(), Some("Server v1.0 is listening"));
    assert!(diagnostics.noise.unknown > 0 && diagnostics.noise.duplicate > 0, "{diagnostics:?}");
}

#[tokio::test]
async fn batches_are_taken_apart_and_one_bad_element_costs_only_itself() {
    let client = modern(scripted(&["legacy"])).await;
    assert_eq!(call(&client, "batch").await.unwrap(), "");
    assert_eq!(client.diagnostics().skipped_lines, 1);
}

#[tokio::test]
async fn a_message_over_the_limit_fails_its_own_call_and_the_stream_goes_on() {
    let mut server = scripted(&[]);
    server.max_message = 64 << 10;
    let client = modern(server).await;
    let (large, small) = tokio::join!(call(&client, "large"), call(&client, "echo"));
    let error = large.unwrap_err();
    assert!(matches!(error, CallError::TooLarge { limit: 65_536, .. }), "{error}");
    assert!(error.to_string().starts_with("message too large: "), "{error}");
    assert_eq!(small.unwrap(), "hello");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    assert_eq!(client.diagnostics().too_large, 1);
}

#[tokio::test]
async fn a_reply_of_the_wrong_shape_names_the_member() {
    let client = modern(scripted(&[])).await;
    let (wrong, fine) = tokio::join!(call(&client, "wrong shape"), call(&client, "echo"));
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "unreadable answer to `tools/call`: content[0].text: expected a string, found null"
    );
    assert_eq!(fine.unwrap(), "hello");
}

#[tokio::test]
async fn a_server_that_never_answers_is_told_that_nobody_waits() {
    let client = modern(scripted(&[])).await;
    let mut options = CallOptions::default();
    options.idle_timeout = Some(Duration::from_millis(500));
    let silent = soon("the limit", async { client.call_tool("never", &()).with(options).await });
    let error = silent.await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { method: "tools/call", .. }), "{error}");
    assert_eq!(error.delivery(), Delivery::Unknown);
    let dropped = tokio::time::timeout(Duration::from_millis(500), async {
        client.call_tool("never", &()).await
    });
    dropped.await.unwrap_err();
    assert_eq!(call(&client, "seen notifications/cancelled").await.unwrap(), "2");
}

#[tokio::test]
async fn a_server_that_floods_holds_up_nobody() {
    let client = modern(scripted(&[])).await;
    assert_eq!(call(&client, "flood").await.unwrap(), "flooded");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn a_server_that_asks_without_reading_answers_does_not_fill_our_memory() {
    let mut server = scripted(&["legacy"]);
    server.max_queued = 64 << 10;
    let client = modern(server).await;
    assert_eq!(call(&client, "pings").await.unwrap(), "asked");
    let answered: usize = call(&client, "seen answer").await.unwrap().parse().unwrap();
    // What the pipe and the queue hold, and what it read in between, is less than what it asked for.
    assert!((1..50_000).contains(&answered), "{answered}");
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}

#[tokio::test]
async fn when_a_server_dies_every_call_fails_at_once_and_says_why() {
    let client = modern(scripted(&[])).await;
    let (one, other, last) =
        tokio::join!(call(&client, "never"), call(&client, "never"), call(&client, "die"));
    for error in [one.unwrap_err(), other.unwrap_err(), last.unwrap_err()] {
        assert_eq!((error.delivery(), error.class()), (Delivery::Unknown, ErrorClass::Transient));
        assert_eq!(
            error.to_string(),
            "unavailable: the connection closed before the answer; the server ended the connection \
             (exit status 7); its last words: fatal: the disk is full"
        );
    }
    let error = call(&client, "echo").await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::NotSent);
    assert!(error.to_string().starts_with("unavailable: the request was not sent"), "{error}");
    assert_eq!(client.closed().await.diagnostics.exit, Some(Exit::Code(7)));
}
