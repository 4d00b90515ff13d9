//! Era detection: each possible response to `server/discover`, and the error when no era works.

use mcp_client::{ClientOptions, EraChoice, HandshakeError, diagnostics::ErrorClass, types::Era};
use mcp_transport::HttpOptions;
use serde_json::json;

use super::{
    server::{Done, Exchange, Server},
    speak::{
        LEGACY, answer, call, connect, connect_with, initialized, legacy, modern, to, try_connect,
    },
};

const HTML: &str = "content-type: text/html\r\n";
const JSON: &str = "content-type: application/json\r\n";

/// A server with this response to `server/discover` that also supports `initialize`.
async fn that_says(status: u16, head: &'static str, body: &'static str) -> Server {
    Server::start(move |exchange| async move {
        match &*exchange.word() {
            "server/discover" => exchange.answer(status, head, body.as_bytes()).await,
            _ => legacy(exchange).await,
        }
    })
    .await
}

#[tokio::test]
async fn inconclusive_discover_response_leads_to_initialize() {
    for (status, head, body) in [
        (400, "", ""),
        (400, HTML, "<h1>Bad Request</h1>"),
        (
            400,
            JSON,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#,
        ),
        (400, JSON, r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"what is _meta"}}"#),
        (404, "", ""),
        (404, JSON, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}"#),
        (405, "", ""),
        (406, "", ""),
        (415, "", ""),
        (422, JSON, r#"{"detail":"unprocessable"}"#),
        (200, HTML, "<h1>It works!</h1>"),
        (200, JSON, "{}"),
        (200, JSON, "true"),
        (200, JSON, "<h1>It works!</h1>"),
        (200, JSON, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}"#),
        (202, "", ""),
    ] {
        let server = that_says(status, head, body).await;
        let client = connect(&server).await;
        assert_eq!(client.era(), Era::Legacy, "{status} {body}");
        let first = server.only("initialize");
        assert_eq!(first.header("mcp-protocol-version"), None, "{status} {body}");
        assert_eq!(first.header("mcp-session-id"), None, "{status} {body}");
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    }
}

#[tokio::test]
async fn failed_probe_is_reported_and_not_remembered() {
    use ErrorClass::{Auth, Permanent, Transient};
    for (status, head, body, class) in [
        (401, "WWW-Authenticate: Bearer\r\n", "", Auth),
        (403, "WWW-Authenticate: Bearer error=\"insufficient_scope\"\r\n", "", Auth),
        (408, "", "", Transient),
        (429, "Retry-After: 7\r\n", "", Transient),
        (500, "", "", Transient),
        (502, HTML, "<h1>Bad Gateway</h1>", Transient),
        (
            503,
            JSON,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"busy"}}"#,
            Transient,
        ),
        (200, "content-type: text/event-stream\r\n", ": nothing\n\n", Transient),
        (200, JSON, r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":7}}"#, Permanent),
    ] {
        let server = that_says(status, head, body).await;
        let options = ClientOptions::default();
        let remembered = options.remembered.clone();
        let error = try_connect(to(&server), options).await.unwrap_err();
        assert_eq!(error.class(), class, "{status}: {error}");
        assert_eq!(remembered.get(), None);
        assert_eq!(server.words(), ["server/discover"], "{status}");
        let wait = (status == 429).then(|| std::time::Duration::from_secs(7));
        assert_eq!(error.retry_after(), wait, "{status}");
    }
}

#[tokio::test]
async fn unreachable_server_is_not_taken_for_a_legacy_one() {
    let server = Server::start(modern).await;
    let url = server.url.clone();
    drop(server);
    let error = try_connect(HttpOptions::new(url), ClientOptions::default()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(
        error.to_string().starts_with("during `server/discover`: could not connect to http://"),
        "{error}"
    );
}

#[tokio::test]
async fn modern_error_is_not_taken_for_a_legacy_server() {
    for (status, code) in [(400, -32020), (400, -32021), (200, -32021), (500, -32021)] {
        let server = Server::start(move |exchange| async move {
            exchange.error(status, json!({ "code": code, "message": "modern" })).await
        })
        .await;
        let error = try_connect(to(&server), ClientOptions::default()).await.unwrap_err();
        assert!(matches!(error, HandshakeError::Rejected { .. }), "{status} {code}: {error}");
        assert_eq!(server.words(), ["server/discover", "server/discover"]);
    }
    // A server that names only older revisions gets one of those.
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "server/discover" => {
                let data = json!({ "supported": [LEGACY] });
                exchange.error(400, json!({ "code": -32022, "message": "no", "data": data })).await
            }
            _ => legacy(exchange).await,
        }
    })
    .await;
    assert_eq!(connect(&server).await.era(), Era::Legacy);
}

