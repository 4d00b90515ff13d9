//! Proxies that require credentials, tunnels, and servers that decline requests unprocessed.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{FailureCause, cause};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
/// `u:p`.
const USER: &str = "proxy-authorization: basic dtpw";

/// A listener, and a client that uses it as the proxy for all requests.
async fn proxy(options: &HttpClientOptions) -> (TcpListener, HttpClient) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let proxy = format!("http://u:p@{}", listener.local_addr().unwrap());
    let client = HttpClient::by_way_of(Some(Matcher::builder().all(proxy).build()), options);
    (listener, client.unwrap())
}

/// Reads the head of the next request, in lower case.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap().to_ascii_lowercase()
}

async fn get(client: &HttpClient, uri: &'static str) -> Bytes {
    let uri = Uri::from_static(uri);
    let response = client.execute(&Method::GET, &uri, &HeaderMap::new(), None).await;
    let mut response = response.unwrap();
    assert_eq!(response.status(), 200);
    response.chunk().await.unwrap().unwrap_or_default()
}

/// A TLS acceptor for `mcp.test`, and the options of a client that trusts it.
fn secure(alpn: &[u8]) -> (TlsAcceptor, HttpClientOptions) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["mcp.test".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    let mut options = HttpClientOptions::default();
    options.tls.extra_roots.push(cert.pem().into());
    (TlsAcceptor::from(Arc::new(config)), options)
}

/// Accepts the request for a tunnel to `mcp.test`.
async fn tunnel(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    let head = head(&mut stream).await;
    assert!(head.starts_with("connect mcp.test:443 http/1.1\r\n") && head.contains(USER), "{head}");
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    stream
}

async fn serve_one(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let head = head(&mut stream).await;
    stream.write_all(ANSWER).await.unwrap();
    stream.flush().await.unwrap();
    head
}

#[tokio::test]
async fn forwarding_proxy_receives_its_credentials() {
    let (listener, client) = proxy(&HttpClientOptions::default()).await;
    let seen = tokio::spawn(async move { serve_one(listener.accept().await.unwrap().0).await });
    assert_eq!(get(&client, "http://mcp.test/x").await, "ok");
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("get http://mcp.test/x http/1.1\r\n"), "{seen}");
    assert!(seen.contains(USER), "{seen}");
}

#[tokio::test]
async fn tunnel_hides_the_proxy_from_a_tls_server() {
    let (acceptor, options) = secure(b"http/1.1");
    let (listener, client) = proxy(&options).await;
    let seen = tokio::spawn(async move {
        serve_one(acceptor.accept(tunnel(&listener).await).await.unwrap()).await
    });
    assert_eq!(get(&client, "https://mcp.test/x").await, "ok");
    let seen = seen.await.unwrap();
    assert!(seen.starts_with("get /x http/1.1\r\n"), "{seen}");
    assert!(!seen.contains("proxy-authorization"), "{seen}");
}

#[tokio::test]
async fn a_stream_refused_unseen_is_opened_again() {
    let (acceptor, options) = secure(b"h2");
    let (listener, client) = proxy(&options).await;
    let server = tokio::spawn(async move {
        let stream = acceptor.accept(tunnel(&listener).await).await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        respond.send_reset(h2::Reason::REFUSED_STREAM);
        let (_, mut respond) = connection.accept().await.unwrap().unwrap();
        let mut body = respond.send_response(http::Response::new(()), false).unwrap();
        body.send_data("ok".into(), true).unwrap();
        // Drives the connection until the client closes it.
        assert!(connection.accept().await.is_none_or(|more| more.is_err()));
    });
    assert_eq!(get(&client, "https://mcp.test/x").await, "ok");
    drop(client);
    server.await.unwrap();
}

#[tokio::test]
async fn a_proxy_that_speaks_no_http_is_refused_in_words() {
    let socks = Matcher::builder().all("socks5://127.0.0.1:1").build();
    let client = HttpClient::by_way_of(Some(socks), &HttpClientOptions::default()).unwrap();
    let uri = Uri::from_static("http://mcp.test/x");
    let refused = client.execute(&Method::GET, &uri, &HeaderMap::new(), None).await;
    let refused = refused.err().unwrap();
    assert!(refused.is_connect());
    let cause = refused.source().unwrap().to_string();
    assert_eq!(cause, "only proxies that speak HTTP can be used");
    assert_eq!(cause::of(&refused), FailureCause::Proxy);
}

#[tokio::test]
async fn a_failed_tunnel_or_unreachable_proxy_has_cause_proxy() {
    let (listener, client) = proxy(&HttpClientOptions::default()).await;
    let ask = async |uri: &'static str| {
        let uri = Uri::from_static(uri);
        let refused = client.execute(&Method::GET, &uri, &HeaderMap::new(), None).await;
        cause::of(&refused.err().unwrap())
    };
    let refuses = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await.unwrap();
    });
    assert_eq!(ask("https://mcp.test/x").await, FailureCause::Proxy);
    refuses.await.unwrap();
    assert_eq!(ask("https://mcp.test/x").await, FailureCause::Proxy);
    assert_eq!(ask("http://mcp.test/x").await, FailureCause::Proxy);
}
