//! Revisions of the protocol, and the two eras they fall into.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// A published revision of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// How client and server keep house: with a session, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a third era would change every place that asks")]
pub enum Era {
    /// Up to 2025-11-25: a handshake, a session, requests in both directions.
    Legacy,
    /// From 2026-07-28 on: every request stands by itself.
    Modern,
}

/// Which era to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "either, or whichever the server speaks")]
pub enum EraChoice {
    /// Whichever the server speaks: ask, and fall back.
    #[default]
    Auto,
    /// The modern one, or fail.
    Modern,
    /// The legacy one, without asking.
    Legacy,
}

impl ProtocolVersion {
    /// The newest of its era.
    pub(crate) const NEWEST_MODERN: Self = Self::V2026_07_28;
    pub(crate) const NEWEST_LEGACY: Self = Self::V2025_11_25;

    const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// As it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The era it belongs to.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    /// Reads what [`as_str`](Self::as_str) writes.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// The newest of `era` that is in `offered`.
    pub(crate) fn newest_of(era: Era, offered: &[String]) -> Option<Self> {
        offered
            .iter()
            .filter_map(|text| Self::parse(text))
            .filter(|version| version.era() == era)
            .max()
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Remembers which era a server spoke, so that the next connection need not ask.
///
/// Keep one for each server's configuration; clones share. To remember longer than the process lives,
/// store what [`get`](Self::get) returns.
///
/// ```
/// use mcp_client::{Era, RememberedEra};
///
/// let remembered = RememberedEra::default();
/// assert_eq!(remembered.get(), None);
/// remembered.set(Some(Era::Legacy));
/// assert_eq!(remembered.clone().get(), Some(Era::Legacy));
/// ```
#[derive(Clone, Debug, Default)]
pub struct RememberedEra(Arc<Mutex<Option<Era>>>);

impl RememberedEra {
    /// What the server spoke last time.
    pub fn get(&self) -> Option<Era> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers, or forgets.
    pub fn set(&self, era: Option<Era>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = era;
    }
}
