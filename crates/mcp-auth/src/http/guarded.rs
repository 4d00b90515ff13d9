//! [`HttpClient`] on the network stack of `mcp-transport`, which checks addresses and pins connections to them.

use mcp_transport::{
    BoxFuture,
    net::{FetchRequest, GuardedClient},
};

use super::{HttpClient, HttpError, HttpRequest, HttpResponse};

impl HttpClient for GuardedClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(async move {
            let headers: Vec<(&str, &str)> =
                request.headers.iter().map(|(name, value)| (*name, value.expose())).collect();
            let fetched = self.fetch(FetchRequest {
                method: request.method,
                url: &request.url,
                headers: &headers,
                body: request.body.expose().as_bytes(),
                guard: &request.guard,
                most_bytes: request.most_bytes,
                time_limit: request.time_limit,
            });
            let fetched = fetched.await?;
            Ok(HttpResponse::new(fetched.status, fetched.headers, fetched.body))
        })
    }
}
