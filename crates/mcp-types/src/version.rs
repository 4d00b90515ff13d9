//! Revisions of the protocol and their two eras.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation> and <https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning>

use std::fmt;

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

/// A family of revisions: with or without sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a third era would affect every match")]
pub enum Era {
    /// Up to 2025-11-25: initialization, a session, requests in both directions.
    Legacy,
    /// From 2026-07-28 on: every request is independent.
    Modern,
}

impl ProtocolVersion {
    /// The newest revision of the modern era.
    pub const NEWEST_MODERN: Self = Self::V2026_07_28;
    /// The newest revision of the legacy era.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The date as it is sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The era of the revision.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 { Era::Modern } else { Era::Legacy }
    }

    /// Parses a date as it is sent.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// The newest revision of `era` in `offered`.
    pub fn newest_of(era: Era, offered: &[String]) -> Option<Self> {
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
