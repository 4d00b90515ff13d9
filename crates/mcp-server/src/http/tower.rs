//! The HTTP server as a tower `Service`, for axum and other frameworks.

use std::{
    convert::Infallible,
    error::Error,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use mcp_types::BoxFuture;
use tower_service::Service;

use super::{HttpServer, body::Body};

/// Handles requests as [`HttpServer::handle`] does.
///
/// The path of a request must be [`HttpServeOptions::path`](crate::http::HttpServeOptions::path), and its host one of
/// [`allowed_hosts`](crate::http::HttpServeOptions::allowed_hosts). In axum:
///
/// ```
/// use mcp_server::{ServeOptions, ToolServer, http::HttpServeOptions};
///
/// let server = ToolServer::new(ServeOptions::new("clock", "1.0.0"));
/// let mcp = server.http(HttpServeOptions::default());
/// let app: axum::Router = axum::Router::new().route_service("/mcp", mcp);
/// ```
impl<B> Service<Request<B>> for HttpServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.handle(request).await) })
    }
}
