//! Who answers what a server asks: the owner of the call it asks for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use mcp_client::{
    ClientCapabilities, CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult,
    Handler, Refusal, Root, ServerEvent,
};
use tokio::sync::Notify;

tokio::task_local! {
    /// The owner of the call this task makes: modern servers ask within the call itself.
    static OWNER: Arc<dyn Handler>;
}

/// The handler of one server's connections.
///
/// A modern server asks in its answer to a call, so the owner is known. A legacy one asks out of the
/// blue: the question goes to the owner of the calls in flight, if they have one owner, and to the host
/// otherwise, which is above them all.
pub(crate) struct Router {
    host: Arc<dyn Handler>,
    owners: Mutex<Vec<Arc<dyn Handler>>>,
    /// A list of the server changed.
    pub(crate) changed: Notify,
}

/// A call in flight, for as long as it lives.
pub(crate) struct Owning<'a> {
    router: &'a Router,
    owner: Arc<dyn Handler>,
}

impl Router {
    pub(crate) fn new(host: Arc<dyn Handler>) -> Self {
        Self { host, owners: Mutex::default(), changed: Notify::new() }
    }

    /// Makes a call on behalf of `owner`; of the host, if there is none.
    pub(crate) async fn on_behalf<T>(
        &self,
        owner: Option<Arc<dyn Handler>>,
        call: impl Future<Output = T>,
    ) -> T {
        let owner = owner.unwrap_or_else(|| self.host.clone());
        self.lock().push(owner.clone());
        let _owning = Owning { router: self, owner: owner.clone() };
        OWNER.scope(owner, call).await
    }

    fn owner(&self) -> Arc<dyn Handler> {
        if let Ok(owner) = OWNER.try_with(Arc::clone) {
            return owner;
        }
        let owners = self.lock();
        match owners.split_first() {
            Some((first, rest)) if rest.iter().all(|other| is_same(first, other)) => first.clone(),
            _ => self.host.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<dyn Handler>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same(one: &Arc<dyn Handler>, other: &Arc<dyn Handler>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

impl Drop for Owning<'_> {
    fn drop(&mut self) {
        let mut owners = self.router.lock();
        if let Some(at) = owners.iter().position(|owner| is_same(owner, &self.owner)) {
            owners.swap_remove(at);
        }
    }
}

impl Handler for Router {
    fn capabilities(&self) -> ClientCapabilities {
        self.host.capabilities()
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let owner = self.owner();
        Box::pin(async move { owner.elicit(request).await })
    }

    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        let owner = self.owner();
        Box::pin(async move { owner.sample(request).await })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        let owner = self.owner();
        Box::pin(async move { owner.roots().await })
    }

    fn event(&self, event: ServerEvent) {
        match &event {
            ServerEvent::ToolsChanged
            | ServerEvent::PromptsChanged
            | ServerEvent::ResourcesChanged
            // One of those that were dropped may have been a change.
            | ServerEvent::Missed(_) => self.changed.notify_one(),
            ServerEvent::Log(_) => {
                // Whoever has calls under way may want to know what goes on in them.
                let owner = self.owner();
                if !is_same(&owner, &self.host) {
                    owner.event(event.clone());
                }
            }
            _ => {}
        }
        self.host.event(event);
    }
}
