//! Calls that wait for a modern client to come back with answers.
//!
//! The state a client carries is nothing but an unguessable name: what it stands for never leaves
//! the server, so there is nothing in it to read or to forge.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::AbortHandle, time::Instant};

use crate::serve::{ask::Ask, inbox::Line, secret::random_name};

/// A task that ends with its owner.
#[derive(Debug)]
pub(crate) struct Task(pub(crate) AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A call whose client has gone to fetch answers.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) task: Task,
    pub(crate) line: Arc<Line>,
    pub(crate) open: Vec<Ask>,
    /// What was called, and how: whoever comes back has to ask for the same.
    pub(crate) subject: Subject,
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) method: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// All of them, up to a limit.
#[derive(Debug)]
pub(crate) struct WaitingRoom {
    seats: Mutex<HashMap<String, (Instant, Waiting)>>,
    limit: usize,
    patience: Duration,
}

impl WaitingRoom {
    pub(crate) fn new(limit: usize, patience: Duration) -> Self {
        Self { seats: Mutex::default(), limit, patience }
    }

    /// Keeps a call, and says under which name. `None` if there are too many, or no randomness.
    pub(crate) fn enter(&self, waiting: Waiting) -> Option<String> {
        let name = random_name()?;
        let mut seats = self.seats();
        let now = Instant::now();
        seats.retain(|_, (since, _)| now.duration_since(*since) < self.patience);
        if seats.len() >= self.limit {
            return None;
        }
        seats.insert(name.clone(), (now, waiting));
        Some(name)
    }

    /// The call of that name, if it waits for this very request. Each name works once.
    pub(crate) fn leave(&self, name: &str, subject: &Subject) -> Option<Waiting> {
        let mut seats = self.seats();
        let (since, waiting) = seats.get(name)?;
        if since.elapsed() >= self.patience || waiting.subject != *subject {
            return None;
        }
        seats.remove(name).map(|(_, waiting)| waiting)
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<String, (Instant, Waiting)>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn a_call_waits_for_its_own_client_once_and_not_for_ever() {
        let room = WaitingRoom::new(2, Duration::from_secs(60));
        let first = room.enter(waiting("a")).unwrap();
        assert!(room.leave("guess", &subject("a")).is_none());
        assert!(room.leave(&first, &subject("b")).is_none(), "another tool's state");
        assert!(room.leave(&first, &subject("a")).is_some());
        assert!(room.leave(&first, &subject("a")).is_none(), "used twice");
        let late = room.enter(waiting("a")).unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(room.leave(&late, &subject("a")).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_only_so_many_seats_and_time_clears_them() {
        let room = WaitingRoom::new(2, Duration::from_secs(60));
        assert!(room.enter(waiting("a")).is_some() && room.enter(waiting("b")).is_some());
        assert!(room.enter(waiting("c")).is_none());
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(room.enter(waiting("c")).is_some());
    }
}
