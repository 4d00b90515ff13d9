//! The bridge against scripted servers, in process and on a paused clock.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod checks;
mod connector;
mod context;
mod hostile;
mod lazy;
mod lifecycle;
#[cfg(all(feature = "auth", feature = "http", feature = "serve-http"))]
mod logins;
mod scenario;
mod serve;
mod soak;
mod support;
mod trust;
mod turns;
