//! Upgrades: direct, through a proxy, and refused.

use std::time::Duration;

use http::{HeaderValue, header};
use hyper_util::client::proxy::matcher::Matcher;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::net::{connector::ConnectorOptions, tls::TlsOptions};

const SWITCH: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello";

fn connector(proxies: Option<Matcher>) -> Connector {
    let tls = TlsOptions::default();
    let options = ConnectorOptions::new(&tls, Duration::from_secs(10));
    Connector::new(ConnectorOptions { proxies, ..options }).unwrap()
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("echo"));
    headers
}

async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Upgrades one connection and echoes one byte.
async fn serve(mut stream: TcpStream) -> String {
    let head = head(&mut stream).await;
    stream.write_all(SWITCH).await.unwrap();
    let byte = stream.read_u8().await.unwrap();
    stream.write_u8(byte).await.unwrap();
    head
}

async fn speak(upgraded: Option<Upgraded>) {
    let Upgraded { mut stream, rest } = upgraded.unwrap();
    stream.write_u8(b'x').await.unwrap();
    let mut said = rest.to_vec();
    while said.len() < 6 {
        assert_ne!(stream.read_buf(&mut said).await.unwrap(), 0);
    }
    assert_eq!(said, b"hellox");
}

#[tokio::test]
async fn the_connection_is_handed_over_with_the_bytes_behind_the_head() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server = tokio::spawn(async move { serve(listener.accept().await.unwrap().0).await });
    let uri = format!("http://{at}/mcp?a=b").parse().unwrap();
    let (response, upgraded) = upgrade(&connector(None), &uri, headers()).await.unwrap();
    assert_eq!(response.headers()["upgrade"], "echo");
    speak(upgraded).await;
    let seen = server.await.unwrap();
    assert!(seen.starts_with("GET /mcp?a=b HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("\r\nHost: {at}\r\n")), "{seen}");
}

#[tokio::test]
async fn an_unencrypted_upgrade_goes_through_a_tunnel_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://u:p@{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        let asked = head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        (asked, serve(stream).await)
    });
    let connector = connector(Some(Matcher::builder().all(proxy).build()));
    let uri = Uri::from_static("http://mcp.test/x");
    let (_, upgraded) = upgrade(&connector, &uri, headers()).await.unwrap();
    speak(upgraded).await;
    let (asked, seen) = server.await.unwrap();
    assert!(asked.starts_with("CONNECT mcp.test:80 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.to_ascii_lowercase().contains("proxy-authorization: basic dtpw"), "{asked}");
    assert!(seen.starts_with("GET /x HTTP/1.1\r\n") && !seen.contains("uthorization"), "{seen}");
}

#[tokio::test]
async fn another_response_is_returned_without_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let server = tokio::spawn(async move {
        let mut stream = listener.accept().await.unwrap().0;
        head(&mut stream).await;
        let refusal = b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\n\r\n";
        stream.write_all(refusal).await.unwrap();
        // The client closes the connection without reading the body.
        stream.read_u8().await.unwrap_err()
    });
    let (response, upgraded) = upgrade(&connector(None), &uri, headers()).await.unwrap();
    assert_eq!((response.status().as_u16(), upgraded.is_none()), (401, true));
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    server.await.unwrap();
}
