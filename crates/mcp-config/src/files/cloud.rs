//! Servers from a cloud provider, cached for a while.

use std::{
    error::Error,
    fmt, fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use super::{
    source::Source,
    update::{Access, update},
};
use crate::{
    diagnostic::{Diagnostic, Problem, Severity},
    dialect::{Document, ReadOptions, read},
    edit::EditError,
    model::Scope,
};

/// Fetches the servers of a provider. Implemented by the host, because this crate opens no connections.
pub trait Fetch: Send + Sync {
    /// Fetches the provider's document, in any dialect. Called outside the async runtime.
    fn fetch(&self) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>>;
}

/// The cloud scope: a provider and its last response.
///
/// A fresh response is reused. If the provider fails, the last response is used regardless of age, with a
/// diagnostic. The text of the error is not repeated, since it may contain secrets.
pub struct CloudCache {
    label: String,
    provider: Box<dyn Fetch>,
    /// How long a response is fresh. Default: 15 minutes.
    pub max_age: Duration,
    /// A file that keeps the response between runs.
    pub path: Option<PathBuf>,
    last: Mutex<Option<(SystemTime, Vec<u8>)>>,
}

impl CloudCache {
    /// A provider called `label` in messages, cached in memory only.
    pub fn new(label: &str, provider: impl Fetch + 'static) -> Self {
        Self {
            label: label.to_owned(),
            provider: Box::new(provider),
            max_age: Duration::from_secs(15 * 60),
            path: None,
            last: Mutex::new(None),
        }
    }

    /// The document at the time `now`.
    pub fn document_at(&self, now: SystemTime) -> Document {
        // Hold the lock while fetching, so that concurrent callers fetch only once.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none() {
            *last = self.read_cached();
        }
        let fresh = |(then, _): &(SystemTime, Vec<u8>)| {
            // Clocks and file times differ slightly, so a response from just after `now` is fresh too.
            let age = now.duration_since(*then).unwrap_or_else(|ahead| ahead.duration());
            age <= self.max_age
        };
        if !last.as_ref().is_some_and(fresh) {
            match self.provider.fetch() {
                Ok(bytes) => {
                    self.write_cached(&bytes);
                    *last = Some((now, bytes));
                }
                Err(_) => return self.stale(last.as_ref()),
            }
        }
        last.as_ref().map_or_else(|| Document::empty(&self.label), |(_, bytes)| self.read(bytes))
    }

    fn read(&self, bytes: &[u8]) -> Document {
        read(bytes, &ReadOptions::new(&self.label))
    }

    fn stale(&self, last: Option<&(SystemTime, Vec<u8>)>) -> Document {
        let (mut document, hint) = match last {
            Some((_, bytes)) => (self.read(bytes), "its last response is used"),
            None => (Document::empty(&self.label), "there is no earlier response"),
        };
        let found = "a provider that did not respond";
        let fault = Diagnostic::of_file(&self.label, Severity::Warning, Problem::Provider, found);
        document.diagnostics.push(fault.expected("its servers").hint(hint));
        document
    }

    fn read_cached(&self) -> Option<(SystemTime, Vec<u8>)> {
        let path = self.path.as_ref()?;
        let then = fs::metadata(path).ok()?.modified().ok()?;
        Some((then, mcp_safe::fs::read(path, MAX_BYTES).ok()??))
    }

    fn write_cached(&self, bytes: &[u8]) {
        let Some(path) = &self.path else { return };
        let access = Access { lock_timeout: Duration::from_secs(1), max_bytes: MAX_BYTES };
        // A failed write only costs another fetch next time.
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
