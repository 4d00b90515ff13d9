//! The bridge against scripted servers, in process and on a paused clock.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod acceptance;
mod api;
mod audit;
mod boundary;
#[cfg(feature = "validate")]
mod budget;
mod checks;
mod connector;
mod context;
mod hooks;
mod host_basics;
mod hostile;
mod lazy;
mod lifecycle;
#[cfg(all(feature = "auth", feature = "http"))]
mod logins;
mod queueing;
mod results;
mod scenario;
mod soak;
mod support;
mod tracing;
mod trust;
mod turns;
