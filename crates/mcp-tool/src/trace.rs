//! W3C trace context: the span of the host that a call belongs to.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    str::FromStr,
};

/// A [`traceparent`](https://www.w3.org/TR/trace-context/#traceparent-header): the trace and span of a call.
///
/// ```
/// use mcp_tool::TraceParent;
///
/// let parent: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?;
/// assert!(parent.child().to_string().starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
/// # Ok::<(), mcp_tool::TraceParentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    flags: u8,
}

/// The text is not a valid `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is only one kind of error")]
pub struct TraceParentError;

impl TraceParent {
    /// A new trace. The ids are random enough to be unique, but not for secrets.
    pub fn new() -> Self {
        let trace = u128::from(random()) << 64 | u128::from(random());
        Self { trace: trace.max(1), span: random().max(1), flags: 1 }
    }

    /// The span of a tracer, by the ids that it exports. All-zero ids are invalid.
    ///
    /// ```
    /// use mcp_tool::TraceParent;
    ///
    /// # let (trace_id, span_id) = ([0x4b; 16], [0x0f; 8]);
    /// // With OpenTelemetry: `span.span_context().trace_id().to_bytes()` and `span_id().to_bytes()`.
    /// let parent = TraceParent::from_ids(trace_id, span_id, true)?;
    /// assert_eq!(parent.span_id(), span_id);
    /// # Ok::<(), mcp_tool::TraceParentError>(())
    /// ```
    ///
    /// # Errors
    /// If either id is all zeros.
    pub fn from_ids(
        trace_id: [u8; 16],
        span_id: [u8; 8],
        is_sampled: bool,
    ) -> Result<Self, TraceParentError> {
        let (trace, span) = (u128::from_be_bytes(trace_id), u64::from_be_bytes(span_id));
        if trace == 0 || span == 0 {
            return Err(TraceParentError);
        }
        Ok(Self { trace, span, flags: u8::from(is_sampled) })
    }

    /// The id of the trace.
    pub fn trace_id(self) -> [u8; 16] {
        self.trace.to_be_bytes()
    }

    /// The id of the span.
    pub fn span_id(self) -> [u8; 8] {
        self.span.to_be_bytes()
    }

    /// Whether the caller records this trace.
    pub fn is_sampled(self) -> bool {
        self.flags & 1 == 1
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

/// Randomness of the standard library: seeded per process, and incremented for each call.
fn random() -> u64 {
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
        // Later versions may add fields; version 00 may not.
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
    fn traceparent_is_built_from_tracer_ids() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parsed: TraceParent = text.parse().unwrap();
        let made = TraceParent::from_ids(parsed.trace_id(), parsed.span_id(), true).unwrap();
        assert_eq!(made.to_string(), text);
        let unsampled = TraceParent::from_ids(parsed.trace_id(), parsed.span_id(), false).unwrap();
        assert!(made.is_sampled() && !unsampled.is_sampled());
        assert_eq!(TraceParent::from_ids([0; 16], [1; 8], true), Err(TraceParentError));
        assert_eq!(TraceParent::from_ids([1; 16], [0; 8], true), Err(TraceParentError));
    }

    #[test]
    fn invalid_traceparent_is_rejected() {
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