#[tokio::test]
async fn configured_era_is_not_probed() {
    let mut options = ClientOptions::default();
    options.era = EraChoice::Legacy;
    let server = Server::start(legacy).await;
    connect_with(to(&server), options.clone()).await;
    assert_eq!(server.words()[0], "initialize");

    options.era = EraChoice::Modern;
    let server = Server::start(legacy).await;
    let error = try_connect(to(&server), options).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Permanent, "{error}");
    assert_eq!(server.words(), ["server/discover"]);
}

/// The GET half of a 2024-11-05 server: its stream names an endpoint and answers `initialize`.
async fn old(exchange: Exchange, refusal: u16) -> Done {
    match (&*exchange.seen.verb, &*exchange.seen.path) {
        ("GET", "/mcp") => {
            let mut events = exchange.events().await;
            events.text("event: endpoint\ndata: /messages?session=1\n\n").await;
            // The only client, and its first request.
            let init = answer(&json!(2), &initialized("2024-11-05"));
            events.message(&init).await;
            events.gone().await
        }
        ("POST", "/mcp") => exchange.status(refusal).await,
        _ => exchange.status(202).await,
    }
}

#[tokio::test]
async fn refused_initialize_falls_back_to_2024_11_05() {
    for status in [400, 404, 405, 422] {
        let server = Server::start(move |exchange| old(exchange, status)).await;
        let client = connect(&server).await;
        assert_eq!(client.server().version.as_str(), "2024-11-05");
        server.sees("notifications/initialized", 1).await;
        let paths: Vec<_> =
            server.seen().iter().map(|seen| format!("{} {}", seen.word(), seen.path)).collect();
        assert_eq!(
            paths,
            [
                "server/discover /mcp",
                "initialize /mcp",
                "GET /mcp",
                "initialize /messages?session=1",
                "notifications/initialized /messages?session=1",
            ]
        );
        client.close().await;
    }
}

#[tokio::test]
async fn first_failure_is_reported_if_the_fallback_fails_too() {
    type Get = fn(Exchange) -> std::pin::Pin<Box<dyn Future<Output = Done> + Send>>;
    let gets: [Get; 6] = [
        |exchange| Box::pin(exchange.status(404)),
        |exchange| Box::pin(exchange.answer(200, HTML, b"<h1>hello</h1>")),
        |exchange| Box::pin(async { exchange.events().await.end().await }),
        |exchange| Box::pin(async { exchange.events().await.end_with("data: {}\n\n").await }),
        // No event at all.
        |exchange| Box::pin(async { exchange.events().await.gone().await }),
        // Another origin, which must not get credentials.
        |exchange| {
            Box::pin(async {
                let mut events = exchange.events().await;
                events.text("event: endpoint\ndata: http://127.0.0.1:9/x\n\n").await;
                events.gone().await
            })
        },
    ];
    for get in gets {
        let server = Server::start(move |exchange| async move {
            match &*exchange.seen.verb {
                "GET" => get(exchange).await,
                _ => exchange.status(405).await,
            }
        })
        .await;
        let mut options = to(&server);
        options.endpoint_timeout = std::time::Duration::from_millis(100);
        let error = try_connect(options, ClientOptions::default()).await.unwrap_err();
        assert!(
            error.to_string().ends_with("/mcp answered with status 405 Method Not Allowed"),
            "{error}"
        );
        assert_eq!(error.class(), ErrorClass::Permanent);
        assert_eq!(server.words(), ["server/discover", "initialize", "GET"]);
    }
}

#[tokio::test]
async fn transient_failure_does_not_fall_back_to_2024_11_05() {
    let server = Server::start(|exchange| async move {
        match &*exchange.word() {
            "server/discover" => exchange.status(400).await,
            _ => exchange.answer(503, "Retry-After: 2\r\n", b"").await,
        }
    })
    .await;
    let error = try_connect(to(&server), ClientOptions::default()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(2)));
    assert_eq!(server.words(), ["server/discover", "initialize"]);
}

#[tokio::test]
async fn versions_in_a_refused_initialize_are_quoted() {
    let mut options = ClientOptions::default();
    options.era = EraChoice::Legacy;
    let server = Server::start(|exchange| async move {
        let data = json!({ "supported": ["2031-01-01"] });
        let error =
            json!({ "code": -32022, "message": "this server speaks 2031-01-01", "data": data });
        exchange.error(400, error).await
    })
    .await;
    let error = try_connect(to(&server), options).await.unwrap_err();
    assert!(error.to_string().contains("this server speaks 2031-01-01"), "{error}");
    // No fallback to 2024-11-05 either.
    assert_eq!(server.words(), ["initialize"]);
}
