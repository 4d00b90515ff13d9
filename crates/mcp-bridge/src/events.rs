//! Events of a bridge, as a stream and as counters.

mod audit;

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_core::{Stream, future::BoxFuture};
use mcp_audit::{Auditor, Record};
use mcp_client::diagnostics::ErrorClass;
use mcp_tool::FailureKind;
use tokio::sync::broadcast;

/// An event of a bridge. Events never carry arguments, results or secrets.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub enum Event {
    /// A connection is being opened.
    ServerConnecting { server: Arc<str>, attempt: u32 },
    /// A server's tools can be called.
    ServerConnected { server: Arc<str>, tools: usize, generation: u64 },
    /// A connection ended.
    ServerDisconnected { server: Arc<str> },
    /// A connection could not be opened, or was lost.
    ServerError { server: Arc<str>, problem: Arc<str>, class: ErrorClass },
    /// The user has to log in.
    NeedsAuth { server: Arc<str> },
    /// A server's list of tools changed. The change is visible from the next snapshot.
    ListChanged { server: Arc<str>, added: usize, removed: usize, changed: usize },
    /// A server announced a changed list, and all its lists were fetched again.
    ListsFetched { server: Arc<str> },
    /// A server lists more tools than are accepted. The tools of the first pages are kept.
    ListCut { server: Arc<str>, kept: usize },
    /// A defective tool was quarantined.
    Quarantined { server: Arc<str>, tool: String, reason: String },
    /// A likely credential was redacted from a description.
    DescriptionRedacted { server: Arc<str>, tool: String },
    /// The name of a tool was taken, so the tool was renamed.
    NameTaken { server: Arc<str>, tool: String, name: String },
    /// A server's instructions were truncated.
    InstructionsCut { server: Arc<str> },
    /// A call began.
    ToolCall { tool: Arc<str>, call: u64 },
    /// A call ended.
    ToolResult {
        tool: Arc<str>,
        call: u64,
        is_error: bool,
        failure: Option<FailureKind>,
        took: Duration,
    },
    /// A tool that was deferred to search was loaded.
    ToolLoaded { tool: Arc<str> },
    /// A tool search ran.
    ToolSearch { results: usize },
    /// A call was denied by a rule or the user, or the user could not be asked. `message` tells the user why, and how
    /// to allow it; the model only learns that it was denied.
    Denied { tool: Arc<str>, permission: String, message: String },
    /// A tool's definition differs from the one first seen or last accepted.
    DefinitionChanged { server: Arc<str>, tool: String, permission: String },
    /// A call was queued for review of the plan.
    Queued { tool: Arc<str>, id: u64 },
    /// A result was truncated.
    Truncated { tool: Arc<str>, chars: usize },
    /// Arguments were repaired.
    Repaired { tool: Arc<str>, changes: usize },
    /// Arguments or a result were passed on unchecked, because the check would have been too expensive.
    Unchecked { tool: Arc<str>, reason: Arc<str> },
    /// A call is retried.
    Retried { tool: Arc<str>, failures: u32 },
    /// A call failed permanently, and is kept for inspection.
    FailedCall { tool: Arc<str>, kind: FailureKind },
    /// This many events were dropped, because the receiver is too slow.
    Missed(u64),
}

impl Event {
    /// The name for logs, such as `server.connected`.
    pub fn name(&self) -> &'static str {
        match self {
            Event::ServerConnecting { .. } => "server.connecting",
            Event::ServerConnected { .. } => "server.connected",
            Event::ServerDisconnected { .. } => "server.disconnected",
            Event::ServerError { .. } => "server.error",
            Event::NeedsAuth { .. } => "server.needsAuth",
            Event::ListChanged { .. } => "server.listChanged",
            Event::ListsFetched { .. } => "server.listsFetched",
            Event::ListCut { .. } => "server.listCut",
            Event::Quarantined { .. } => "tool.quarantined",
            Event::DescriptionRedacted { .. } => "tool.descriptionRedacted",
            Event::NameTaken { .. } => "tool.nameTaken",
            Event::InstructionsCut { .. } => "server.instructionsCut",
            Event::ToolCall { .. } => "tool.call",
            Event::ToolResult { .. } => "tool.result",
            Event::ToolLoaded { .. } => "tool.dynamicLoad",
            Event::ToolSearch { .. } => "tool.search",
            Event::Denied { .. } => "tool.denied",
            Event::DefinitionChanged { .. } => "tool.definitionChanged",
            Event::Queued { .. } => "tool.queued",
            Event::Truncated { .. } => "tool.truncated",
            Event::Repaired { .. } => "tool.repaired",
            Event::Unchecked { .. } => "tool.unchecked",
            Event::Retried { .. } => "tool.retried",
            Event::FailedCall { .. } => "tool.deadLetter",
            Event::Missed(_) => "missed",
        }
    }
}

/// A receiver of events, and a [`Stream`]. It is bounded: a slow receiver gets [`Event::Missed`] with a count.
///
/// ```no_run
/// # async fn example(bridge: mcp_bridge::Bridge) {
/// let mut events = bridge.events();
/// while let Some(event) = events.next().await {
///     println!("{}", event.name());
/// }
/// # }
/// ```
pub struct Events(Listening);

