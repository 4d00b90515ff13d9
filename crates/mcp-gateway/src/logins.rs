//! Reconnects servers that need a login after the user logged in, possibly in another process.

use std::{collections::HashSet, time::Duration};

use mcp_bridge::{Bridge, connect::Connector};

use crate::reload::CurrentServers;

/// The interval at which logins are checked.
const LOGIN_CHECK: Duration = Duration::from_secs(2);

/// Reconnects servers once their connector no longer reports that their credentials are refused. The connector expands
/// the entry first, as for a connection: what identifies a login may come from a variable.
pub(crate) async fn follow(bridge: &Bridge, connector: &dyn Connector, servers: &CurrentServers) {
    // Servers that were retried since they last needed a login.
    let mut tried: HashSet<String> = HashSet::new();
    loop {
        tokio::time::sleep(LOGIN_CHECK).await;
        for status in bridge.status() {
            if !status.state.needs_login() || is_refused(connector, servers, &status.name) {
                tried.remove(&*status.name);
            } else if tried.insert(status.name.to_string()) {
                // Only once: without a store for logins, a server would be retried forever.
                let _ = bridge.reconnect(&status.name);
            }
        }
    }
}

/// Whether this server is marked as needing a login, by this or another process.
fn is_refused(connector: &dyn Connector, servers: &CurrentServers, name: &str) -> bool {
    // Expansion may read files, so the lock is not held meanwhile.
    let config = servers.lock().iter().find(|config| config.name.as_str() == name).cloned();
    config.is_some_and(|config| connector.is_refused(&config))
}
