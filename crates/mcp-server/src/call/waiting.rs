//! Calls that wait until a modern client repeats its request with the responses to their questions.
//!
//! The `requestState` given to a client is a random key. The state itself stays in the server, so a client can
//! neither read nor forge it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::AbortHandle, time::Instant};

use super::{ask::Ask, inbox::ReportSender};
use crate::secret::random_name;

/// A task that is aborted when its owner is dropped.
#[derive(Debug)]
pub(crate) struct Task(pub(crate) AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call that waits for the responses to its questions.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) task: Task,
    pub(crate) line: Arc<ReportSender>,
    pub(crate) open: Vec<Ask>,
    /// The original request: the client has to repeat the same one.
    pub(crate) subject: Subject,
}

/// The method, name and arguments of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) method: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// All waiting calls, up to a limit.
#[derive(Debug)]
pub(crate) struct WaitingCalls {
    entries: Mutex<HashMap<String, (Instant, Waiting)>>,
    limit: usize,
    timeout: Duration,
}

impl WaitingCalls {
    pub(crate) fn new(limit: usize, timeout: Duration) -> Self {
        Self { entries: Mutex::default(), limit, timeout }
    }

    /// Stores a call and returns its key. `None` if there are too many, or if no random key could be made.
    pub(crate) fn insert(&self, waiting: Waiting) -> Option<String> {
        let name = random_name()?;
        let mut entries = self.entries();
        let now = Instant::now();
        entries.retain(|_, (since, _)| now.duration_since(*since) < self.timeout);
        if entries.len() >= self.limit {
            return None;
        }
        entries.insert(name.clone(), (now, waiting));
        Some(name)
    }

    /// Removes and returns the call with that key if it waits for this request. Each key works once.
    pub(crate) fn take(&self, name: &str, subject: &Subject) -> Option<Waiting> {
        let mut entries = self.entries();
        let (since, waiting) = entries.get(name)?;
        if since.elapsed() >= self.timeout || waiting.subject != *subject {
            return None;
        }
        entries.remove(name).map(|(_, waiting)| waiting)
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, (Instant, Waiting)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(name: &str) -> Waiting {
        let task = Task(tokio::spawn(std::future::pending::<()>()).abort_handle());
        Waiting { task, line: Arc::default(), open: Vec::new(), subject: subject(name) }
    }

    fn subject(name: &str) -> Subject {
        let (method, name, arguments) = ("tools/call".into(), name.into(), "{}".into());
        Subject { method, name, arguments }
    }

    #[tokio::test(start_paused = true)]
    async fn request_state_works_once_for_its_request_until_it_expires() {
        let room = WaitingCalls::new(2, Duration::from_secs(60));
        let first = room.insert(waiting("a")).unwrap();
        assert!(room.take("guess", &subject("a")).is_none());
        assert!(room.take(&first, &subject("b")).is_none(), "another tool's state");
        assert!(room.take(&first, &subject("a")).is_some());
        assert!(room.take(&first, &subject("a")).is_none(), "used twice");
        let late = room.insert(waiting("a")).unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(room.take(&late, &subject("a")).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_calls_are_bounded_and_expire() {
        let room = WaitingCalls::new(2, Duration::from_secs(60));
        assert!(room.insert(waiting("a")).is_some() && room.insert(waiting("b")).is_some());
        assert!(room.insert(waiting("c")).is_none());
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(room.insert(waiting("c")).is_some());
    }
}
