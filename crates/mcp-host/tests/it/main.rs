//! Tests of the facade through `mcp-host` alone, including the first ten issues of a host author.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod first_issues;
mod length;
mod login;
mod names;
mod session;
mod turn;
