//! Tests across crates: real processes, real servers, the whole stack.

// Always true here; it marks helpers as test code for clippy.
#[cfg(test)]
mod auth;
#[cfg(test)]
mod bridge;
#[cfg(test)]
mod client;
#[cfg(test)]
mod security;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod transport;
