//! The host's choice of era, and the era a server used before.

use std::sync::{Arc, Mutex, PoisonError};

use mcp_types::Era;

/// Which era of the protocol to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "either era, or detection")]
pub enum EraChoice {
    /// Probe the server, and fall back to the legacy era.
    #[default]
    Auto,
    /// The modern era only.
    Modern,
    /// The legacy era, without probing.
    Legacy,
}

/// Remembers the era a server used, so that the next connection can skip the probe.
///
/// Use one per server configuration; clones share the value. To persist it, store the value that
/// [`get`](Self::get) returns.
///
/// ```
/// use mcp_client::{types::Era, request::RememberedEra};
///
/// let remembered = RememberedEra::default();
/// assert_eq!(remembered.get(), None);
/// remembered.set(Some(Era::Legacy));
/// assert_eq!(remembered.clone().get(), Some(Era::Legacy));
/// ```
#[derive(Clone, Debug, Default)]
pub struct RememberedEra(Arc<Mutex<Option<Era>>>);

impl RememberedEra {
    /// The era of the last connection.
    pub fn get(&self) -> Option<Era> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets or clears the remembered era.
    pub fn set(&self, era: Option<Era>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = era;
    }
}
