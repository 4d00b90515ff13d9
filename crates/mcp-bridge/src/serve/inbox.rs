//! How what happens elsewhere reaches whoever serves a client: one bounded queue, read by one task.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use mcp_client::{LogLevel, RawJson};

use crate::serve::{ask::Ask, error::ServeError};

/// Names one run of a call, across everything this server serves.
pub(crate) type CallKey = u64;

/// What a running call has to say.
#[derive(Debug)]
pub(crate) enum Report {
    Progress(Step),
    Log {
        level: LogLevel,
        logger: Option<String>,
        data: RawJson,
    },
    /// It cannot go on without these. All that it asked before it last went to sleep.
    Asks(Vec<Ask>),
    /// Its client may hang up and come back later.
    HangUp,
    Done(Result<RawJson, ServeError>),
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Something all clients may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
}

#[derive(Debug)]
pub(crate) enum Item {
    Report(CallKey, Report),
    Change(Change),
}

/// The queue.
pub(crate) struct Inbox {
    state: Mutex<State>,
    /// Beyond this, what can be missed is dropped.
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

    /// A call reports. What ends or stops it is always taken; there are only so many calls.
    fn report(&self, key: CallKey, report: Report) {
        let can_be_missed = !matches!(report, Report::Asks(_) | Report::Done(_));
        let mut state = self.state();
        if !can_be_missed || state.items.len() < self.limit {
            state.push(Item::Report(key, report));
        }
    }

    /// Something changed. Twice the same before anyone looked is once.
    pub(crate) fn change(&self, change: &Change) {
        let mut state = self.state();
        let is_known =
            state.items.iter().any(|item| matches!(item, Item::Change(known) if known == change));
        // Changes of lists are few by their nature. Of resources there is no such bound.
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
    /// Nothing is lost.
    #[cfg_attr(not(feature = "serve-http"), allow(dead_code, reason = "pipes poll"))]
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

/// How many lines of a log are kept for a client that is away.
const MOST_HELD: usize = 32;

/// From a running call to whoever serves its client at the moment, which may be nobody: a modern client
/// goes away with our questions and comes back with the answers.
#[derive(Debug, Default)]
pub(crate) struct Line(Mutex<Ends>);

#[derive(Debug, Default)]
struct Ends {
    to: Option<(Arc<Inbox>, CallKey)>,
    /// What was reported to nobody. What stops or ends a call is kept, of which there are at most two, and
    /// the first lines of its log.
    held: Vec<Report>,
}

impl Line {
    pub(crate) fn report(&self, report: Report) {
        let mut ends = self.ends();
        if let Some((inbox, key)) = &ends.to {
            return inbox.report(*key, report);
        }
        let is_kept = match report {
            Report::Asks(_) | Report::Done(_) => true,
            Report::Log { .. } => ends.held.len() < MOST_HELD,
            _ => false,
        };
        if is_kept {
            ends.held.push(report);
        }
    }

    /// From now on reports go there, beginning with those that found nobody.
    pub(crate) fn attach(&self, inbox: &Arc<Inbox>, key: CallKey) {
        let mut ends = self.ends();
        for report in ends.held.drain(..) {
            inbox.report(key, report);
        }
        ends.to = Some((inbox.clone(), key));
    }

    pub(crate) fn detach(&self) {
        self.ends().to = None;
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_reports_is_cut_and_the_end_still_gets_through() {
        let inbox = Arc::new(Inbox::new(4));
        let line = Line::default();
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
    fn the_same_change_is_told_once() {
        let inbox = Inbox::new(4);
        for _ in 0..10 {
            inbox.change(&Change::Tools);
        }
        assert!(inbox.try_next().is_some() && inbox.try_next().is_none());
    }

    #[test]
    fn what_found_nobody_is_told_to_the_next() {
        let line = Line::default();
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
