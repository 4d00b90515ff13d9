//! What happens, told to whoever listens, and counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use mcp_client::ErrorClass;
use tokio::sync::broadcast;

use crate::outcome::FailureKind;

/// Something that happened. No event carries arguments, results or secrets.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "`server`, `tool` and counts say what they are")]
pub enum Event {
    /// A connection is being opened.
    ServerConnecting { server: Arc<str>, attempt: u32 },
    /// A server's tools can be called.
    ServerConnected { server: Arc<str>, tools: usize, generation: u64 },
    /// A connection ended.
    ServerDisconnected { server: Arc<str> },
    /// A connection could not be opened, or broke.
    ServerError { server: Arc<str>, problem: Arc<str>, class: ErrorClass },
    /// The user has to log in.
    NeedsAuth { server: Arc<str> },
    /// A server's list of tools is another one. Visible from the next snapshot.
    ListChanged { server: Arc<str>, added: usize, removed: usize, changed: usize },
    /// A server said that a list of its changed, and all of them were fetched again.
    ListsFetched { server: Arc<str> },
    /// A server lists more tools than are accepted. Those of the first pages are kept.
    ListCut { server: Arc<str>, kept: usize },
    /// A tool was set aside, because something is wrong with it.
    Quarantined { server: Arc<str>, tool: String, reason: String },
    /// A description carried something that looks like a credential.
    DescriptionRedacted { server: Arc<str>, tool: String },
    /// A name was taken, so this tool has another.
    NameTaken { server: Arc<str>, tool: String, name: String },
    /// A server said more in its instructions than is passed on.
    InstructionsCut { server: Arc<str> },
    /// A call begins.
    ToolCall { tool: Arc<str>, call: u64 },
    /// A call ended.
    ToolResult {
        tool: Arc<str>,
        call: u64,
        is_error: bool,
        failure: Option<FailureKind>,
        took: Duration,
    },
    /// A tool that was only to be searched for is loaded from now on.
    ToolLoaded { tool: Arc<str> },
    /// Tools were searched for.
    ToolSearch { results: usize },
    /// A call waits for the plan to be reviewed.
    Queued { tool: Arc<str>, id: u64 },
    /// A result was cut.
    Truncated { tool: Arc<str>, chars: usize },
    /// Arguments were put right.
    Repaired { tool: Arc<str>, changes: usize },
    /// A call is tried again.
    Retried { tool: Arc<str>, failures: u32 },
    /// A call failed for good, and is kept for inspection.
    DeadLetter { tool: Arc<str>, kind: FailureKind },
    /// So many events were dropped, because whoever listens is too slow.
    Missed(u64),
}

impl Event {
    /// A name for logs, such as `server.connected`.
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
            Event::Queued { .. } => "tool.queued",
            Event::Truncated { .. } => "tool.truncated",
            Event::Repaired { .. } => "tool.repaired",
            Event::Retried { .. } => "tool.retried",
            Event::DeadLetter { .. } => "tool.deadLetter",
            Event::Missed(_) => "missed",
        }
    }
}

/// A listener's end. Bounded: whoever is too slow misses some, and is told how many.
#[derive(Debug)]
pub struct Events(broadcast::Receiver<Event>);

impl Events {
    /// The next event; `None` when the bridge is gone.
    ///
    /// # Cancel safety
    /// No event is lost.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event, if one is waiting.
    pub fn try_next(&mut self) -> Option<Event> {
        match self.0.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(_) => None,
        }
    }
}

/// How often each thing happened since the bridge began, for a host to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Calls begun.
    pub calls: u64,
    /// Calls whose tool failed.
    pub tool_errors: u64,
    /// Calls that did not come to their tool's own end.
    pub failures: u64,
    /// Tries after the first.
    pub retries: u64,
    /// Arguments put right.
    pub repairs: u64,
    /// Results cut.
    pub truncations: u64,
    /// Searches.
    pub searches: u64,
    /// Connections opened.
    pub connects: u64,
    /// Connections that could not be opened, or broke.
    pub connection_errors: u64,
}

/// The telling end, shared by everything in a bridge.
#[derive(Debug)]
pub(crate) struct Bus {
    sender: broadcast::Sender<Event>,
    calls: AtomicU64,
    counts: [AtomicU64; 9],
}

impl Bus {
    pub(crate) fn new(capacity: usize) -> Self {
        let sender = broadcast::Sender::new(capacity.clamp(1, 1 << 20));
        Self { sender, calls: AtomicU64::new(0), counts: Default::default() }
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events(self.sender.subscribe())
    }

    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn tell(&self, event: Event) {
        for index in counted(&event) {
            self.counts[*index].fetch_add(1, Ordering::Relaxed);
        }
        tracing::debug!(event = event.name());
        // Nobody listens: fine.
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
    async fn a_slow_listener_is_told_what_it_missed_and_holds_up_nobody() {
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
