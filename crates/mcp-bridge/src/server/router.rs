//! Routes requests of a server to the handler that owns the call they belong to.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

use futures_core::future::BoxFuture;
use mcp_client::{
    ClientCapabilities, ElicitRequest, ElicitResult, Handler, RawJson, ServerEvent,
    types::{CreateMessageRequest, CreateMessageResult, LogLevel, Root, events::Refusal},
};
use mcp_tool::OnLog;
use tokio::sync::Notify;

use crate::{options::BridgeOptions, sync::lock};

tokio::task_local! {
    /// The owner of the call that this task makes. Modern servers send their requests within the call.
    static OWNER: Arc<dyn Handler>;
}

/// The handler of one server's connections.
///
/// A modern server sends its requests in the response to a call, so the owner is known. Requests of a legacy
/// server do not name a call: they go to the common owner of the calls in flight, or to the host's handler if
/// the owners differ.
pub(crate) struct Router {
    server: Arc<str>,
    host: Arc<dyn Handler>,
    /// Whether the server may use sampling, and list the roots.
    may_sample: bool,
    may_see_roots: bool,
    calls: Mutex<Vec<CallInFlight>>,
    numbers: AtomicU64,
    /// Notified when a list of the server has changed.
    pub(crate) changed: Notify,
}

/// A call in flight.
struct CallInFlight {
    number: u64,
    owner: Arc<dyn Handler>,
    on_log: Option<OnLog>,
}

/// Removes a call from the list of calls in flight when dropped.
struct InFlightGuard<'a> {
    router: &'a Router,
    number: u64,
}

impl Router {
    pub(crate) fn new(server: &Arc<str>, trusted: bool, options: &BridgeOptions) -> Self {
        Self {
            server: server.clone(),
            host: options.handler.clone(),
            may_sample: trusted || options.untrusted_sampling,
            may_see_roots: trusted || options.untrusted_roots,
            calls: Mutex::default(),
            numbers: AtomicU64::new(0),
            changed: Notify::new(),
        }
    }

    /// The owner of the call that the current task makes, if any.
    pub(crate) fn current_owner() -> Option<Arc<dyn Handler>> {
        OWNER.try_with(Arc::clone).ok()
    }

    /// Makes a call on behalf of `owner`, or of the host if there is none. Log messages of the server during
    /// the call go to `on_log`.
    pub(crate) async fn on_behalf<T>(
        &self,
        owner: Option<Arc<dyn Handler>>,
        on_log: Option<OnLog>,
        call: impl Future<Output = T>,
    ) -> T {
        let owner = owner.unwrap_or_else(|| self.host.clone());
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let has_listener = on_log.is_some();
        self.lock().push(CallInFlight { number, owner: owner.clone(), on_log });
        let _guard = InFlightGuard { router: self, number };
        let done = OWNER.scope(owner, call).await;
        if has_listener {
            // A task of the client delivers notifications, so let it deliver the last log messages.
            tokio::task::yield_now().await;
        }
        done
    }

    /// The receivers of the server's log messages. A message does not name a call, so it is not delivered if
    /// the calls in flight have different owners.
    fn listeners(&self) -> Vec<OnLog> {
        let calls = self.lock();
        let Some((first, rest)) = calls.split_first() else { return Vec::new() };
        if !rest.iter().all(|other| is_same(&first.owner, &other.owner)) {
            return Vec::new();
        }
        let mut listeners: Vec<OnLog> = Vec::new();
        for on_log in calls.iter().filter_map(|call| call.on_log.as_ref()) {
            if !listeners.iter().any(|known| Arc::ptr_eq(known, on_log)) {
                listeners.push(on_log.clone());
            }
        }
        listeners
    }

    fn owner(&self) -> Arc<dyn Handler> {
        if let Some(owner) = Self::current_owner() {
            return owner;
        }
        let calls = self.lock();
        match calls.split_first() {
            Some((first, rest)) if rest.iter().all(|one| is_same(&first.owner, &one.owner)) => {
                first.owner.clone()
            }
            _ => self.host.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CallInFlight>> {
        lock(&self.calls)
    }
}

fn is_same(one: &Arc<dyn Handler>, other: &Arc<dyn Handler>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let mut calls = self.router.lock();
        if let Some(at) = calls.iter().position(|call| call.number == self.number) {
            calls.swap_remove(at);
        }
    }
}

impl Handler for Router {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = self.host.capabilities();
        offered.sampling &= self.may_sample;
        offered.sampling_tools &= self.may_sample;
        offered.roots &= self.may_see_roots;
        offered.roots_list_changed &= self.may_see_roots;
        offered
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let owner = self.owner();
        Box::pin(async move { owner.elicit_for(&self.server, request).await })
    }

    fn sample(
        &self,
        mut request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        let owner = self.owner();
        // The context would include all servers of this host.
        request.include_context = None;
        Box::pin(async move { owner.sample_for(&self.server, request).await })
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
            // A dropped event may have been a list change.
            | ServerEvent::Missed(_) => self.changed.notify_one(),
            ServerEvent::Log(line) => {
                let level = LogLevel::parse(&line.level).unwrap_or(LogLevel::Info);
                let data = line.data.clone().unwrap_or_else(RawJson::null);
                for on_log in self.listeners() {
                    on_log(level, line.logger.as_deref(), data.clone());
                }
                // The owner of the calls in flight also receives the log message.
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
