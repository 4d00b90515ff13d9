//! The client against scripted servers, over in-process links and on a paused clock.

#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

mod calls;
mod cancel;
mod close;
mod handler;
mod handshake;
mod listen;
mod lists;
mod rounds;
#[cfg(feature = "skills")]
mod skills;
mod spans;
mod support;
mod tasks;
