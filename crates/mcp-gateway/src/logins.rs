//! Reconnects servers that need a login after the user logged in, possibly in another process.

use std::{collections::HashSet, time::Duration};

use mcp_bridge::{Bridge, ServerConfig, connect::Identify};

use crate::reload::CurrentServers;

/// The interval at which logins are checked.
const LOGIN_CHECK: Duration = Duration::from_secs(2);

/// Reconnects servers once they are no longer marked as needing a login. Does nothing without `identify`.
pub(crate) async fn follow(
    bridge: &Bridge,
    identify: Option<&dyn Identify>,
    servers: &CurrentServers,
) {
    let Some(identify) = identify else { return };
    // Servers that were retried since they last needed a login.
    let mut tried: HashSet<String> = HashSet::new();
    loop {
        tokio::time::sleep(LOGIN_CHECK).await;
        for status in bridge.status() {
            let needs_login = status.state.needs_login();
            if !needs_login || is_needed(identify, &servers.lock(), &status.name) {
                tried.remove(&*status.name);
            } else if tried.insert(status.name.to_string()) {
                // Only once: without a store for logins, a server would be retried forever.
                let _ = bridge.reconnect(&status.name);
            }
        }
    }
}

/// Whether this server is marked as needing a login, by this or another process.
fn is_needed(identify: &dyn Identify, servers: &[ServerConfig], name: &str) -> bool {
    let config = servers.iter().find(|config| config.name.as_str() == name);
    let known = config.and_then(|config| identify.identify(config).ok());
    known.and_then(|identity| identity.login).is_some_and(|login| login.is_needed())
}
