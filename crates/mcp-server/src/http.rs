//! Streamable HTTP: both eras on one endpoint, told apart by the headers and `_meta` of each request.
//!
//! Each modern request has its own `ClientSession`. A legacy HTTP session has
//! one, with an event stream for each POST and a general stream for all other messages.

mod body;
mod connections;
mod events;
mod gate;
mod listen;
mod modern;
mod options;
mod serve;
mod session;
mod streams;
mod table;
#[cfg(test)]
mod tests;
mod token;
#[cfg(feature = "tower")]
mod tower;
#[cfg(unix)]
mod unix;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use mcp_jsonrpc::{
    ErrorObject, Message,
    wire::{DecodeError, Decoded, decode},
};
use mcp_types::{ProtocolVersion, header as names, method};

#[cfg(unix)]
pub use self::unix::UnixSocket;
pub use self::{
    body::Body as HttpBody,
    listen::{Connection, Listen, Stream},
    options::HttpServeOptions,
    token::{AccessToken, TokenError},
};
use self::{
    body::{Body, empty, error_response, invalid},
    connections::Activity,
    session::HttpSession,
    table::Table,
};
use crate::{
    error::BUSY,
    request::{Facts, Headers, Meta},
    shared::Shared,
};

/// A [`ToolServer`](crate::ToolServer) over Streamable HTTP.
///
/// ```no_run
/// use mcp_server::{ServeOptions, ToolServer, http::HttpServeOptions};
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

    /// Handles one request, for hosts that run their own HTTP server.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.answer(request, &Activity::default()).await
    }

    /// Handles one request. Its connection counts as in use once the request has passed the checks.
    async fn answer<B>(&self, request: Request<B>, activity: &Activity) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        if let Err(refusal) = gate::check(&head, &self.0.options) {
            // Delay guesses of a token. A request without a token is rejected at once.
            if refusal.status() == StatusCode::UNAUTHORIZED
                && head.headers.contains_key(header::AUTHORIZATION)
            {
                tokio::time::sleep(self.0.options.wrong_token_delay).await;
            }
            return *refusal;
        }
        let message = match self.message(&head, body).await {
            Ok(message) => message,
            Err(refusal) => return *refusal,
        };
        let working = activity.begin();
        let response = match message {
            Some(message) => self.post(&head.headers, &message).await,
            None => self.other(&head),
        };
        response.map(|body| body.during(working))
    }

    /// Reads the body of a POST.
    async fn message<B>(&self, head: &Parts, body: B) -> Result<Option<Bytes>, Box<Response<Body>>>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if head.method != Method::POST {
            return Ok(None);
        }
        gate::check_post(&head.headers)?;
        self.read(body).await.map(Some)
    }

    /// Handles GET, DELETE and unsupported methods.
    fn other(&self, head: &Parts) -> Response<Body> {
        if head.method != Method::GET && head.method != Method::DELETE {
            return gate::method_not_allowed();
        }
        match self.session(&head.headers) {
            Ok(session) if head.method == Method::GET => session.get(&head.headers),
            Ok(session) => {
                self.0.sessions.remove(session.id());
                empty(StatusCode::NO_CONTENT)
            }
            Err(refusal) => *refusal,
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
                refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large")
            }
            Ok(Err(_)) => refuse(StatusCode::BAD_REQUEST, "the request body ended early"),
            Err(_) => refuse(StatusCode::REQUEST_TIMEOUT, "reading the request body timed out"),
        }
    }

    async fn post(&self, headers: &HeaderMap, body: &Bytes) -> Response<Body> {
        let messages = match decode(body) {
            Ok(Decoded::One(message)) => vec![message],
            Ok(Decoded::Batch(batch)) => {
                let all: Result<Vec<Message>, _> = batch.into_iter().collect();
                match all {
                    // The only revision with batches is 2025-03-26.
                    Err(_) | Ok(_) if said_version(headers).is_some_and(is_modern) => {
                        return invalid(StatusCode::BAD_REQUEST, "batches are not supported");
                    }
                    Ok(all) if !all.is_empty() => return self.batch(headers, all).await,
                    _ => {
                        return invalid(StatusCode::BAD_REQUEST, "not a JSON-RPC message or batch");
                    }
                }
            }
            Err(error @ DecodeError::NotJsonRpc) => {
                return invalid(StatusCode::BAD_REQUEST, &error.to_string());
            }
            Err(error) => {
                let error = ErrorObject::new(ErrorObject::PARSE_ERROR, error.to_string());
                return error_response(StatusCode::BAD_REQUEST, error);
            }
        };
        let facts = facts(headers);
        match messages.into_iter().next() {
            Some(Message::Request(request)) => {
                let says_so = facts.headers.as_ref().is_some_and(Headers::is_modern)
                    || request.method == method::SERVER_DISCOVER
                    || Meta::of(request.params.as_ref()).version.is_some();
                if says_so {
                    return modern::answer(&self.0.shared, &self.0.options, request, facts).await;
                }
                if request.method == method::INITIALIZE && !headers.contains_key(names::SESSION_ID)
                {
                    return self.initialize(request, &facts);
                }
                let message = Message::Request(request);
                self.in_session(headers, vec![message], &facts).await
            }
            Some(Message::Response(_)) if said_version(headers).is_some_and(is_modern) => {
                invalid(StatusCode::BAD_REQUEST, "responses are not accepted in this revision")
            }
            Some(_) if said_version(headers).is_some_and(is_modern) => empty(StatusCode::ACCEPTED),
            Some(message) => self.in_session(headers, vec![message], &facts).await,
            None => invalid(StatusCode::BAD_REQUEST, "the body contains no message"),
        }
    }

    /// Handles a batch of messages, which only 2025-03-26 allows.
    async fn batch(&self, headers: &HeaderMap, messages: Vec<Message>) -> Response<Body> {
        match self.session(headers) {
            Ok(session) if session.version() == ProtocolVersion::V2025_03_26 => {
                session.post(messages, &facts(headers), &self.0.options).await
            }
            Ok(_) => invalid(StatusCode::BAD_REQUEST, "batches are not supported in this revision"),
            Err(refusal) => *refusal,
        }
    }

    fn initialize(&self, request: mcp_jsonrpc::Request, facts: &Facts) -> Response<Body> {
        let (session, response) =
            HttpSession::open(&self.0.shared, &self.0.options, request, facts);
        let Some(session) = session else { return response };
        if !self.0.sessions.insert(session) {
            let error = ErrorObject::new(BUSY, "too many sessions");
            let mut response = error_response(StatusCode::SERVICE_UNAVAILABLE, error);
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
        let Some(id) = headers.get(names::SESSION_ID) else {
            return refuse(StatusCode::BAD_REQUEST, "`Mcp-Session-Id` is missing");
        };
        match id.to_str().ok().and_then(|id| self.0.sessions.get(id)) {
            Some(session) => Ok(session),
            None => refuse(StatusCode::NOT_FOUND, "unknown session: send `initialize` again"),
        }
    }
}

fn said_version(headers: &HeaderMap) -> Option<&str> {
    headers.get(names::PROTOCOL_VERSION).and_then(|value| value.to_str().ok())
}

fn is_modern(version: &str) -> bool {
    Headers { version: Some(version.to_owned()), ..Headers::default() }.is_modern()
}

fn facts(headers: &HeaderMap) -> Facts {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let params = headers.iter().filter(|(name, _)| name.as_str().starts_with(names::PARAM_PREFIX));
    let params = params.filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    Facts {
        headers: Some(Headers {
            version: text(names::PROTOCOL_VERSION),
            method: text(names::METHOD),
            name: text(names::NAME),
            params: params.collect(),
        }),
    }
}
