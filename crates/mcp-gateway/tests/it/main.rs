//! Tests of an embedded gateway with an in-process client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod drain;
mod gate;
mod questions;
mod reload;
mod results;
mod routing;
mod search_mode;
mod support;
mod through;
