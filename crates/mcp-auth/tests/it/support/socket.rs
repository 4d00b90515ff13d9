//! The scripted authorization server on a local socket.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use url::Url;

use super::{Count, Reply, authority::Authority};

/// Serves an [`Authority`] at the origin of the MCP server, as in revision 2025-03-26.
pub(crate) struct Served {
    pub(crate) origin: String,
    pub(crate) authority: Arc<Mutex<Authority>>,
}

impl Served {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let mut authority = Authority::new(&origin);
        authority.resource = format!("{origin}/mcp");
        let authority = Arc::new(Mutex::new(authority));
        let (shared, base, ids) = (authority.clone(), origin.clone(), Arc::new(Count::default()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, base, ids) = (shared.clone(), base.clone(), ids.clone());
                tokio::spawn(async move { respond(stream, &shared, &base, &ids).await });
            }
        });
        Self { origin, authority }
    }

    /// Returns the URL of the MCP server.
    pub(crate) fn server(&self) -> String {
        format!("{}/mcp", self.origin)
    }
}

async fn respond(mut stream: TcpStream, shared: &Mutex<Authority>, base: &str, ids: &Count) {
    let Some((head, body)) = read(&mut stream).await else { return };
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let reply = match Url::parse(&format!("{base}{target}")) {
        Ok(url) => shared.lock().unwrap().handle(method, &url, &headers, &body, ids),
        Err(_) => Reply::status(400),
    };
    let mut text = format!(
        "HTTP/1.1 {} X\r\ncontent-length: {}\r\nconnection: close\r\n",
        reply.status,
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        for part in [name.as_str(), ": ", value.as_str(), "\r\n"] {
            text.push_str(part);
        }
    }
    text.push_str("\r\n");
    text.push_str(&reply.body);
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Reads the head and the body of one request.
async fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, length)| length.parse::<usize>().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}
