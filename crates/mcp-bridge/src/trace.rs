//! W3C trace context: which span of the host a call belongs to.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    str::FromStr,
};

/// A `traceparent`: the trace and the span a call belongs to.
///
/// ```
/// use mcp_bridge::TraceParent;
///
/// let parent: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?;
/// assert!(parent.child().to_string().starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
/// # Ok::<(), mcp_bridge::TraceParentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

/// The text is no `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is one way to be wrong")]
pub struct TraceParentError;

impl TraceParent {
    /// A new trace. Random enough to tell traces apart, not to keep secrets.
    pub fn new() -> Self {
        let trace = u128::from(random()) << 64 | u128::from(random());
        Self { trace: trace.max(1), span: random().max(1), flags: 1 }
    }

    /// A new span of the same trace.
    #[must_use]
    pub fn child(self) -> Self {
        Self { span: random().max(1), ..self }
    }
}

impl Default for TraceParent {
    fn default() -> Self {
        Self::new()
    }
}

/// The standard library's per-process randomness, stepped by its own counter.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let fields: Vec<&str> = text.split('-').collect();
        let lower = |field: &str| field.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let [version, trace, span, flags, ..] = fields[..] else { return Err(TraceParentError) };
        let lengths = [version.len(), trace.len(), span.len(), flags.len()];
        // Later versions may add fields, this one may not.
        if lengths != [2, 32, 16, 2]
            || version == "ff"
            || version == "00" && fields.len() != 4
            || !fields[..4].iter().all(|field| lower(field))
        {
            return Err(TraceParentError);
        }
        let trace = u128::from_str_radix(trace, 16).map_err(|_| TraceParentError)?;
        let span = u64::from_str_radix(span, 16).map_err(|_| TraceParentError)?;
        let flags = u8::from_str_radix(flags, 16).map_err(|_| TraceParentError)?;
        if trace == 0 || span == 0 {
            return Err(TraceParentError);
        }
        Ok(Self { trace, span, flags })
    }
}

impl fmt::Display for TraceParentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a W3C traceparent")
    }
}

impl std::error::Error for TraceParentError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_traceparent_is_refused() {
        for bad in [
            "",
            "00-0-0-0",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
        ] {
            assert_eq!(bad.parse::<TraceParent>(), Err(TraceParentError), "{bad}");
        }
        let fresh = TraceParent::new();
        assert_eq!(fresh.to_string().parse(), Ok(fresh));
        assert_ne!(fresh, TraceParent::new());
    }
}
