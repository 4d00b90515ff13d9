//! HTTP servers of both eras, of 2024-11-05, and of no era.

mod authorize;
mod bad_input;
mod connections;
mod era;
mod exchanges;
mod legacy;
mod limits;
mod modern;
mod old;
mod parity;
mod reachability;
mod refusals;
mod resume;
pub(crate) mod server;
pub(crate) mod speak;

pub(crate) use self::parity::{Answers, fresh};

/// Servers scripted byte by byte, for scenarios of other layers.
pub(crate) mod scripted {
    pub(crate) use super::{
        server::{Exchange, Server},
        speak::legacy,
    };
}
