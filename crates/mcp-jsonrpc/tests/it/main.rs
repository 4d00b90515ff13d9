//! What this crate promises, asked of its public API.

#![expect(clippy::unwrap_used, reason = "a test may stop here")]

mod envelope;
mod framing;
mod raw;
mod typed;
