//! An answer as it comes in, and how one fails to.

use std::{
    error::Error,
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Version};
use hyper::body::{Body as _, Frame, Incoming};

use super::quiet::{Owed, keeping_wakes};

/// Behind a piece this small there is often none.
const SMALL: usize = 16 * 1024;

/// An answer whose head has arrived.
pub(in crate::http) struct Response {
    status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    /// One that only waits for us: with HTTP/2 a connection waits for many.
    is_alone: bool,
    /// The wake of the connection for the piece taken last.
    owed: Owed,
}

impl Response {
    pub(super) fn new(response: http::Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let is_alone = head.version <= Version::HTTP_11;
        Self { status: head.status, headers: head.headers, body, is_alone, owed: Owed::default() }
    }

    pub(in crate::http) fn status(&self) -> StatusCode {
        self.status
    }

    pub(in crate::http) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// How much of the body is still to come, where that is known.
    pub(in crate::http) fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// The next piece of the body. `None` at its end.
    ///
    /// # Cancel safety
    /// Nothing is lost when it is dropped.
    pub(in crate::http) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let frame = poll_fn(|cx| self.poll_frame(cx)).await;
            match frame.transpose().map_err(HttpError::Body)?.map(Frame::into_data) {
                None => return Ok(None),
                Some(Ok(data)) => return Ok(Some(data)),
                // Headers behind a body say nothing to us.
                Some(Err(_)) => {}
            }
        }
    }

    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if !self.is_alone {
            return Pin::new(&mut self.body).poll_frame(cx);
        }
        let (polled, owed) = keeping_wakes(|| Pin::new(&mut self.body).poll_frame(cx));
        let before = std::mem::take(&mut self.owed);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let is_small = frame.data_ref().is_none_or(|data| data.len() <= SMALL);
                // It has sent more since, so it does not wait for what came before.
                before.forget();
                if is_small {
                    self.owed = owed;
                }
            }
            // The connection is done with this body.
            Poll::Ready(None) => {
                before.forget();
                owed.forget();
            }
            // It may be waiting for us to take the last piece.
            Poll::Pending | Poll::Ready(Some(Err(_))) => {}
        }
        polled
    }
}

/// Why there is no answer, or not the whole of it.
#[derive(Debug)]
pub(in crate::http) enum HttpError {
    Request(hyper_util::client::legacy::Error),
    Body(hyper::Error),
}

impl HttpError {
    /// Whether there never was a connection to send anything over.
    pub(in crate::http) fn is_connect(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_connect())
    }

    /// Whether the server closed a connection on which an answer was still to come, or to be completed.
    pub(in crate::http) fn is_hang_up(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = match self {
            Self::Request(error) => error.source(),
            Self::Body(error) => Some(error),
        };
        while let Some(error) = cause {
            let hyper = error.downcast_ref::<hyper::Error>();
            let io = error.downcast_ref::<std::io::Error>();
            if hyper.is_some_and(hyper::Error::is_incomplete_message)
                || io.is_some_and(|io| io.kind() == std::io::ErrorKind::UnexpectedEof)
            {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
        }
    }
}

impl Error for HttpError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Request(error) => error.source(),
            Self::Body(error) => error.source(),
        }
    }
}
