//! Integration tests against the public API.

#![expect(clippy::unwrap_used, reason = "a test that can not go on should say so and stop")]

mod approvals;
mod bad_input;
mod custom;
mod disclosure;
mod expansion;
mod explain;
mod export;
mod files;
mod host;
mod import;
mod matrix;
mod policy;
mod properties;
mod resolution;
mod schema;
mod secrets;
#[cfg(feature = "watch")]
mod watch;
mod write_back;
