//! Streamable HTTP: both eras on one endpoint, told apart by what a request says of itself.
//!
//! A request without a session is a conversation of its own; a session is one conversation with a
//! stream for each request and one for everything else.

mod body;
mod events;
mod gate;
mod modern;
mod options;
mod session;
mod streams;
mod table;

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use mcp_client::{ErrorObject, ProtocolVersion};
use mcp_jsonrpc::{DecodeError, Decoded, Message, decode};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};

pub use self::{body::Body as HttpBody, options::HttpServeOptions};
use self::{
    body::{Body, complaint, empty},
    session::HttpSession,
    table::Table,
};
use crate::serve::{
    params::PREFIX,
    request::{Facts, Headers, Meta},
    shared::Shared,
};

pub(crate) const SESSION_ID: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
/// How long the operating system is left alone after it refused a connection.
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// A [`ToolServer`](crate::ToolServer) over Streamable HTTP.
///
/// ```no_run
/// use mcp_bridge::{HttpServeOptions, ServeOptions, ToolServer};
///
/// # async fn example() -> std::io::Result<()> {
/// let server = ToolServer::new(ServeOptions::new("clock", "1.0.0"));
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// server.http(HttpServeOptions::default()).serve(listener).await
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct HttpServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    options: HttpServeOptions,
    sessions: Table,
}

impl HttpServer {
    pub(crate) fn new(shared: Arc<Shared>, options: HttpServeOptions) -> Self {
        let sessions = Table::new(options.max_sessions, options.session_idle);
        Self(Arc::new(Inner { shared, options, sessions }))
    }

    /// Takes connections for as long as it is polled. There is no TLS here: put it behind something that
    /// has it, or keep it on the loopback.
    ///
    /// # Errors
    /// When the listener is no use any more. What goes wrong on a connection costs only that.
    ///
    /// # Cancel safety
    /// Dropping it closes every connection. Sessions outlive it in the [`HttpServer`].
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let room = Arc::new(Semaphore::new(self.0.options.max_connections));
        let mut connections = JoinSet::new();
        loop {
            let Ok(permit) = room.clone().acquire_owned().await else { return Ok(()) };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) if is_passing(&error) => {
                    tracing::debug!(%error, "a connection was refused");
                    tokio::time::sleep(AFTER_REFUSAL).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // Small events should not wait for company.
            let _ = stream.set_nodelay(true);
            while connections.try_join_next().is_some() {}
            let server = self.clone();
            connections.spawn(async move {
                let service = service_fn(|request| {
                    let server = server.clone();
                    async move { Ok::<_, std::convert::Infallible>(server.handle(request).await) }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(server.0.options.read_timeout)
                    .max_buf_size(server.0.options.max_head)
                    .serve_connection(TokioIo::new(stream), service);
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection ended early");
                }
                drop(permit);
            });
        }
    }

