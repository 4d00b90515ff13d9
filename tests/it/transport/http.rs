//! Servers behind a URL: of both eras, of 2024-11-05, and of no era at all.

mod authorize;
mod bad_input;
mod connections;
mod era;
mod exchanges;
mod legacy;
mod modern;
mod old;
mod parity;
mod refusals;
mod resume;
pub(crate) mod server;
pub(crate) mod speak;

pub(crate) use self::parity::{Answers, fresh};

/// Servers byte by byte, for scenarios of other layers.
pub(crate) mod scripted {
    pub(crate) use super::{
        server::{Exchange, Server},
        speak::legacy,
    };
}
