//! Limits names and descriptions as an API requires.

use std::borrow::Cow;

use mcp_safe::text;

/// The limits of an API for definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum length of a tool's name. Allowed are `A-Z`, `a-z`, `0-9`, `_` and `-`.
    pub name: usize,
    /// The maximum length of a tool's description in characters, if there is a limit.
    pub description: Option<usize>,
    /// The maximum number of tools in one request, if there is a limit. Deferred tools do not count.
    pub tools: Option<usize>,
}

impl Limits {
    pub(crate) const fn new(name: usize, description: Option<usize>, tools: Option<usize>) -> Self {
        Self { name, description, tools }
    }

    /// The name of a tool in the API: `name` itself if it is allowed. Otherwise invalid characters are replaced,
    /// and a hash of `name` makes the result unique.
    ///
    /// ```
    /// use mcp_providers::{Api, anthropic::Anthropic};
    ///
    /// let limits = Anthropic::default().limits();
    /// assert_eq!(limits.wire_name("mcp__git__log"), "mcp__git__log");
    /// assert_eq!(limits.wire_name("git log"), "git_log_7e173acd");
    /// ```
    pub fn wire_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if starts_well && name.len() <= self.name && name.chars().all(is_allowed) {
            return Cow::Borrowed(name);
        }
        let hash = format!("_{:08x}", fnv(name));
        let first = if starts_well { "" } else { "_" };
        let room = self.name.saturating_sub(hash.len() + first.len());
        let readable: String =
            name.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(room).collect();
        Cow::Owned([first, &readable, &hash].concat())
    }

    pub(crate) fn description<'d>(&self, description: &'d str) -> Cow<'d, str> {
        match self.description {
            Some(most) => text::cut(description, most, "…"),
            None => Cow::Borrowed(description),
        }
    }
}

/// FNV-1a: stable across processes and versions, which a cached prompt requires.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_stay_different() {
        let limits = Limits::new(64, None, None);
        let long = "x".repeat(80);
        for name in ["a b", "a.b", "1st", "", "-x", long.as_str(), "日本"] {
            let wire = limits.wire_name(name);
            assert!(wire.len() <= 64 && !wire.is_empty(), "{wire}");
            assert!(wire.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')));
            assert_eq!(limits.wire_name(&wire), wire.as_ref());
        }
        assert_ne!(limits.wire_name("a b"), limits.wire_name("a.b"));
    }
}
