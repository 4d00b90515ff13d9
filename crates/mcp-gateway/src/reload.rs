//! Replaces the servers behind a running gateway, while calls in flight continue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_bridge::{Bridge, ServerConfig, error::CustomToolError, tool::CustomTool};
use mcp_config::approval::Fingerprint;

/// The changes of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerChanges {
    /// Servers that were removed or changed.
    pub gone: Vec<String>,
    /// Servers that were added or changed.
    pub come: Vec<String>,
}

impl ServerChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.come.is_empty()
    }

    /// Whether a server was removed without a successor of the same name.
    pub(crate) fn has_removed(&self) -> bool {
        self.gone.iter().any(|name| !self.come.contains(name))
    }
}

/// The servers behind a gateway. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct CurrentServers(Arc<Mutex<Vec<ServerConfig>>>);

impl CurrentServers {
    pub(crate) fn new(servers: Vec<ServerConfig>) -> Self {
        Self(Arc::new(Mutex::new(servers)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<ServerConfig>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a new list of servers to the bridge. Unchanged servers keep their connection and their calls.
    pub(crate) fn replace(&self, bridge: &Bridge, now: Vec<ServerConfig>) -> ServerChanges {
        let mut current = self.lock();
        let print = |config: &ServerConfig| (Fingerprint::of(config), config.trust);
        let is_in = |all: &[ServerConfig], one: &ServerConfig| {
            all.iter().any(|other| other.name == one.name && print(other) == print(one))
        };
        let mut changes = ServerChanges::default();
        for old in current.iter().filter(|old| !is_in(&now, old)) {
            // Calls in flight continue: an edited file does not cancel them.
            let _ = bridge.retire_server(old.name.as_str());
            changes.gone.push(old.name.to_string());
        }
        for new in now.iter().filter(|new| !is_in(&current, new)) {
            bridge.add_server_as_written(new.clone());
            let _ = bridge.connect(new.name.as_str());
            changes.come.push(new.name.to_string());
        }
        *current = now;
        changes
    }
}

/// Replaces the custom tools of a bridge. Returns those that it rejects.
pub(crate) fn replace_tools(
    bridge: &Bridge,
    current: &mut Vec<CustomTool>,
    now: Vec<CustomTool>,
) -> Vec<CustomToolError> {
    for old in current.iter().filter(|old| !now.contains(old)) {
        bridge.remove_tool(&old.name);
    }
    let new = now.iter().filter(|new| !current.contains(new));
    let refused = new.filter_map(|new| bridge.add_custom(new.clone()).err()).collect();
    *current = now;
    refused
}
