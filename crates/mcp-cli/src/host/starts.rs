//! Records when servers were started, to measure latency without the time spent in the start queue, and their links, to
//! show their logs.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use mcp_bridge::{
    ServerConfig,
    connect::{Connector, Login, ServerRoute},
    tool::BoxFuture,
};
use mcp_transport::{Connect, ConnectError, Link, Locality, Outlet, diagnostics::Diagnostics};
use tokio::time::Instant;

/// The last start of each server.
#[derive(Default)]
pub(crate) struct Starts(Mutex<HashMap<String, Start>>);

struct Start {
    at: Instant,
    /// Does not keep the connection open.
    link: Option<Weak<dyn Outlet>>,
}

impl Starts {
    pub(crate) fn of(&self, server: &str) -> Option<Instant> {
        self.lock().get(server).map(|start| start.at)
    }

    /// Returns the stderr and the frames of a server that is connected.
    pub(crate) fn diagnostics(&self, server: &str) -> Option<Diagnostics> {
        let link = self.lock().get(server)?.link.as_ref()?.upgrade()?;
        Some(link.diagnostics())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Start>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Starts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Starts").field("servers", &self.lock().len()).finish()
    }
}

/// A connector that records when connections of `inner` begin.
pub(crate) struct TimedConnector {
    pub(crate) inner: Arc<dyn Connector>,
    pub(crate) starts: Arc<Starts>,
}

impl Connector for TimedConnector {
    fn open(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        let mut way = self.inner.open(config)?;
        way.connect = Arc::new(TimedConnect {
            inner: way.connect,
            server: config.name.to_string(),
            starts: self.starts.clone(),
        });
        Ok(way)
    }

    fn login(&self, config: &ServerConfig) -> Option<Arc<dyn Login>> {
        self.inner.login(config)
    }

    fn is_refused(&self, config: &ServerConfig) -> bool {
        self.inner.is_refused(config)
    }
}

struct TimedConnect {
    inner: Arc<dyn Connect>,
    server: String,
    starts: Arc<Starts>,
}

impl Connect for TimedConnect {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        let start = Start { at: Instant::now(), link: None };
        self.starts.lock().insert(self.server.clone(), start);
        Box::pin(async {
            let link = self.inner.connect().await?;
            if let Some(start) = self.starts.lock().get_mut(&self.server) {
                start.link = Some(Arc::downgrade(&link.outlet));
            }
            Ok(link)
        })
    }

    fn locality(&self) -> Locality {
        self.inner.locality()
    }
}
