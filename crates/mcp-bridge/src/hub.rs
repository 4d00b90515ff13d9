//! The state shared by all servers of a bridge.

use std::{io, sync::Mutex};

use tokio::task::JoinHandle;

use crate::{events::Bus, options::BridgeOptions, sync::lock, tools::registry::Registry};

/// Options, events and tools of one bridge. Servers hold it weakly, so that it is dropped with the bridge.
pub(crate) struct Hub {
    pub(crate) options: BridgeOptions,
    pub(crate) bus: Bus,
    pub(crate) registry: Registry,
    /// Background writes in progress.
    writes: Mutex<Vec<JoinHandle<()>>>,
}

impl Hub {
    pub(crate) fn new(options: BridgeOptions) -> Self {
        let registry = Registry::new(options.names, options.keep_hyphens);
        for name in ["tool_search", "tool_list"] {
            registry.naming(|namer| namer.reserve(name));
        }
        let bus = Bus::new(options.event_capacity).with_audit(options.audit.clone());
        Self { bus, registry, writes: Mutex::default(), options }
    }

    /// Writes a file in the background. Only the shutdown of the bridge waits for it.
    pub(crate) fn write_soon(&self, write: impl FnOnce() -> io::Result<()> + Send + 'static) {
        let writing = tokio::task::spawn_blocking(move || {
            if let Err(error) = write() {
                tracing::debug!(%error, "could not write the catalogue");
            }
        });
        let mut writes = lock(&self.writes);
        writes.retain(|write| !write.is_finished());
        writes.push(writing);
    }

    /// Takes the background writes that may still be running, to wait for them.
    pub(crate) fn take_writes(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *lock(&self.writes))
    }
}
