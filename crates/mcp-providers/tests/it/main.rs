//! Tests of the output and input for each API.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;
mod messages;
mod properties;
mod samples;
mod schemas;
mod session;
mod types;
