//! Uses hyper's client with its pool: headers parsed in advance, bodies read to their end without
//! parsing.

use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, Uri,
    body::Incoming,
    header::{self, HeaderMap, HeaderValue},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

use crate::requests::Requests;

/// Shared by all sessions, as in a host.
static CLIENT: OnceLock<Client<HttpConnector, Full<Bytes>>> = OnceLock::new();

pub(crate) struct Session {
    uri: Uri,
    headers: HeaderMap,
    /// The stream for messages without a request.
    _stream: Option<Incoming>,
}

impl Session {
    pub(crate) async fn open(url: &str, requests: &'static Requests) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let mut session = Self { uri: url.parse().expect("a URI"), headers, _stream: None };
        let (head, _) = session.post(requests.open).await;
        if let Some(id) = head.get("mcp-session-id") {
            session.headers.insert("mcp-session-id", id.clone());
        }
        let version = if requests.opened.is_empty() { "2026-07-28" } else { "2025-11-25" };
        session.headers.insert("mcp-protocol-version", HeaderValue::from_static(version));
        if !requests.opened.is_empty() {
            session.post(requests.opened).await;
            let stream = session.send(Method::GET, "").await;
            session._stream = stream.status().is_success().then(|| stream.into_body());
        }
        session
    }

    pub(crate) async fn ask(&self, request: &'static str) -> Bytes {
        self.post(request).await.1
    }

    async fn send(&self, method: Method, body: &'static str) -> Response<Incoming> {
        let client = CLIENT.get_or_init(|| {
            let mut connector = HttpConnector::new();
            connector.set_nodelay(true);
            Client::builder(TokioExecutor::new()).build(connector)
        });
        let mut request = Request::new(Full::new(Bytes::from_static(body.as_bytes())));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        client.request(request).await.expect("the server answers")
    }

    async fn post(&self, body: &'static str) -> (HeaderMap, Bytes) {
        let (head, mut body) = self.send(Method::POST, body).await.into_parts();
        assert!(head.status.is_success());
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.expect("the answer is whole").into_data() {
                bytes.extend_from_slice(&data);
            }
        }
        (head.headers, bytes.freeze())
    }
}
