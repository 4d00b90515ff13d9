//! Resources of all servers under their own URIs, and subscriptions of clients.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mcp_bridge::{Bridge, Event, error::OfferError};
use mcp_client::CallError;
use mcp_server::{Call, Resources, ServeError};
use mcp_types::{BoxFuture, Resource, ResourceContents, ResourceTemplate};
use tokio::{sync::mpsc, task::AbortHandle};

use crate::{
    lookup::{open, refused, server_of},
    origin::{named_server, with_server},
    relay::Relay,
};

/// The number of updates that may be queued.
const UPDATES: usize = 256;

/// Resources of the servers behind the gateway.
#[derive(Debug)]
pub(crate) struct GatewayResources {
    bridge: Bridge,
    /// Sends the URIs of updated resources.
    updated: mpsc::Sender<String>,
    /// One task for each resource that clients have subscribed to.
    listeners: Mutex<HashMap<String, AbortHandle>>,
}

impl GatewayResources {
    pub(crate) fn new(bridge: &Bridge) -> (Self, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(UPDATES);
        (Self { bridge: bridge.clone(), updated: sender, listeners: Mutex::default() }, receiver)
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for GatewayResources {
    fn drop(&mut self) {
        self.listeners().drain().for_each(|(_, listener)| listener.abort());
    }
}

impl Resources for GatewayResources {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async {
            open(&self.bridge).await;
            let all = self.bridge.resources().await;
            let named = all.into_iter().map(|mut one| {
                one.resource.meta = Some(with_server(one.resource.meta.as_ref(), &one.server));
                one.resource
            });
            Ok(named.collect())
        })
    }

    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async {
            open(&self.bridge).await;
            let all = self.bridge.resource_templates().await;
            let named = all.into_iter().map(|mut one| {
                one.template.meta = Some(with_server(one.template.meta.as_ref(), &one.server));
                one.template
            });
            Ok(named.collect())
        })
    }

    fn read(
        &self,
        uri: String,
        call: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(async move {
            let named = named_server(&call);
            let Some(server) = server_of(&self.bridge, &uri, named.as_deref()).await else {
                return Err(ServeError::UnknownResource(uri));
            };
            let reading = self.bridge.read_resource(&server, &uri);
            let read = self.bridge.on_behalf(&server, Relay::to(Arc::new(call)), reading).await;
            read.map(|read| read.contents).map_err(refused)
        })
    }

    fn watch(&self, uri: &str) {
        let listening = listen(self.bridge.clone(), uri.to_owned(), self.updated.clone());
        let listener = tokio::spawn(listening).abort_handle();
        if let Some(before) = self.listeners().insert(uri.to_owned(), listener) {
            before.abort();
        }
    }

    fn unwatch(&self, uri: &str) {
        if let Some(listener) = self.listeners().remove(uri) {
            listener.abort();
        }
    }
}

/// Forwards updates of one resource while its server is connected.
async fn listen(bridge: Bridge, uri: String, tell: mpsc::Sender<String>) {
    let mut events = bridge.events();
    loop {
        if let Some(server) = server_of(&bridge, &uri, None).await {
            match bridge.subscribe(&server, vec![uri.clone()]).await {
                Ok(mut updates) => {
                    while let Some(uri) = updates.next().await {
                        if tell.send(uri).await.is_err() {
                            return;
                        }
                    }
                }
                // The server does not support or allow subscriptions: clients have to read the resource.
                Err(OfferError::Call(CallError::Unsupported(_) | CallError::Declined(_))) => return,
                Err(_) => {}
            }
        }
        // No server has the resource, or its server is disconnected: wait for the next connection.
        loop {
            match events.next().await {
                None => return,
                Some(Event::ServerConnected { .. } | Event::Missed(_)) => break,
                Some(_) => {}
            }
        }
    }
}
