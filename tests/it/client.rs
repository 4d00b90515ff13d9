//! The typed client over stdio: scripted servers for what goes wrong, published ones for what goes right.

mod bad_input;
mod everything;
mod handshake;
mod node;
mod python;
pub(crate) mod support;
mod ws;
