//! Response bodies: a single message, or an event stream.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use http_body::Frame;
use mcp_jsonrpc::{ErrorObject, Message, Response as RpcResponse};

use super::connections::Working;

/// The body of a response: one message, or an event stream.
pub struct Body {
    kind: Kind,
    /// Marks the connection as in use until the last byte is written.
    _working: Option<Working>,
}

enum Kind {
    Whole(Option<Bytes>),
    Events(Box<dyn Feed>),
}

/// A source of events.
pub(super) trait Feed: Send {
    /// The next serialized event, or `None` at the end.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

impl Body {
    fn new(kind: Kind) -> Self {
        Self { kind, _working: None }
    }

    /// Marks the connection as in use until the body is dropped.
    pub(super) fn during(self, working: Working) -> Self {
        Self { _working: Some(working), ..self }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Whole(_) => "Body(whole)",
            Kind::Events(_) => "Body(events)",
        })
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.kind {
            Kind::Whole(data) => data.take(),
            Kind::Events(feed) => ready!(feed.poll_event(cx)),
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.kind {
            Kind::Whole(data) => {
                http_body::SizeHint::with_exact(data.as_ref().map_or(0, |data| data.len() as u64))
            }
            Kind::Events(_) => http_body::SizeHint::default(),
        }
    }
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::new(Kind::Whole(None)));
    *response.status_mut() = status;
    response
}

/// A response with one message.
pub(super) fn whole(status: StatusCode, message: &Message) -> Response<Body> {
    let mut text = Vec::with_capacity(256);
    message.write(&mut text);
    let mut response = Response::new(Body::new(Kind::Whole(Some(text.into()))));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// An "invalid request" error with this text.
pub(super) fn invalid(status: StatusCode, problem: &str) -> Response<Body> {
    error_response(status, ErrorObject::new(ErrorObject::INVALID_REQUEST, problem))
}

/// An error response without a request id.
pub(super) fn error_response(status: StatusCode, error: ErrorObject) -> Response<Body> {
    whole(status, &Message::Response(RpcResponse { id: None, outcome: Err(error) }))
}

/// A response that is an event stream.
pub(super) fn events(feed: impl Feed + 'static) -> Response<Body> {
    let mut response = Response::new(Body::new(Kind::Events(Box::new(feed))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // nginx and others buffer small writes without this header.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
