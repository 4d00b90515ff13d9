//! Pages that a server sends the user to: never fetched, never opened by us, and shown as a browser reads them.

use mcp_client::{CallError, Client, ClientOptions, EraChoice};
use mcp_tests::Host;
use serde_json::json;

use super::trap::Trap;
use crate::transport::http::{
    server::{Done, Exchange, Server},
    speak::{connect_with, legacy, modern, text, to},
};

/// Addresses that nobody is sent to. `PORT` is a listener of ours.
const REFUSED: &[&str] = &[
    // No pages.
    "",
    "PORT",
    "javascript:alert(1)",
    "data:text/html,<script>",
    "file:///etc/passwd",
    "vscode://PORT/x",
    "ftp://127.0.0.1:PORT/x",
    "--help",
    "//127.0.0.1:PORT/x",
    "https:127.0.0.1:PORT",
    // Not encrypted, and not here.
    "http://other.test/x",
    "http://10.0.0.1/x",
    "http://169.254.169.254/latest",
    // Read in one way by a person and in another by a browser.
    "https://bank.test@127.0.0.1:PORT/x",
    "https://user:password@bank.test/x",
    "https://127.0.0.1:PORT\\@bank.test/x",
    "https://2130706433:PORT/x",
    "https://0x7f.1:PORT/x",
    "https://127.1:PORT/x",
    "https://%31%32%37.0.0.1:PORT/x",
    "https:///127.0.0.1:PORT/x",
    "https://b\u{430}nk.test/x",
    // What moves a cursor, hides, or ends a line.
    "https://bank.test/\u{1b}[2Jx",
    "https://bank.test/\r\nx: y",
    "https://bank.test/\u{0}",
    "https://bank.test/\u{202e}x",
    "https://bank.test/ x",
    "\thttps://bank.test/x",
];

/// A modern server that wants a page visited before it answers.
async fn sends_to(exchange: Exchange, url: String) -> Done {
    let params = exchange.params();
    if exchange.word() != "tools/call" {
        return modern(exchange).await;
    }
    if !params["inputResponses"]["page"].is_null() {
        let said = params["inputResponses"]["page"].to_string();
        return exchange.result(text(&said)).await;
    }
    let page = json!({ "mode": "url", "message": "Confirm it there", "url": url });
    let page = json!({ "method": "elicitation/create", "params": page });
    let requests = json!({ "page": page });
    exchange.result(json!({ "resultType": "input_required", "inputRequests": requests })).await
}

/// The same of 2025-11-25: an error, and the call again.
async fn sent_before_to(exchange: Exchange, url: String) -> Done {
    if exchange.word() != "tools/call" {
        return legacy(exchange).await;
    }
    let page = json!({ "mode": "url", "message": "m", "url": url, "elicitationId": "1" });
    let data = json!({ "elicitations": [page] });
    exchange.error(200, json!({ "code": -32042, "message": "first", "data": data })).await
}

async fn connected(server: &Server, options: ClientOptions) -> Client {
    connect_with(to(server), options).await
}

async fn call(client: &Client) -> Result<String, CallError> {
    crate::transport::http::speak::call(client, "echo").await
}

#[tokio::test]
async fn a_page_that_is_none_reaches_no_user_and_no_network() {
    let trap = Trap::set().await;
    for url in REFUSED {
        let url = url.replace("PORT", &trap.port.to_string());
        let (new, old) = (url.clone(), url.clone());
        let (host, mut diary) = Host::new();
        let server = Server::start(move |exchange| sends_to(exchange, new.clone())).await;
        let client = connected(&server, host.options()).await;
        let error = call(&client).await.unwrap_err().to_string();
        assert!(error.contains("inputRequests.page: `url` "), "{url:?}: {error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
        assert_eq!(diary.all_asked(), [""; 0], "{url:?}");

        let (host, mut diary) = Host::new();
        let server = Server::start(move |exchange| sent_before_to(exchange, old.clone())).await;
        let mut options = host.options();
        options.era = EraChoice::Legacy;
        let client = connected(&server, options).await;
        let error = call(&client).await.unwrap_err().to_string();
        assert!(error.contains("elicitations: `url` "), "{url:?}: {error}");
        assert_eq!(server.all("tools/call").len(), 1, "{url:?}");
        assert_eq!(diary.all_asked(), [""; 0], "{url:?}");
    }
    assert_eq!(trap.visits().await, 0);
}

#[tokio::test]
async fn a_page_is_shown_as_it_is_and_fetched_by_nobody() {
    let trap = Trap::set().await;
    for url in [
        "https://127.0.0.1:PORT/pay?sum=1#now",
        "http://127.0.0.1:PORT/",
        "http://localhost:PORT/x",
        "https://localhost:PORT",
    ] {
        let url = url.replace("PORT", &trap.port.to_string());
        let (host, mut diary) = Host::new();
        let page = url.clone();
        let server = Server::start(move |exchange| sends_to(exchange, page.clone())).await;
        let client = connected(&server, host.options()).await;
        // The user says yes, and that is all that the server is told.
        assert_eq!(call(&client).await.unwrap(), r#"{"action":"accept"}"#);
        assert_eq!(diary.all_asked(), [url]);
    }
    assert_eq!(trap.visits().await, 0);
}
