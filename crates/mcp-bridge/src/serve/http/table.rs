//! The sessions there are.

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

    /// Keeps a session, unless there are too many that are still in use.
    pub(super) fn insert(&self, session: Arc<HttpSession>) -> bool {
        let mut sessions = self.sessions();
        sessions.retain(|_, session| !self.has_expired(session));
        if sessions.len() >= self.limit {
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

    /// A session that somebody holds, to read its events or to post to it, is in use.
    fn has_expired(&self, session: &Arc<HttpSession>) -> bool {
        Arc::strong_count(session) == 1 && session.is_idle_for(self.idle)
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<HttpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
