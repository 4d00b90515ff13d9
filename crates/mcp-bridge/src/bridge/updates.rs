//! Resource updates that survive reconnects.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use futures_core::{Stream, future::BoxFuture};
use mcp_client::{CallError, Client, ServerEvent, Subscription, request::ListenFilter};

use crate::{
    directory::Directory,
    server::{Listening, Server},
};

/// The delay before a connected server that refused a subscription is asked again.
const RETRY_DELAY: Duration = Duration::from_secs(5);
/// How long to wait for a server of the same name after one was removed.
const REPLACEMENT_WAIT: Duration = Duration::from_secs(2);

/// A [`Stream`] of changes to some resources of one server.
///
/// It survives reconnects by subscribing again. Changes during the gap are unknown, so after a reconnect every resource
/// is reported as changed. While this value exists, the server is not stopped as idle.
///
/// ```no_run
/// # async fn example(bridge: mcp_bridge::Bridge) -> Result<(), mcp_bridge::error::OfferError> {
/// let mut updates = bridge.subscribe("notes", vec!["note://today".into()]).await?;
/// while let Some(uri) = updates.next().await {
///     println!("{uri} changed");
/// }
/// # Ok(()) }
/// ```
pub struct ResourceUpdates {
    server: Arc<str>,
    uris: Arc<[String]>,
    state: State,
}

/// The subscription, or the future that waits on it. A future that was not polled to its end is kept, so that no change is
/// lost.
enum State {
    Ready(Box<Source>),
    Waiting(BoxFuture<'static, (Option<String>, Box<Source>)>),
    Over,
}

struct Source {
    directory: Weak<Directory>,
    server: Arc<str>,
    uris: Arc<[String]>,
    open: Option<Open>,
    /// Changes that are known and not yet returned.
    changed: VecDeque<String>,
}

struct Open {
    subscription: Subscription,
    _listening: Listening,
}

impl ResourceUpdates {
    /// Subscribes to `uris`, starting the server if needed.
    pub(super) async fn open(
        directory: &Arc<Directory>,
        server: &Arc<Server>,
        uris: Vec<String>,
    ) -> Result<Self, CallError> {
        let client = server.ready_client().await?;
        let open = listen(server, &client, &uris).await?;
        let (server, uris): (_, Arc<[String]>) = (server.name.clone(), uris.into());
        let source = Source {
            directory: Arc::downgrade(directory),
            server: server.clone(),
            uris: uris.clone(),
            open: Some(open),
            changed: VecDeque::new(),
        };
        Ok(Self { server, uris, state: State::Ready(Box::new(source)) })
    }

    /// Returns the next changed resource, or `None` once the server was removed or the bridge was shut down.
    ///
    /// # Cancel safety
    /// No change is lost.
    pub async fn next(&mut self) -> Option<String> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<String>> {
        let mut waiting = match std::mem::replace(&mut self.state, State::Over) {
            State::Over => return Poll::Ready(None),
            State::Waiting(waiting) => waiting,
            State::Ready(mut source) => Box::pin(async move { (source.next().await, source) }),
        };
        match waiting.as_mut().poll(cx) {
            Poll::Pending => {
                self.state = State::Waiting(waiting);
                Poll::Pending
            }
            Poll::Ready((uri, source)) => {
                if uri.is_some() {
                    self.state = State::Ready(source);
                }
                Poll::Ready(uri)
            }
        }
    }
}

impl Stream for ResourceUpdates {
    type Item = String;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        self.get_mut().poll(cx)
    }
}

impl Source {
    async fn next(&mut self) -> Option<String> {
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
                // The dropped events may have concerned any of the resources.
                Some(ServerEvent::Missed(_)) => self.changed.extend(self.uris.iter().cloned()),
                Some(_) => {}
                None => self.open = None,
            }
        }
    }

    /// Waits until the server, or another one of its name, is connected and accepts the subscription.
    async fn reopened(&self) -> Option<Open> {
        let mut is_missed = false;
        loop {
            let server = self.directory.upgrade()?.server(&self.server);
            let Some(server) = server.filter(|server| !server.is_stopped_for_good()) else {
                // The server was removed, or is about to be replaced by another of the same name.
                if std::mem::replace(&mut is_missed, true) {
                    return None;
                }
                tokio::time::sleep(REPLACEMENT_WAIT).await;
                continue;
            };
            is_missed = false;
            // Watch before looking, so that no change in between is missed.
            let mut status = server.watch();
            let client = server.client();
            if let Some(client) = &client
                && let Ok(open) = listen(&server, client, &self.uris).await
            {
                return Some(open);
            }
            // Not held while waiting, so that a removed server can be dropped.
            drop(server);
            if client.is_some() {
                let _ = tokio::time::timeout(RETRY_DELAY, status.changed()).await;
            } else {
                // An error means that the server was removed; the next iteration handles that.
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
            .finish_non_exhaustive()
    }
}
