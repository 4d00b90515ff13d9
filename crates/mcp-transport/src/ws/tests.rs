//! Upgrades through a proxy, with a tunnel on loopback.

use std::{future::poll_fn, sync::Arc};

use mcp_jsonrpc::{FailureCause, Message, Request};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::*;
use crate::link::Inbound;

const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Upgrades one connection and responds to one request. Returns the head of the upgrade.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let head = head(&mut stream).await;
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("sec-websocket-key").then_some(value)
    });
    let accept = derive_accept_key(key.unwrap().as_bytes());
    let switch = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(switch.as_bytes()).await.unwrap();
    let length = stream.read_u16().await.unwrap() & 0x7f;
    stream.read_exact(&mut vec![0; 4 + usize::from(length)]).await.unwrap();
    stream.write_all(&[0x81, u8::try_from(ANSWER.len()).unwrap()]).await.unwrap();
    stream.write_all(ANSWER).await.unwrap();
    stream.flush().await.unwrap();
    head
}

/// A proxy that opens one tunnel to `server`, for any target. Returns its URL and the head of the request.
async fn proxy(server: std::net::SocketAddr) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://u:p@{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let asked = head(&mut client).await;
        let mut upstream = TcpStream::connect(server).await.unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        tokio::spawn(async move { copy_bidirectional(&mut client, &mut upstream).await });
        asked
    });
    (url, asked)
}

fn by_way_of(proxy: &str, options: WsOptions) -> Ws {
    let connector = options.connector(Some(Matcher::builder().all(proxy).build())).unwrap();
    let ws = Ws::new(options);
    assert!(ws.connector.set(connector).is_ok());
    ws
}

async fn call(ws: &Ws) {
    let mut link = ws.connect().await.unwrap();
    link.outlet.send(Message::Request(Request::new(1, "ping", None))).unwrap();
    let mut batch = Vec::new();
    poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.unwrap();
    assert!(matches!(&batch[..], [Inbound::Reply(reply)] if *reply.id() == 1.into()));
}

#[tokio::test]
async fn an_upgrade_goes_through_a_tunnel() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (proxy, asked) = proxy(listener.local_addr().unwrap()).await;
    let seen = tokio::spawn(async move { serve(listener.accept().await.unwrap().0).await });
    call(&by_way_of(&proxy, WsOptions::new("ws://mcp.test/x"))).await;
    let (asked, seen) = (asked.await.unwrap(), seen.await.unwrap());
    assert!(asked.starts_with("CONNECT mcp.test:80 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.to_ascii_lowercase().contains("proxy-authorization: basic dtpw"), "{asked}");
    assert!(seen.starts_with("GET /x HTTP/1.1\r\n") && !seen.contains("uthorization"), "{seen}");
}

#[tokio::test]
async fn a_secure_upgrade_goes_through_a_tunnel() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["mcp.test".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (proxy, asked) = proxy(listener.local_addr().unwrap()).await;
    let seen = tokio::spawn(async move {
        serve(acceptor.accept(listener.accept().await.unwrap().0).await.unwrap()).await
    });
    let mut options = WsOptions::new("wss://mcp.test/x");
    options.tls.extra_roots.push(cert.pem().into());
    call(&by_way_of(&proxy, options)).await;
    let (asked, seen) = (asked.await.unwrap(), seen.await.unwrap());
    assert!(asked.starts_with("CONNECT mcp.test:443 HTTP/1.1\r\n"), "{asked}");
    assert!(seen.starts_with("GET /x HTTP/1.1\r\n") && !seen.contains("uthorization"), "{seen}");
}

#[tokio::test]
async fn unreachable_proxy_has_cause_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = by_way_of(&proxy, WsOptions::new("ws://mcp.test/x")).connect().await.unwrap_err();
    assert_eq!(error.cause(), FailureCause::Proxy);
    assert!(error.to_string().starts_with("ws://mcp.test/x: "), "{error}");
}
