//! HTTP transports: Streamable HTTP of both eras, and the older HTTP with SSE.
//!
//! Each message is sent in a separate POST, and each POST is a future in [`exchange_set`] that the inlet's task
//! drives. The messages distinguish the eras: a request that names its protocol version in `_meta` is a modern one,
//! `initialize` opens a legacy session, and a server that supports neither may be one of 2024-11-05.
//!
//! The rules are in [`protocol`], [`outbox`], [`reachability`] and [`reconnect`], which perform no I/O; MCP's names
//! are in [`vocabulary`]. The other modules perform the I/O.

mod awaited;
mod event_stream;
mod exchange;
mod exchange_set;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
mod header_params;
mod header_value;
mod link;
mod loss;
mod options;
mod outbox;
mod protocol;
mod reachability;
mod reconnect;
mod request;
mod response;
mod server_stream;
mod session;
mod sse_2024;
mod vocabulary;

use std::sync::Arc;

use futures_core::future::BoxFuture;

pub use self::options::HttpOptions;
use self::{link::link, options::Settings, session::Session};
use crate::{
    error::ConnectError,
    link::{Connect, Link, Locality},
    net::client::HttpClient,
};

/// Connects to a server over HTTP, of any protocol revision.
///
/// ```no_run
/// use mcp_transport::{Connect, Http, HttpClient, HttpOptions};
///
/// # async fn example() -> Result<(), mcp_transport::ConnectError> {
/// // One client for all servers of a host: they share connections and TLS sessions.
/// let client = HttpClient::new()?;
/// let server = Http::new(client, HttpOptions::new("https://example.com/mcp"));
/// let link = server.connect().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Http {
    client: HttpClient,
    options: HttpOptions,
}

impl Http {
    /// A transport to the server in `options`, over connections of `client`.
    pub fn new(client: HttpClient, options: HttpOptions) -> Self {
        Self { client, options }
    }
}

impl Connect for Http {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let settings = Settings::read(&self.options)?;
            Ok(link(Arc::new(Session::new(self.client.clone(), settings))))
        })
    }

    fn locality(&self) -> Locality {
        Locality::Remote
    }
}

/// Connects to a server over HTTP with SSE, as of 2024-11-05: all its messages arrive on one stream.
///
/// [`Http`] detects such servers too; `Sse` skips the detection.
#[derive(Clone, Debug)]
pub struct Sse {
    client: HttpClient,
    options: HttpOptions,
}

impl Sse {
    /// A transport to the server with its event stream at the URL of `options`.
    pub fn new(client: HttpClient, options: HttpOptions) -> Self {
        Self { client, options }
    }
}

impl Connect for Sse {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            let settings = Settings::read(&self.options)?;
            let session = Arc::new(Session::new(self.client.clone(), settings));
            let found = sse_2024::find(&session).await;
            found.map_err(|loss| ConnectError::Refused(Box::new(loss)))?;
            Ok(link(session))
        })
    }

    fn locality(&self) -> Locality {
        Locality::Remote
    }
}
