//! Negotiation of the revision, over real links.

use std::time::Duration;

use mcp_client::{
    Client, ClientOptions, EraChoice, HandshakeError, diagnostics::ErrorClass, types::Era,
};

use crate::support::{DISCOVERED, Server, initialized, outcome, params, settled, wire};

/// Connects while `serve` plays the first server, and returns both outcomes.
async fn connect<T, F: Future<Output = T>>(
    options: ClientOptions,
    serve: impl FnOnce(Server) -> F,
) -> String {
    let (wire, mut servers) = wire();
    let (result, _server) =
        tokio::join!(Client::connect(&wire, options), async { serve(servers.next().await).await });
    outcome(&result)
}

fn pinned(era: EraChoice) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.era = era;
    options
}

fn remembering(era: Era) -> ClientOptions {
    let options = ClientOptions::default();
    options.remembered.set(Some(era));
    options
}

#[tokio::test(start_paused = true)]
async fn modern_server_is_probed_once_and_remembered() {
    let (wire, mut servers) = wire();
    let options = ClientOptions::default();
    let remembered = options.remembered.clone();
    let (client, mut server) = tokio::join!(Client::connect(&wire, options), async {
        let mut server = servers.next().await;
        let probe = server.request("server/discover").await;
        let meta = &params(&probe)["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "mcp-client");
        server.answer(&probe, DISCOVERED);
        server
    });
    let client = client.unwrap();
    assert_eq!(client.era(), Era::Modern);
    assert_eq!(client.server().info.as_ref().unwrap().name, "scripted");
    assert!(client.server().capabilities.tools.as_ref().unwrap().list_changed);
    assert_eq!(remembered.get(), Some(Era::Modern));
    // Modern clients send no `initialized` notification.
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn server_info_of_draft_revisions_is_read() {
    let (wire, mut servers) = wire();
    let (client, _server) = tokio::join!(Client::connect(&wire, ClientOptions::default()), async {
        let mut server = servers.next().await;
        let probe = server.request("server/discover").await;
        server.answer(
            &probe,
            r#"{"supportedVersions":["2026-07-28"],"serverInfo":{"name":"draft","version":"0"},
                    "instructions":"be kind"}"#,
        );
        server
    });
    let client = client.unwrap();
    assert_eq!(client.server().info.as_ref().unwrap().name, "draft");
    assert_eq!(client.server().instructions.as_deref(), Some("be kind"));
}

#[tokio::test(start_paused = true)]
async fn non_modern_probe_response_leads_to_initialize() {
    for code in [-32601, -32602, -32600, -32000, -32001, -32004] {
        let version = connect(ClientOptions::default(), async |mut server: Server| {
            let probe = server.request("server/discover").await;
            server.refuse(&probe, code, "what?");
            server.greet_legacy("2025-06-18").await;
            server
        });
        assert_eq!(version.await, "2025-06-18", "{code}");
    }
    let version = connect(ClientOptions::default(), async |mut server: Server| {
        let probe = server.request("server/discover").await;
        server.answer(&probe, "{}");
        server.greet_legacy("2024-11-05").await;
        server
    });
    assert_eq!(version.await, "2024-11-05");
}

#[tokio::test(start_paused = true)]
async fn silent_server_is_legacy_and_its_late_response_ignored() {
    let version = connect(ClientOptions::default(), async |mut server: Server| {
        let probe = server.request("server/discover").await;
        let initialize = server.request("initialize").await;
        let sent = params(&initialize);
        assert_eq!(sent["protocolVersion"], "2025-11-25");
        assert_eq!(sent["capabilities"], serde_json::json!({}));
        assert_eq!(sent.get("_meta"), None);
        server.answer(&probe, DISCOVERED);
        server.answer(&initialize, &initialized("2025-03-26"));
        // The probe is not cancelled: the next message completes the handshake.
        server.notification("notifications/initialized").await;
        server
    });
    assert_eq!(version.await, "2025-03-26");
}

#[tokio::test(start_paused = true)]
async fn rejected_version_is_probed_again_with_a_new_id() {
    let version = connect(ClientOptions::default(), async |mut server: Server| {
        let first = server.request("server/discover").await;
        server.refuse_with(&first, -32022, r#"{"supported":["2026-07-28"],"requested":"x"}"#);
        let second = server.request("server/discover").await;
        assert_ne!(first.id, second.id);
        server.answer(&second, DISCOVERED);
        server
    });
    assert_eq!(version.await, "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn unsupported_versions_are_named_in_the_error() {
    let error = connect(ClientOptions::default(), async |mut server: Server| {
        let probe = server.request("server/discover").await;
        server.refuse_with(&probe, -32022, r#"{"supported":["2099-01-01","2098-01-01"]}"#);
        server
    });
    assert_eq!(
        error.await,
        "the server supports only 2099-01-01, 2098-01-01, which this client does not"
    );
    let error = connect(pinned(EraChoice::Legacy), async |mut server: Server| {
        let initialize = server.request("initialize").await;
        server.answer(&initialize, &initialized("1999-12-31"));
        server
    });
    assert_eq!(error.await, "the server supports only 1999-12-31, which this client does not");
}

#[tokio::test(start_paused = true)]
async fn server_that_exits_on_the_probe_gets_a_new_link() {
    let (wire, mut servers) = wire();
    let options = ClientOptions::default();
    let remembered = options.remembered.clone();
    let (client, mut server) = tokio::join!(Client::connect(&wire, options), async {
        let mut first = servers.next().await;
        first.request("server/discover").await;
        drop(first);
        let mut second = servers.next().await;
        second.greet_legacy("2024-11-05").await;
        second
    });
    assert_eq!(outcome(&client), "2024-11-05");
    assert_eq!(remembered.get(), Some(Era::Legacy));
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn server_that_exits_twice_is_not_restarted() {
    let (wire, mut servers) = wire();
    let (client, ()) = tokio::join!(Client::connect(&wire, ClientOptions::default()), async {
        servers.next().await.request("server/discover").await;
        servers.next().await.request("initialize").await;
    });
    let error = client.unwrap_err();
    assert!(matches!(error, HandshakeError::Closed { phase: "initialize", .. }), "{error}");
    assert_eq!(error.class(), ErrorClass::Transient);
    assert_eq!(error.to_string(), "during `initialize`: the server ended the connection");
    assert_eq!(servers.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn pinned_to_legacy_never_probes() {
    let version = connect(pinned(EraChoice::Legacy), async |mut server: Server| {
        server.greet_legacy("2025-11-25").await;
        server
    });
    assert_eq!(version.await, "2025-11-25");
}

#[tokio::test(start_paused = true)]
async fn pinned_to_modern_fails_with_an_error() {
    let error = connect(pinned(EraChoice::Modern), async |mut server: Server| {
        let probe = server.request("server/discover").await;
        server.refuse(&probe, -32601, "no such method");
        server
    });
    assert_eq!(error.await, "the server refused `server/discover`: no such method (code -32601)");
    let error = connect(pinned(EraChoice::Modern), async |mut server: Server| {
        let probe = server.request("server/discover").await;
        server.answer(&probe, "{}");
        server
    });
    assert_eq!(
        error.await,
        "the server does not support 2026-07-28, which this connection requires"
    );
}

#[tokio::test(start_paused = true)]
async fn pinned_to_modern_waits_longer_than_a_probe() {
    let version = connect(pinned(EraChoice::Modern), async |mut server: Server| {
        let probe = server.request("server/discover").await;
        tokio::time::sleep(Duration::from_secs(14)).await;
        server.answer(&probe, DISCOVERED);
        server
    });
    assert_eq!(version.await, "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn a_remembered_legacy_server_is_not_probed() {
    let version = connect(remembering(Era::Legacy), async |mut server: Server| {
        server.greet_legacy("2025-11-25").await;
        server
    });
    assert_eq!(version.await, "2025-11-25");
}

#[tokio::test(start_paused = true)]
async fn server_upgraded_to_modern_is_detected() {
    for code in [-32601, -32602, -32600, -32022] {
        let options = remembering(Era::Legacy);
        let remembered = options.remembered.clone();
        let version = connect(options, async |mut server: Server| {
            let initialize = server.request("initialize").await;
            server.refuse(&initialize, code, "that was long ago");
            server.greet_modern().await;
            server
        });
        assert_eq!(version.await, "2026-07-28", "{code}");
        assert_eq!(remembered.get(), Some(Era::Modern));
    }
}

#[tokio::test(start_paused = true)]
async fn slow_modern_server_is_probed_again() {
    let version = connect(ClientOptions::default(), async |mut server: Server| {
        server.request("server/discover").await;
        let initialize = server.request("initialize").await;
        server.refuse(&initialize, -32601, "no such method");
        server.greet_modern().await;
        server
    });
    assert_eq!(version.await, "2026-07-28");
}

#[tokio::test(start_paused = true)]
async fn server_downgraded_to_legacy_is_detected() {
    let options = remembering(Era::Modern);
    let remembered = options.remembered.clone();
    let version = connect(options, async |mut server: Server| {
        server.request("server/discover").await;
        server.greet_legacy("2025-11-25").await;
        server
    });
    assert_eq!(version.await, "2025-11-25");
    assert_eq!(remembered.get(), Some(Era::Legacy));
}

#[tokio::test(start_paused = true)]
async fn failed_handshake_clears_the_remembered_era() {
    let options = remembering(Era::Legacy);
    let remembered = options.remembered.clone();
    let error = connect(options, async |mut server: Server| {
        server.request("initialize").await;
    });
    assert_eq!(error.await, "during `initialize`: the server ended the connection");
    assert_eq!(remembered.get(), None);
}

#[tokio::test(start_paused = true)]
async fn handshake_timeout_names_the_phase_and_the_limit() {
    let (wire, mut servers) = wire();
    let began = tokio::time::Instant::now();
    let (client, mut server) =
        tokio::join!(Client::connect(&wire, ClientOptions::default()), async {
            let mut server = servers.next().await;
            server.request("server/discover").await;
            server.request("initialize").await;
            server
        });
    let error = client.unwrap_err();
    assert_eq!(error.to_string(), "no response to `initialize` within 15s");
    assert_eq!(error.class(), ErrorClass::Transient);
    assert_eq!(began.elapsed().as_secs(), 15);
    // The specification forbids cancelling `initialize`:
    // <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation>
    assert_eq!(server.unread().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn dropped_handshake_closes_the_link_without_cancellation() {
    let (wire, mut servers) = wire();
    let options = pinned(EraChoice::Legacy);
    let mut attempt = Box::pin(Client::connect(&wire, options));
    let mut server = tokio::select! {
        _ = &mut attempt => unreachable!("it ended without a response"),
        mut server = servers.next() => { server.request("initialize").await; server }
    };
    drop(attempt);
    settled().await;
    assert_eq!(server.unread().await, [""; 0]);
    assert!(server.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn malformed_handshake_response_names_the_member() {
    let error = connect(pinned(EraChoice::Legacy), async |mut server: Server| {
        let initialize = server.request("initialize").await;
        server
            .answer(&initialize, r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":7}}"#);
        server
    });
    assert_eq!(
        error.await,
        "invalid response to `initialize`: capabilities.tools: expected an object, found a number"
    );
    let error = connect(ClientOptions::default(), async |mut server: Server| {
        let probe = server.request("server/discover").await;
        server.answer(&probe, r#"{"supportedVersions":["2026-07-28"],"instructions":[]}"#);
        server
    });
    assert_eq!(
        error.await,
        "invalid response to `server/discover`: instructions: expected a string, found an array"
    );
}
