//! URL elicitation: the page is not fetched, not opened automatically, and shown as a browser parses it.

use mcp_client::{CallError, Client, ClientOptions, EraChoice};
use mcp_tests::Host;
use serde_json::json;

use super::trap::Trap;
use crate::transport::http::{
    server::{Done, Exchange, Server},
    speak::{connect_with, legacy, modern, text, to},
};

/// URLs that are rejected. `PORT` is a listener of the test.
const REFUSED: &[&str] = &[
    // Not web pages.
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
    // Not encrypted and not on this machine.
    "http://other.test/x",
    "http://10.0.0.1/x",
    "http://169.254.169.254/latest",
    // Users and browsers read these differently.
    "https://bank.test@127.0.0.1:PORT/x",
    "https://user:password@bank.test/x",
    "https://127.0.0.1:PORT\\@bank.test/x",
    "https://2130706433:PORT/x",
    "https://0x7f.1:PORT/x",
    "https://127.1:PORT/x",
    "https://%31%32%37.0.0.1:PORT/x",
    "https:///127.0.0.1:PORT/x",
    "https://b\u{430}nk.test/x",
    // Control characters, invisible characters and line breaks.
    "https://bank.test/\u{1b}[2Jx",
    "https://bank.test/\r\nx: y",
    "https://bank.test/\u{0}",
    "https://bank.test/\u{202e}x",
    "https://bank.test/ x",
    "\thttps://bank.test/x",
];

/// A modern server that requires a page to be visited before it answers.
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

/// The same in 2025-11-25: an error, then the call again.
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
async fn invalid_elicitation_url_is_neither_shown_nor_fetched() {
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
async fn elicitation_url_is_shown_unchanged_and_not_fetched() {
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
        // The server only learns that the user accepted.
        assert_eq!(call(&client).await.unwrap(), r#"{"action":"accept"}"#);
        assert_eq!(diary.all_asked(), [url]);
    }
    assert_eq!(trap.visits().await, 0);
}
