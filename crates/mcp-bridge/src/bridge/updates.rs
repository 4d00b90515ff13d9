//! Changes of resources, through every reconnect.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use mcp_client::{CallError, Client, ListenFilter, ServerEvent, Subscription};

use super::core::Core;
use crate::server::{Listening, Server};

/// How long to wait before a connected server that would not listen is asked again.
const AGAIN: Duration = Duration::from_secs(5);
/// How long another server of the same name may take to follow one that is taken away.
const SUCCESSION: Duration = Duration::from_secs(2);

/// Changes of some resources of one server.
///
/// It outlives connections: when the server is back, it is asked again, and since nobody knows what
/// happened meanwhile, everything counts as changed. As long as it lives the server is not stopped as idle.
///
/// ```no_run
/// # async fn example(bridge: mcp_bridge::Bridge) -> Result<(), mcp_client::CallError> {
/// let mut updates = bridge.subscribe("notes", vec!["note://today".into()]).await?;
/// while let Some(uri) = updates.next().await {
///     println!("{uri} changed");
/// }
/// # Ok(()) }
/// ```
pub struct ResourceUpdates {
    core: Weak<Core>,
    server: Arc<str>,
    uris: Vec<String>,
    open: Option<Open>,
    /// Changes that are known and have not been told.
    changed: VecDeque<String>,
}

struct Open {
    subscription: Subscription,
    _listening: Listening,
}

impl ResourceUpdates {
    /// Subscribes to `uris`, starting the server if need be.
    pub(super) async fn open(
        core: &Arc<Core>,
        server: &Arc<Server>,
        uris: Vec<String>,
    ) -> Result<Self, CallError> {
        let client = server.ready_client().await?;
        let open = listen(server, &client, &uris).await?;
        let core = Arc::downgrade(core);
        let (server, changed) = (server.name.clone(), VecDeque::new());
        Ok(Self { core, server, uris, open: Some(open), changed })
    }

    /// The next resource that changed; `None` when the bridge no longer has the server, or has been shut down.
    ///
    /// # Cancel safety
    /// No change is lost.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(uri) = self.changed.pop_front() {
                return Some(uri);
            }
            let Some(open) = &mut self.open else {
                self.open = Some(self.reopened().await?);
                self.changed.extend(self.uris.iter().cloned());
                continue;
            };
            match open.subscription.next().await {
                Some(ServerEvent::ResourceUpdated { uri }) => return Some(uri),
                // One of those that were dropped may have been any of them.
                Some(ServerEvent::Missed(_)) => self.changed.extend(self.uris.iter().cloned()),
                Some(_) => {}
                None => self.open = None,
            }
        }
    }

    /// Waits until the server, or another one of its name, is connected and agrees.
    async fn reopened(&self) -> Option<Open> {
        let mut is_missed = false;
        loop {
            let server = self.core.upgrade()?.server(&self.server);
            let Some(server) = server.filter(|server| !server.is_over()) else {
                // Taken away, or about to be followed by another of its name.
                if std::mem::replace(&mut is_missed, true) {
                    return None;
                }
                tokio::time::sleep(SUCCESSION).await;
                continue;
            };
            is_missed = false;
            // Before looking: what changes meanwhile is heard.
            let mut status = server.watch();
            let client = server.client();
            if let Some(client) = &client
                && let Ok(open) = listen(&server, client, &self.uris).await
            {
                return Some(open);
            }
            // Not held while waiting: a server that is taken away must be able to go.
            drop(server);
            if client.is_some() {
                let _ = tokio::time::timeout(AGAIN, status.changed()).await;
            } else {
                // An error means that it is gone, which the next look will tell.
                let _ = status.changed().await;
            }
        }
    }
}

async fn listen(server: &Arc<Server>, client: &Client, uris: &[String]) -> Result<Open, CallError> {
    let mut filter = ListenFilter::default();
    filter.resource_uris = uris.to_vec();
    let subscription = client.listen(filter).await?;
    if subscription.acknowledged().resource_uris.is_empty() && !uris.is_empty() {
        return Err(CallError::Unsupported("subscriptions to resources"));
    }
    Ok(Open { subscription, _listening: server.listening() })
}

impl fmt::Debug for ResourceUpdates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceUpdates")
            .field("server", &self.server)
            .field("uris", &self.uris)
            .field("open", &self.open.is_some())
            .finish_non_exhaustive()
    }
}
