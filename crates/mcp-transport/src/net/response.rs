//! A response while its body arrives, and its errors.

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

use super::deferred_wake::{DeferredWake, defer_wakes};

/// A chunk of at most this size is often the last one.
const SMALL: usize = 16 * 1024;

/// A response with its head received and its body pending.
pub(crate) struct Response {
    status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    /// The connection carries only this response. An HTTP/2 connection carries many.
    is_alone: bool,
    /// The deferred wake of the connection for the last chunk taken.
    deferred: DeferredWake,
}

impl Response {
    pub(super) fn new(response: http::Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let is_alone = head.version <= Version::HTTP_11;
        Self {
            status: head.status,
            headers: head.headers,
            body,
            is_alone,
            deferred: DeferredWake::default(),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The length of the rest of the body, if known.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// Returns the next chunk of the body, or `None` at its end.
    ///
    /// # Cancel safety
    /// No data is lost when the future is dropped.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let frame = poll_fn(|cx| self.poll_frame(cx)).await;
            match frame.transpose().map_err(HttpError::Body)?.map(Frame::into_data) {
                None => return Ok(None),
                Some(Ok(data)) => return Ok(Some(data)),
                // Ignore trailers.
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
        let (polled, deferred) = defer_wakes(|| Pin::new(&mut self.body).poll_frame(cx));
        let before = std::mem::take(&mut self.deferred);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let is_small = frame.data_ref().is_none_or(|data| data.len() <= SMALL);
                // The connection has sent more since, so it does not wait for the earlier wake.
                before.forget();
                if is_small {
                    self.deferred = deferred;
                }
            }
            // The connection has finished this body.
            Poll::Ready(None) => {
                before.forget();
                deferred.forget();
            }
            // The connection may be waiting for the last chunk to be taken.
            Poll::Pending | Poll::Ready(Some(Err(_))) => {}
        }
        polled
    }
}

/// Why a response is missing or incomplete.
#[derive(Debug)]
pub(crate) enum HttpError {
    Request(hyper_util::client::legacy::Error),
    Body(hyper::Error),
}

impl HttpError {
    /// Whether no connection was established.
    pub(crate) fn is_connect(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_connect())
    }

    /// Whether the server closed the connection before the response was complete.
    pub(crate) fn is_hang_up(&self) -> bool {
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
