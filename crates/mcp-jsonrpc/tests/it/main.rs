//! What this crate promises, asked of its public API.

#![expect(clippy::unwrap_used, reason = "a test may stop here")]

mod envelope;
mod framing;
mod incoming;
mod object;
mod peer;
mod play;
mod raw;
mod reply;
mod stream;
mod truncated;
mod typed;
