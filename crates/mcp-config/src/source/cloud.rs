//! Servers a provider hands out, remembered for a while.

use std::{
    error::Error,
    fmt, fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use super::Source;
use crate::{
    diagnostic::{Diagnostic, Problem, Severity},
    document::{Document, ReadOptions},
    edit::EditError,
    file::{Access, read_limited, update},
    scope::Scope,
};

/// Asks a provider for its servers. The host implements it; this crate opens no connection.
pub trait Fetch: Send + Sync {
    /// The provider's document, in any dialect. Called off the async runtime.
    fn fetch(&self) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>>;
}

/// The cloud scope: a provider, and what it said last.
///
/// A fresh answer is used without asking. When the provider fails, the last answer is used however
/// old it is, with a diagnostic; the error's own text is not repeated, since it may hold anything.
pub struct CloudCache {
    label: String,
    provider: Box<dyn Fetch>,
    /// How long an answer is fresh. 15 minutes.
    pub max_age: Duration,
    /// A file to remember the answer in from one run to the next.
    pub path: Option<PathBuf>,
    last: Mutex<Option<(SystemTime, Vec<u8>)>>,
}

impl CloudCache {
    /// A provider called `label` in messages, remembered in memory only.
    pub fn new(label: &str, provider: impl Fetch + 'static) -> Self {
        Self {
            label: label.to_owned(),
            provider: Box::new(provider),
            max_age: Duration::from_secs(15 * 60),
            path: None,
            last: Mutex::new(None),
        }
    }

    /// The document as of `now`.
    pub fn document_at(&self, now: SystemTime) -> Document {
        // Held while fetching: two callers at once ask the provider once.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none() {
            *last = self.remembered();
        }
        let fresh = |(then, _): &(SystemTime, Vec<u8>)| {
            // Clocks and file times differ a little; an answer from just after now is fresh too.
            let age = now.duration_since(*then).unwrap_or_else(|ahead| ahead.duration());
            age <= self.max_age
        };
        if !last.as_ref().is_some_and(fresh) {
            match self.provider.fetch() {
                Ok(bytes) => {
                    self.remember(&bytes);
                    *last = Some((now, bytes));
                }
                Err(_) => return self.stale(last.as_ref()),
            }
        }
        last.as_ref().map_or_else(|| Document::empty(&self.label), |(_, bytes)| self.read(bytes))
    }

    fn read(&self, bytes: &[u8]) -> Document {
        crate::read(bytes, &ReadOptions::new(&self.label))
    }

    fn stale(&self, last: Option<&(SystemTime, Vec<u8>)>) -> Document {
        let (mut document, hint) = match last {
            Some((_, bytes)) => (self.read(bytes), "its last answer is used"),
            None => (Document::empty(&self.label), "it has never answered"),
        };
        let found = "a provider that did not answer";
        let fault = Diagnostic::of_file(&self.label, Severity::Warning, Problem::Provider, found);
        document.diagnostics.push(fault.expected("its servers").hint(hint));
        document
    }

    fn remembered(&self) -> Option<(SystemTime, Vec<u8>)> {
        let path = self.path.as_ref()?;
        let then = fs::metadata(path).ok()?.modified().ok()?;
        Some((then, read_limited(path, MAX_BYTES).ok()??))
    }

    fn remember(&self, bytes: &[u8]) {
        let Some(path) = &self.path else { return };
        let access = Access { lock_timeout: Duration::from_secs(1), max_bytes: MAX_BYTES };
        // Not being able to remember costs a fetch next time, nothing else.
        let _ = update(path, access, &mut |_| Ok::<_, EditError>(bytes.to_vec()));
    }
}

const MAX_BYTES: usize = 16 << 20;

impl Source for CloudCache {
    fn scope(&self) -> Scope {
        Scope::Cloud
    }

    fn document(&self) -> Option<Document> {
        Some(self.document_at(SystemTime::now()))
    }
}

impl fmt::Debug for CloudCache {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CloudCache")
            .field("label", &self.label)
            .field("max_age", &self.max_age)
            .finish_non_exhaustive()
    }
}
