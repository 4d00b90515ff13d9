//! Links to test a host with, and the suite that every transport passes.
//!
//! [`Recorder`] writes down what goes over any transport's links, and [`Replay`] plays it to a host.
//! [`Faulty`] has any transport's links go wrong as planned. [`parity`] holds what must be true of
//! every transport, wrapped or not.

mod cassette;
mod fault;
mod faulty;
pub mod parity;
mod recorder;
mod replay;

pub use self::{
    cassette::{Cassette, CassetteError},
    fault::{Fault, Plan, When},
    faulty::Faulty,
    recorder::Recorder,
    replay::Replay,
};
