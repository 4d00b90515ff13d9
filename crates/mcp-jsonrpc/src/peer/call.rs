//! One call in flight.

use std::{
    collections::VecDeque,
    task::Waker,
    time::{Duration, Instant},
};

use crate::{
    failure::{Failure, Timeout},
    id::RequestId,
    wire::Reply,
};

/// How many progress reports are kept for a caller that does not read them. The latest ones are kept.
const KEPT_REPORTS: usize = 32;

/// Identifies a call. Its number is the id of the request and its progress token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub(super) i64);

impl CallId {
    /// The number as it is sent.
    pub fn get(self) -> i64 {
        self.0
    }
}

impl From<CallId> for RequestId {
    fn from(id: CallId) -> Self {
        Self::from(id.0)
    }
}

/// How long a call may take.
///
/// ```
/// use std::time::Duration;
/// use mcp_jsonrpc::CallLimits;
///
/// let limits = CallLimits::default()
///     .with_idle(Duration::from_secs(120)) // silence
///     .with_total(Duration::from_secs(600)); // even with progress
/// assert_eq!(limits.total, Some(Duration::from_secs(600)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallLimits {
    /// The limit without a response or progress; every progress report restarts it. Default none.
    pub idle: Option<Duration>,
    /// The limit for the whole call. Default none.
    pub total: Option<Duration>,
    /// Whether the call is a stream that stays open and that the peer may end with a cancellation. Default no.
    pub held: bool,
    /// Whether the peer gets no cancellation when the call is abandoned. Default no.
    ///
    /// A client must not cancel `initialize`:
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements>
    pub silent: bool,
}

impl CallLimits {
    /// Sets [`idle`](Self::idle).
    #[must_use]
    pub fn with_idle(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }

    /// Sets [`total`](Self::total).
    #[must_use]
    pub fn with_total(mut self, total: impl Into<Option<Duration>>) -> Self {
        self.total = total.into();
        self
    }

    /// Sets [`held`](Self::held).
    #[must_use]
    pub fn with_held(mut self, held: bool) -> Self {
        self.held = held;
        self
    }

    /// Sets [`silent`](Self::silent).
    #[must_use]
    pub fn with_silent(mut self, silent: bool) -> Self {
        self.silent = silent;
        self
    }
}

/// A progress notification for a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The progress so far. It increases with every report and may be a fraction.
    pub progress: f64,
    /// The progress at the end of the call, if known.
    pub total: Option<f64>,
    /// A description of the current step. Foreign text.
    pub message: Option<String>,
}

impl Progress {
    /// Progress without a total.
    pub fn new(progress: f64) -> Self {
        Self { progress, total: None, message: None }
    }
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) limits: CallLimits,
    pub(super) ticket: Option<u64>,
    pub(super) outcome: Option<Result<Reply, Failure>>,
    pub(super) progress: VecDeque<Progress>,
    /// The wakers for the outcome and for progress. They may belong to two tasks.
    waiting: Option<Waker>,
    watching: Option<Waker>,
    idle_at: Option<Instant>,
    total_at: Option<Instant>,
}

impl Call {
    pub(super) fn new(limits: CallLimits, now: Instant) -> Self {
        Self {
            limits,
            ticket: None,
            outcome: None,
            progress: VecDeque::new(),
            waiting: None,
            watching: None,
            // A limit beyond the range of the clock never expires.
            idle_at: limits.idle.and_then(|limit| now.checked_add(limit)),
            total_at: limits.total.and_then(|limit| now.checked_add(limit)),
        }
    }

    /// The earlier of the two deadlines.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.outcome.is_some() {
            return None;
        }
        match (self.idle_at, self.total_at) {
            (Some(idle), Some(total)) => Some(idle.min(total)),
            (idle, total) => idle.or(total),
        }
    }

    pub(super) fn timed_out(&self, now: Instant) -> Option<Timeout> {
        let due = self.due().filter(|due| *due <= now)?;
        Some(Timeout {
            in_total: self.total_at == Some(due),
            idle: self.limits.idle,
            total: self.limits.total,
        })
    }

    /// Whether it ended with a response.
    pub(super) fn is_answered(&self) -> bool {
        matches!(self.outcome, Some(Ok(_) | Err(Failure::Rejected(_) | Failure::TooLarge { .. })))
    }

    pub(super) fn wait(&mut self, waker: &Waker) {
        keep(&mut self.waiting, waker);
    }

    pub(super) fn watch(&mut self, waker: &Waker) {
        keep(&mut self.watching, waker);
    }

    pub(super) fn finish(&mut self, outcome: Result<Reply, Failure>, wakes: &mut Vec<Waker>) {
        // The first outcome wins: a response that arrived before the link closed still counts.
        if self.outcome.is_none() {
            self.outcome = Some(outcome);
            let (waiting, watching) = (self.waiting.take(), self.watching.take());
            let other = watching.filter(|one| !waiting.as_ref().is_some_and(|w| w.will_wake(one)));
            wakes.extend(waiting.into_iter().chain(other));
        }
    }

    /// Restarts the limit for silence.
    pub(super) fn touch(&mut self, now: Instant) {
        self.idle_at = self.limits.idle.and_then(|limit| now.checked_add(limit));
    }

    pub(super) fn report(&mut self, progress: Progress, now: Instant, wakes: &mut Vec<Waker>) {
        // Progress may reset the clock, but not that of the whole call:
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts>
        self.touch(now);
        if self.progress.len() == KEPT_REPORTS {
            self.progress.pop_front();
        }
        self.progress.push_back(progress);
        wakes.extend(self.watching.take());
    }
}

fn keep(slot: &mut Option<Waker>, waker: &Waker) {
    match slot {
        Some(known) => known.clone_from(waker),
        None => *slot = Some(waker.clone()),
    }
}
