//! What an answer is made of.

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
use mcp_client::ErrorObject;
use mcp_jsonrpc::{Message, Response as RpcResponse};

/// The body of a response: whole, or event by event.
pub struct Body(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Events(Box<dyn Feed>),
}

/// Where events come from.
pub(super) trait Feed: Send {
    /// The next event as it is written, or the end.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
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
        let data = match &mut self.0 {
            Kind::Whole(data) => data.take(),
            Kind::Events(feed) => ready!(feed.poll_event(cx)),
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.0 {
            Kind::Whole(data) => {
                http_body::SizeHint::with_exact(data.as_ref().map_or(0, |data| data.len() as u64))
            }
            Kind::Events(_) => http_body::SizeHint::default(),
        }
    }
}

/// Nothing but a status.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body(Kind::Whole(None)));
    *response.status_mut() = status;
    response
}

/// One message.
pub(super) fn whole(status: StatusCode, message: &Message) -> Response<Body> {
    let mut text = Vec::with_capacity(256);
    message.write(&mut text);
    let mut response = Response::new(Body(Kind::Whole(Some(text.into()))));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// An error that belongs to no request we could name.
pub(super) fn complaint(status: StatusCode, error: ErrorObject) -> Response<Body> {
    whole(status, &Message::Response(RpcResponse { id: None, outcome: Err(error) }))
}

/// A stream of events.
pub(super) fn events(feed: impl Feed + 'static) -> Response<Body> {
    let mut response = Response::new(Body(Kind::Events(Box::new(feed))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Some proxies hold small writes back unless they are told not to.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
