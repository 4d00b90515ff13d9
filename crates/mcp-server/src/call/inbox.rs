//! A bounded queue of call reports and changes, read by the one task that serves a client.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use mcp_jsonrpc::RawJson;
use mcp_types::{LogLevel, method};

use super::ask::Ask;
use crate::error::ServeError;

/// Identifies one run of a call, unique within this server.
pub(crate) type CallKey = u64;

/// A report of a running call.
#[derive(Debug)]
pub(crate) enum Report {
    Progress(Step),
    Log {
        level: LogLevel,
        logger: Option<String>,
        data: RawJson,
    },
    /// The call waits for the responses to these: all that it asked before it was last suspended.
    Asks(Vec<Ask>),
    /// The response stream may be closed; the client fetches the result later.
    HangUp,
    Done(Result<RawJson, ServeError>),
}

/// The progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// A change that all clients may be notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
}

impl Change {
    /// The method of its notification.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Change::Tools => method::TOOLS_LIST_CHANGED,
            Change::Prompts => method::PROMPTS_LIST_CHANGED,
            Change::Resources => method::RESOURCES_LIST_CHANGED,
            Change::Resource(_) => method::RESOURCES_UPDATED,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Item {
    Report(CallKey, Report),
    Change(Change),
}

/// A queue of reports and changes for one client session.
pub(crate) struct Inbox {
    state: Mutex<State>,
    /// Above this length, reports that may be lost are dropped.
    limit: usize,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    waker: Option<Waker>,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

impl Inbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    /// Queues a report. Reports that end or suspend a call are never dropped; their number is bounded by `max_calls`.
    fn report(&self, key: CallKey, report: Report) {
        let can_be_missed = !matches!(report, Report::Asks(_) | Report::Done(_));
        let mut state = self.state();
        if !can_be_missed || state.items.len() < self.limit {
            state.push(Item::Report(key, report));
        }
    }

    /// Queues a change, unless the same change is already queued.
    pub(crate) fn change(&self, change: &Change) {
        let mut state = self.state();
        let is_known =
            state.items.iter().any(|item| matches!(item, Item::Change(known) if known == change));
        // There are only a few kinds of list changes, but any number of resources.
        let fits = state.items.len() < self.limit || !matches!(change, Change::Resource(_));
        if !is_known && fits {
            state.push(Item::Change(change.clone()));
        }
    }

    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Item> {
        let mut state = self.state();
        if let Some(item) = state.items.pop_front() {
            return Poll::Ready(item);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// # Cancel safety
    /// No item is lost.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "pipes poll"))]
    pub(crate) async fn next(&self) -> Item {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    #[cfg(test)]
    pub(crate) fn try_next(&self) -> Option<Item> {
        self.state().items.pop_front()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, item: Item) {
        self.items.push_back(item);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// How many log messages are kept while no inbox is attached.
const MOST_HELD: usize = 32;

/// Delivers the reports of a running call to the session that currently serves its client. There is none while a
/// modern client collects the responses to our questions.
#[derive(Debug, Default)]
pub(crate) struct ReportSender(Mutex<Target>);

#[derive(Debug, Default)]
struct Target {
    to: Option<(Arc<Inbox>, CallKey)>,
    /// Reports made while no inbox was attached: those that suspend or end the call, at most two, and its first log
    /// messages.
    held: Vec<Report>,
}

impl ReportSender {
    pub(crate) fn report(&self, report: Report) {
        let mut target = self.target();
        if let Some((inbox, key)) = &target.to {
            return inbox.report(*key, report);
        }
        let is_kept = match report {
            Report::Asks(_) | Report::Done(_) => true,
            Report::Log { .. } => target.held.len() < MOST_HELD,
            _ => false,
        };
        if is_kept {
            target.held.push(report);
        }
    }

    /// Sends further reports to `inbox`, beginning with the held ones.
    pub(crate) fn attach(&self, inbox: &Arc<Inbox>, key: CallKey) {
        let mut target = self.target();
        for report in target.held.drain(..) {
            inbox.report(key, report);
        }
        target.to = Some((inbox.clone(), key));
    }

    pub(crate) fn detach(&self) {
        self.target().to = None;
    }

    fn target(&self) -> MutexGuard<'_, Target> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_flood_is_dropped_but_the_result_is_delivered() {
        let inbox = Arc::new(Inbox::new(4));
        let line = ReportSender::default();
        line.attach(&inbox, 1);
        for _ in 0..100 {
            let data = RawJson::null();
            line.report(Report::Log { level: LogLevel::Info, logger: None, data });
        }
        line.report(Report::Done(Ok(RawJson::empty_object())));
        let items: Vec<_> = std::iter::from_fn(|| inbox.try_next()).collect();
        assert_eq!(items.len(), 5);
        assert!(matches!(items.last(), Some(Item::Report(1, Report::Done(_)))));
    }

    #[test]
    fn duplicate_changes_are_queued_once() {
        let inbox = Inbox::new(4);
        for _ in 0..10 {
            inbox.change(&Change::Tools);
        }
        assert!(inbox.try_next().is_some() && inbox.try_next().is_none());
    }

    #[test]
    fn reports_held_while_detached_go_to_the_next_inbox() {
        let line = ReportSender::default();
        line.report(Report::HangUp);
        for _ in 0..100 {
            let data = RawJson::null();
            line.report(Report::Log { level: LogLevel::Info, logger: None, data });
        }
        line.report(Report::Done(Ok(RawJson::null())));
        let inbox = Arc::new(Inbox::new(64));
        line.attach(&inbox, 7);
        for _ in 0..MOST_HELD {
            assert!(matches!(inbox.try_next(), Some(Item::Report(7, Report::Log { .. }))));
        }
        assert!(matches!(inbox.try_next(), Some(Item::Report(7, Report::Done(_)))));
        assert!(inbox.try_next().is_none());
    }
}
