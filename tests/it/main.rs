//! What crosses crates: real processes, real servers, the whole stack.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod client;
mod transport;
