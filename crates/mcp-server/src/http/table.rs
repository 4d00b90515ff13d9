//! The table of open HTTP sessions.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::session::HttpSession;

pub(super) struct Table {
    sessions: Mutex<HashMap<String, Arc<HttpSession>>>,
    limit: usize,
    idle: Duration,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("sessions", &self.sessions().len()).finish_non_exhaustive()
    }
}

impl Table {
    pub(super) fn new(limit: usize, idle: Duration) -> Self {
        Self { sessions: Mutex::default(), limit, idle }
    }

    /// Adds a session, unless there are too many in use. At the limit, one whose client never sent
    /// `notifications/initialized` is ended.
    pub(super) fn insert(&self, session: Arc<HttpSession>) -> bool {
        let mut sessions = self.sessions();
        sessions.retain(|_, session| !self.has_expired(session));
        if sessions.len() >= self.limit && !end_uninitialized(&mut sessions) {
            return false;
        }
        sessions.insert(session.id().to_owned(), session);
        true
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        let mut sessions = self.sessions();
        let session = sessions.get(id)?;
        if self.has_expired(session) {
            sessions.remove(id);
            return None;
        }
        session.touch();
        Some(session.clone())
    }

    pub(super) fn remove(&self, id: &str) {
        let removed = self.sessions().remove(id);
        if let Some(session) = removed {
            session.end();
        }
    }

    /// Whether a session was idle for too long. A session held by a reader or a POST is in use.
    fn has_expired(&self, session: &Arc<HttpSession>) -> bool {
        Arc::strong_count(session) == 1 && session.is_idle_for(self.idle)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the session that has waited longest for `notifications/initialized`.
fn end_uninitialized(sessions: &mut HashMap<String, Arc<HttpSession>>) -> bool {
    let waiting = sessions.values().filter(|session| !session.is_initialized());
    let Some(oldest) = waiting.min_by_key(|session| session.last_used()) else { return false };
    let id = oldest.id().to_owned();
    if let Some(session) = sessions.remove(&id) {
        session.end();
    }
    true
}
