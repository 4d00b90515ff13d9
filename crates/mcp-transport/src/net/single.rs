//! One HTTP/1.1 request on a new connection.
//!
//! The connection is polled within the future of the exchange: no task is spawned, and dropping the future closes the
//! connection.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;

/// A connection, and how it ended.
pub(super) struct Carrier<'a, F: Future> {
    pub(super) connection: Pin<&'a mut F>,
    pub(super) ended: Option<F::Output>,
}

impl<'a, F: Future> Carrier<'a, F> {
    pub(super) fn new(connection: Pin<&'a mut F>) -> Self {
        Self { connection, ended: None }
    }

    /// Runs `exchange` while polling the connection.
    pub(super) async fn carry<T>(&mut self, exchange: impl Future<Output = T>) -> T {
        let mut exchange = pin!(exchange);
        poll_fn(|cx| {
            if self.ended.is_none()
                && let Poll::Ready(ended) = self.connection.as_mut().poll(cx)
            {
                self.ended = Some(ended);
            }
            exchange.as_mut().poll(cx)
        })
        .await
    }
}

/// Builds a request as sent directly to an HTTP/1.1 server: with a path and `Host`.
pub(super) fn request(
    method: Method,
    to: &Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let target = to.path_and_query().map_or("/", |target| target.as_str());
    let authority = to.authority().map_or("", |authority| authority.as_str());
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = target.parse()?;
    *request.headers_mut() = headers;
    request.headers_mut().insert(header::HOST, HeaderValue::from_str(authority)?);
    Ok(request)
}