/// A receiver, or the future that waits on it.
enum Listening {
    Ready(broadcast::Receiver<Event>),
    Waiting(BoxFuture<'static, (Received, broadcast::Receiver<Event>)>),
    Over,
}

type Received = Result<Event, broadcast::error::RecvError>;

impl Events {
    /// Returns the next event, or `None` once the bridge is dropped.
    ///
    /// # Cancel safety
    /// No event is lost.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// Returns the next event if one is available.
    pub fn try_next(&mut self) -> Option<Event> {
        match self.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(event) => event,
            Poll::Pending => None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            match std::mem::replace(&mut self.0, Listening::Over) {
                Listening::Over => return Poll::Ready(None),
                Listening::Ready(mut receiver) => match receiver.try_recv() {
                    Ok(event) => {
                        self.0 = Listening::Ready(receiver);
                        return Poll::Ready(Some(event));
                    }
                    Err(broadcast::error::TryRecvError::Lagged(missed)) => {
                        self.0 = Listening::Ready(receiver);
                        return Poll::Ready(Some(Event::Missed(missed)));
                    }
                    Err(broadcast::error::TryRecvError::Closed) => return Poll::Ready(None),
                    Err(broadcast::error::TryRecvError::Empty) => {
                        self.0 = Listening::Waiting(Box::pin(async move {
                            let event = receiver.recv().await;
                            (event, receiver)
                        }));
                    }
                },
                Listening::Waiting(mut waiting) => match waiting.as_mut().poll(cx) {
                    Poll::Pending => {
                        self.0 = Listening::Waiting(waiting);
                        return Poll::Pending;
                    }
                    Poll::Ready((event, receiver)) => {
                        let event = match event {
                            Ok(event) => event,
                            Err(broadcast::error::RecvError::Lagged(missed)) => {
                                Event::Missed(missed)
                            }
                            Err(broadcast::error::RecvError::Closed) => return Poll::Ready(None),
                        };
                        self.0 = Listening::Ready(receiver);
                        return Poll::Ready(Some(event));
                    }
                },
            }
        }
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.get_mut().poll(cx)
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("has_audit", &self.has_audit()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

/// The number of events of each kind since the bridge was created, for export as metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Calls started.
    pub calls: u64,
    /// Calls with an error result from the tool.
    pub tool_errors: u64,
    /// Calls that ended without a result from the tool.
    pub failures: u64,
    /// Retries.
    pub retries: u64,
    /// Calls with repaired arguments.
    pub repairs: u64,
    /// Truncated results.
    pub truncations: u64,
    /// Searches.
    pub searches: u64,
    /// Connections opened.
    pub connects: u64,
    /// Connections that could not be opened, or were lost.
    pub connection_errors: u64,
}

/// The sender of events, shared by all parts of a bridge.
pub(crate) struct Bus {
    sender: broadcast::Sender<Event>,
    /// Receives a record of the events that belong into an audit log.
    audit: Option<Arc<dyn Auditor>>,
    calls: AtomicU64,
    counts: [AtomicU64; 9],
}

impl Bus {
    pub(crate) fn new(capacity: usize) -> Self {
        let sender = broadcast::Sender::new(capacity.clamp(1, 1 << 20));
        Self { sender, audit: None, calls: AtomicU64::new(0), counts: Default::default() }
    }

    pub(crate) fn with_audit(mut self, audit: Option<Arc<dyn Auditor>>) -> Self {
        self.audit = audit;
        self
    }

    /// Records an action, if there is an audit log.
    pub(crate) fn audit<'r>(&self, record: impl FnOnce() -> Record<'r>) {
        if let Some(audit) = &self.audit {
            audit.record(&record());
        }
    }

    pub(crate) fn has_audit(&self) -> bool {
        self.audit.is_some()
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events(Listening::Ready(self.sender.subscribe()))
    }

    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn tell(&self, event: Event) {
        for index in counted(&event) {
            self.counts[*index].fetch_add(1, Ordering::Relaxed);
        }
        if tracing::enabled!(tracing::Level::DEBUG) {
            let fields = serde_json::to_string(&event).unwrap_or_default();
            tracing::debug!(event = event.name(), fields);
        }
        if let Some(audit) = &self.audit
            && let Some(record) = audit::of_event(&event)
        {
            audit.record(&record);
        }
        // Without receivers there is nothing to send.
        if self.sender.receiver_count() > 0 {
            let _ = self.sender.send(event);
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        let [
            calls,
            tool_errors,
            failures,
            retries,
            repairs,
            truncations,
            searches,
            connects,
            errors,
        ] = std::array::from_fn(|index| self.counts[index].load(Ordering::Relaxed));
        Counters {
            calls,
            tool_errors,
            failures,
            retries,
            repairs,
            truncations,
            searches,
            connects,
            connection_errors: errors,
        }
    }
}

fn counted(event: &Event) -> &'static [usize] {
    match event {
        Event::ToolCall { .. } => &[0],
        Event::ToolResult { failure: Some(_), .. } => &[2],
        Event::ToolResult { is_error: true, .. } => &[1],
        Event::Retried { .. } => &[3],
        Event::Repaired { .. } => &[4],
        Event::Truncated { .. } => &[5],
        Event::ToolSearch { .. } => &[6],
        Event::ServerConnected { .. } => &[7],
        Event::ServerError { .. } => &[8],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slow_event_receiver_gets_missed_count_without_blocking_senders() {
        let bus = Bus::new(4);
        let mut slow = bus.subscribe();
        for results in 0..10 {
            bus.tell(Event::ToolSearch { results });
        }
        assert_eq!(slow.next().await, Some(Event::Missed(6)));
        assert_eq!(slow.next().await, Some(Event::ToolSearch { results: 6 }));
        assert_eq!(bus.counters().searches, 10);
    }
}
