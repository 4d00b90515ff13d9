//! The command as people and scripts meet it: a real process, and a real terminal where that matters.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod authority;
mod bad_input;
mod clients;
mod custom;
mod edits;
mod gateway;
#[cfg(unix)]
mod live;
mod login;
mod output;
mod security;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod wire;