    /// Answers one request, for hosts with an HTTP server of their own.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        if let Err(refusal) = gate::check(&head, &self.0.options) {
            return *refusal;
        }
        match head.method {
            Method::POST => {
                if let Err(refusal) = gate::check_post(&head.headers) {
                    return *refusal;
                }
                match self.read(body).await {
                    Ok(body) => self.post(&head.headers, &body).await,
                    Err(refusal) => *refusal,
                }
            }
            Method::GET => match self.session(&head.headers) {
                Ok(session) => session.get(&head.headers),
                Err(refusal) => *refusal,
            },
            Method::DELETE => match self.session(&head.headers) {
                Ok(session) => {
                    self.0.sessions.remove(session.id());
                    empty(StatusCode::NO_CONTENT)
                }
                Err(refusal) => *refusal,
            },
            _ => gate::method_not_allowed(),
        }
    }

    async fn read<B>(&self, body: B) -> Result<Bytes, Box<Response<Body>>>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limited = Limited::new(body, self.0.shared.options.max_message);
        let refuse = |status, problem| Err(Box::new(invalid(status, problem)));
        match tokio::time::timeout(self.0.options.read_timeout, limited.collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                refuse(StatusCode::PAYLOAD_TOO_LARGE, "the message is too large")
            }
            Ok(Err(_)) => refuse(StatusCode::BAD_REQUEST, "the message broke off"),
            Err(_) => refuse(StatusCode::REQUEST_TIMEOUT, "the message took too long"),
        }
    }

    async fn post(&self, headers: &HeaderMap, body: &Bytes) -> Response<Body> {
        let messages = match decode(body) {
            Ok(Decoded::One(message)) => vec![message],
            Ok(Decoded::Batch(batch)) => {
                let all: Result<Vec<Message>, _> = batch.into_iter().collect();
                match all {
                    // What is no batch in 2025-03-26 either.
                    Err(_) | Ok(_) if said_version(headers).is_some_and(is_modern) => {
                        return invalid(StatusCode::BAD_REQUEST, "there are no batches any more");
                    }
                    Ok(all) if !all.is_empty() => return self.batch(headers, all).await,
                    _ => return invalid(StatusCode::BAD_REQUEST, "not a batch of messages"),
                }
            }
            Err(error @ DecodeError::NotJsonRpc) => {
                return invalid(StatusCode::BAD_REQUEST, &error.to_string());
            }
            Err(error) => {
                let error = ErrorObject::new(ErrorObject::PARSE_ERROR, error.to_string());
                return complaint(StatusCode::BAD_REQUEST, error);
            }
        };
        let facts = facts(headers);
        match messages.into_iter().next() {
            Some(Message::Request(request)) => {
                let says_so = facts.headers.as_ref().is_some_and(Headers::is_modern)
                    || request.method == "server/discover"
                    || Meta::of(request.params.as_ref()).version.is_some();
                if says_so {
                    return modern::answer(&self.0, request, facts).await;
                }
                if request.method == "initialize" && !headers.contains_key(SESSION_ID) {
                    return self.initialize(request, &facts);
                }
                let message = Message::Request(request);
                self.in_session(headers, vec![message], &facts).await
            }
            Some(Message::Response(_)) if said_version(headers).is_some_and(is_modern) => {
                invalid(StatusCode::BAD_REQUEST, "clients send no answers any more")
            }
            Some(_) if said_version(headers).is_some_and(is_modern) => empty(StatusCode::ACCEPTED),
            Some(message) => self.in_session(headers, vec![message], &facts).await,
            None => invalid(StatusCode::BAD_REQUEST, "there is no message"),
        }
    }

    /// Several messages at once, which one revision allows.
    async fn batch(&self, headers: &HeaderMap, messages: Vec<Message>) -> Response<Body> {
        match self.session(headers) {
            Ok(session) if session.version() == ProtocolVersion::V2025_03_26 => {
                session.post(messages, &facts(headers), &self.0.options).await
            }
            Ok(_) => invalid(StatusCode::BAD_REQUEST, "this revision has no batches"),
            Err(refusal) => *refusal,
        }
    }

    fn initialize(&self, request: mcp_jsonrpc::Request, facts: &Facts) -> Response<Body> {
        let (session, response) =
            HttpSession::open(&self.0.shared, &self.0.options, request, facts);
        let Some(session) = session else { return response };
        if !self.0.sessions.insert(session) {
            let error = ErrorObject::new(crate::serve::error::BUSY, "too many sessions");
            let mut response = complaint(StatusCode::SERVICE_UNAVAILABLE, error);
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from(30));
            return response;
        }
        response
    }

    async fn in_session(
        &self,
        headers: &HeaderMap,
        messages: Vec<Message>,
        facts: &Facts,
    ) -> Response<Body> {
        match self.session(headers) {
            Ok(session) => session.post(messages, facts, &self.0.options).await,
            Err(refusal) => *refusal,
        }
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<HttpSession>, Box<Response<Body>>> {
        let refuse = |status, problem| Err(Box::new(invalid(status, problem)));
        if let Some(version) = said_version(headers) {
            match ProtocolVersion::parse(version) {
                None => return refuse(StatusCode::BAD_REQUEST, "unknown `MCP-Protocol-Version`"),
                Some(_) if is_modern(version) => return Err(Box::new(gate::method_not_allowed())),
                Some(_) => {}
            }
        }
        let Some(id) = headers.get(SESSION_ID) else {
            return refuse(StatusCode::BAD_REQUEST, "`Mcp-Session-Id` is missing");
        };
        match id.to_str().ok().and_then(|id| self.0.sessions.get(id)) {
            Some(session) => Ok(session),
            None => refuse(StatusCode::NOT_FOUND, "there is no such session"),
        }
    }
}

/// Whether the next connection may fare better.
fn is_passing(error: &io::Error) -> bool {
    !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotConnected)
}

fn said_version(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION).and_then(|value| value.to_str().ok())
}

fn is_modern(version: &str) -> bool {
    Headers { version: Some(version.to_owned()), ..Headers::default() }.is_modern()
}

fn facts(headers: &HeaderMap) -> Facts {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let params = headers.iter().filter(|(name, _)| name.as_str().starts_with(PREFIX));
    let params = params.filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    Facts {
        headers: Some(Headers {
            version: text(VERSION),
            method: text("mcp-method"),
            name: text("mcp-name"),
            params: params.collect(),
        }),
    }
}

fn invalid(status: StatusCode, problem: &str) -> Response<Body> {
    complaint(status, ErrorObject::new(ErrorObject::INVALID_REQUEST, problem))
}
