//! The typed client over stdio, with scripted faulty servers and published ones.

mod bad_input;
mod everything;
mod handshake;
mod node;
mod python;
pub(crate) mod support;
mod ws;
