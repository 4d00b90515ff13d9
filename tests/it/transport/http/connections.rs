//! Connection reuse, TLS, Unix sockets and proxies.

use std::{
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use mcp_client::{Client, ClientOptions, HandshakeError, diagnostics::ErrorClass};
use mcp_transport::{
    Http, HttpClient, HttpOptions, StaticHeaders,
    net::{HttpClientOptions, TlsIdentity},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::{
    server::Server,
    speak::{MODERN, answer, call, connect, connect_with, legacy, modern, text, to},
};
use crate::client::support::{Host, soon};

#[tokio::test]
async fn hundred_calls_share_a_connection() {
    for as_events in [false, true] {
        let server = Server::start(move |exchange| async move {
            if !as_events || exchange.word() != "tools/call" {
                return modern(exchange).await;
            }
            let id = exchange.id();
            exchange
                .events()
                .await
                .end_with(&format!("data: {}\n\n", answer(&id, &text("hello"))))
                .await
        })
        .await;
        let client = connect(&server).await;
        for _ in 0..100 {
            assert_eq!(call(&client, "echo").await.unwrap(), "hello");
        }
        assert_eq!(server.all("tools/call").len(), 100);
        assert_eq!(server.accepted(), 1, "as events: {as_events}");
    }
}

/// For every form of acknowledgement.
#[tokio::test]
async fn notifications_share_a_connection_too() {
    for ack in [
        "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 202 Accepted\r\ncontent-length: 8\r\n\r\nAccepted",
        "HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok",
    ] {
        let server = Server::start(move |exchange| async move {
            if exchange.word().starts_with("notifications/") {
                return exchange.bytes(ack.as_bytes()).await;
            }
            legacy(exchange).await
        })
        .await;
        let (host, _diary) = Host::new();
        let client = connect_with(to(&server), host.options()).await;
        (0..50).for_each(|_| client.roots_changed());
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
        assert_eq!(server.all("notifications/roots/list_changed").len(), 50);
        // The GET for the stream is sent along with the first of them.
        assert!(server.accepted() <= 2, "{}: {ack}", server.accepted());
    }
}

#[tokio::test]
async fn links_of_one_client_share_connections() {
    let server = Server::start(legacy).await;
    let http = super::speak::http(super::speak::to(&server));
    for _ in 0..5 {
        let client =
            soon("the handshake", Client::connect(&http, ClientOptions::default())).await.unwrap();
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
        client.close().await;
    }
    // The GET for the stream may be sent along with another request.
    assert!(server.accepted() <= 2, "{}", server.accepted());
}

#[tokio::test]
async fn closed_idle_connection_does_not_fail_a_call() {
    let count = Arc::new(AtomicUsize::new(0));
    let server = Server::start(move |exchange| {
        let last = count.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        async move {
            if last {
                // Closed without notice, as after an idle timeout.
                let answer = answer(&exchange.id(), &text("hello")).to_string();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
                return exchange
                    .raw(
                        format!("{head}content-length: {}\r\n\r\n{answer}", answer.len())
                            .as_bytes(),
                    )
                    .await;
            }
            modern(exchange).await
        }
    })
    .await;
    let client = connect(&server).await;
    for _ in 0..20 {
        assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    }
}

/// A certificate authority and a certificate that it issued.
struct Papers {
    authority: String,
    chain: String,
    key: String,
}

fn papers() -> Papers {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let cert = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    Papers { authority: authority.pem(), chain: cert.pem(), key: key.serialize_pem() }
}

/// A server with these certificates, which requires client certificates of `clients` if given.
fn acceptor(papers: &Papers, clients: Option<&str>, protocols: &[&[u8]]) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let chain = vec![CertificateDer::from_pem_slice(papers.chain.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(papers.key.as_bytes()).unwrap();
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

fn trusting(papers: &[&Papers], identity: Option<&Papers>) -> HttpClientOptions {
    let mut options = HttpClientOptions::default();
    options.proxy_from_environment = false;
    options.tls.extra_roots =
        papers.iter().map(|papers| papers.authority.clone().into_bytes()).collect();
    options.tls.identity = identity.map(|own| TlsIdentity::new(own.chain.clone(), own.key.clone()));
    options
}

async fn connect_as(
    options: &HttpClientOptions,
    server: HttpOptions,
) -> Result<Client, HandshakeError> {
    let http = Http::new(HttpClient::with_options(options).unwrap(), server);
    soon("the handshake", Client::connect(&http, ClientOptions::default())).await
}

#[tokio::test]
async fn only_the_configured_authority_is_trusted() {
    let (ours, strangers) = (papers(), papers());
    let server = Server::tls(acceptor(&ours, None, &[]), modern).await;
    let client = connect_as(&trusting(&[&strangers, &ours], None), HttpOptions::new(&server.url))
        .await
        .unwrap();
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");

    let mut options = HttpOptions::new(&server.url);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
    let seen = server.seen().len();
    let error = connect_as(&trusting(&[&strangers], None), options).await.unwrap_err();
    // Retrying does not help.
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(server.seen().len(), seen);
}

#[tokio::test]
async fn client_certificate_is_sent_when_requested() {
    let (theirs, ours, strangers) = (papers(), papers(), papers());
    let server = Server::tls(acceptor(&theirs, Some(&ours.authority), &[]), modern).await;
    let url = || HttpOptions::new(&server.url);
    let client = connect_as(&trusting(&[&theirs], Some(&ours)), url()).await.unwrap();
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    for wrong in [None, Some(&strangers)] {
        let error = connect_as(&trusting(&[&theirs], wrong), url()).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Transient, "{error}");
    }
}

#[tokio::test]
async fn redirect_to_plain_http_is_not_followed() {
    let ours = papers();
    let plain = Server::start(modern).await;
    let target = plain.url.clone();
    let server = Server::tls(acceptor(&ours, None, &[]), move |exchange| {
        let target = target.clone();
        async move {
            if exchange.word() != "tools/call" {
                return modern(exchange).await;
            }
            exchange.answer(307, &format!("Location: {target}\r\n"), b"").await
        }
    })
    .await;
    let mut options = HttpOptions::new(&server.url);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
    let client = connect_as(&trusting(&[&ours], None), options).await.unwrap();
    let error = call(&client, "echo").await.unwrap_err();
    assert!(
        error.to_string().starts_with("a redirect was not followed: it leads to another origin"),
        "{error}"
    );
    assert_eq!(plain.accepted(), 0);
}

/// HTTP/2 if the server offers it: concurrent calls share one connection.
#[tokio::test]
async fn http_2_is_used_if_offered() {
    let ours = papers();
    let tls = acceptor(&ours, None, &[b"h2"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = accepted.clone();
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut connection =
                h2::server::handshake(tls.accept(stream).await.unwrap()).await.unwrap();
            while let Some(Ok((request, respond))) = connection.accept().await {
                tokio::spawn(answer_h2(request, respond));
            }
        }
    });
    let client = connect_as(&trusting(&[&ours], None), HttpOptions::new(url)).await.unwrap();
    let results = futures::future::join_all((0..50).map(|_| call(&client, "echo"))).await;
    assert!(
        results.iter().all(|result| result.as_ref().is_ok_and(|text| text == "over HTTP/2")),
        "{results:?}"
    );
    assert_eq!(accepted.load(Ordering::SeqCst), 1);
    serving.abort();
}

async fn answer_h2(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
) {
    let mut body = request.into_body();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        bytes.extend_from_slice(&chunk.unwrap());
    }
    let message: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let result = match message["method"].as_str() {
        Some("server/discover") => {
            json!({ "resultType": "complete", "supportedVersions": [MODERN], "capabilities": {} })
        }
        _ => text("over HTTP/2"),
    };
    let head =
        http::Response::builder().header("content-type", "application/json").body(()).unwrap();
    let mut send = respond.send_response(head, false).unwrap();
    send.send_data(answer(&message["id"], &result).to_string().into(), true).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn unix_socket_is_used_in_place_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.sock");
    let server = Server::unix(&path, modern);
    let mut options = HttpClientOptions::default();
    options.unix_socket = Some(path);
    let client = connect_as(&options, HttpOptions::new(&server.url)).await.unwrap();
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    assert_eq!(server.seen()[0].header("host"), Some("localhost"));
    assert_eq!(server.accepted(), 1);
}

const PROXIED: &str = "http://mcp.test/mcp";
/// Set in the child process that uses the test's proxy.
const INSIDE: &str = "MCP_TESTS_PROXIED";

/// Proxy variables are read once per process, so this test starts a child that runs the test below.
#[tokio::test]
async fn proxies_of_the_environment_are_used() {
    let proxy = Server::start(modern).await;
    let own = std::env::current_exe().unwrap();
    let name = format!("{}::within_a_proxied_process", module_path!().split_once("::").unwrap().1);
    let mut child = tokio::process::Command::new(own);
    child.args(["--exact", &name, "--test-threads=1"]).stdout(Stdio::null()).kill_on_drop(true);
    child.env(INSIDE, "1");
    for variable in ["HTTP_PROXY", "http_proxy"] {
        child.env(variable, proxy.url.trim_end_matches("/mcp"));
    }
    for variable in ["NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "REQUEST_METHOD"] {
        child.env_remove(variable);
    }
    let status = soon("the child", child.status()).await.unwrap();
    assert!(status.success(), "{status}");
    let seen = proxy.only("tools/call");
    assert_eq!((seen.path.as_str(), seen.header("host")), (PROXIED, Some("mcp.test")));
}

/// The child's part of the test above, which fails if this one is not run.
#[tokio::test]
async fn within_a_proxied_process() {
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    let http = Http::new(HttpClient::new().unwrap(), HttpOptions::new(PROXIED));
    let client =
        soon("the handshake", Client::connect(&http, ClientOptions::default())).await.unwrap();
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
}
