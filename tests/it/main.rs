//! What crosses crates: real processes, real servers, the whole stack.

// Always true here; it tells clippy that helpers are tests too.
#[cfg(test)]
mod client;
#[cfg(test)]
mod transport;
