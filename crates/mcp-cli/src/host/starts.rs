//! Records when servers were started, to measure latency without the time spent in the start queue.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_bridge::{
    ServerConfig,
    connect::{Connector, Login, ServerRoute},
    tool::BoxFuture,
};
use mcp_transport::{Connect, ConnectError, Link, Locality};
use tokio::time::Instant;

/// The last start of each server.
#[derive(Debug, Default)]
pub(crate) struct Starts(Mutex<HashMap<String, Instant>>);

impl Starts {
    pub(crate) fn of(&self, server: &str) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).copied()
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
        let mut starts = self.starts.0.lock().unwrap_or_else(PoisonError::into_inner);
        starts.insert(self.server.clone(), Instant::now());
        drop(starts);
        self.inner.connect()
    }

    fn locality(&self) -> Locality {
        self.inner.locality()
    }
}
