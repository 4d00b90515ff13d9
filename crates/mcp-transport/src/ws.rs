//! Servers behind a WebSocket: one message per text frame, credentials in the upgrade.

mod address;
mod close;
mod frame_reader;
mod frame_writer;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
mod keepalive;
mod link;
mod options;
mod upgrade;

use std::{fmt, sync::OnceLock};

use futures_core::future::BoxFuture;
use hyper_util::client::proxy::matcher::Matcher;

#[cfg(test)]
pub(crate) use self::frame_writer::FrameWriter;
pub use self::options::WsOptions;
use self::{address::Address, upgrade::Upgrade};
use crate::{
    error::ConnectError,
    link::{Connect, Link, Locality},
    net::{authorized::authorized, connector::Connector},
};

/// A server behind a WebSocket.
///
/// MCP does not define an official binding. Ours follows the first SDKs: the subprotocol `mcp`, which a server may
/// ignore, and one message per text frame. Binary frames that contain messages are accepted too.
///
/// ```no_run
/// use mcp_transport::{Connect, StaticHeaders, Ws, WsOptions};
/// use std::sync::Arc;
///
/// # async fn connect() -> Result<(), mcp_transport::ConnectError> {
/// let mut options = WsOptions::new("wss://example.com/mcp");
/// options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
/// let link = Ws::new(options).connect().await?;
/// # drop(link); Ok(()) }
/// ```
pub struct Ws {
    options: WsOptions,
    /// Created for the first connection, since it may read all of the system's certificates.
    connector: OnceLock<Connector>,
}

impl Ws {
    /// A transport to the server in `options`. Nothing is validated or opened yet.
    pub fn new(options: WsOptions) -> Self {
        Self { options, connector: OnceLock::new() }
    }

    async fn open(&self) -> Result<Link, ConnectError> {
        let options = &self.options;
        let address = &Address::parse(&options.url)?;
        let mut upgrade = Upgrade { address, options, connector: self.connector()? };
        let (stream, rest) = authorized(options.authorizer.as_deref(), &mut upgrade).await?;
        Ok(link::link(stream, rest.into(), options))
    }

    fn connector(&self) -> Result<&Connector, ConnectError> {
        if let Some(connector) = self.connector.get() {
            return Ok(connector);
        }
        let proxies = self.options.proxy_from_environment.then(Matcher::from_env);
        let connector = self.options.connector(proxies)?;
        Ok(self.connector.get_or_init(|| connector))
    }
}

impl fmt::Debug for Ws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ws").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Connect for Ws {
    /// # Panics
    /// When polled outside a tokio runtime with time and I/O.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(self.open())
    }

    fn locality(&self) -> Locality {
        Locality::Remote
    }
}

#[cfg(test)]
mod tests;
