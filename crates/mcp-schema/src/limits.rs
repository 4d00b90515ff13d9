//! The limits of a schema.

/// The most paths through references and branches that apply to one place of an instance.
pub(crate) const MAX_PATHS: u64 = 50_000;
/// The deepest nesting of subschemas, so that the validator's recursion fits any thread's stack.
pub(crate) const MAX_DEPTH: usize = 128;

/// The most patterns, because each one needs an automaton in memory.
pub(crate) const MAX_PATTERNS: usize = 256;
