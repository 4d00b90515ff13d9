//! Recording and replay of sessions as text.
//!
//! [`Recorder`] writes the traffic of any transport's links to a [`Cassette`], and [`Replay`] replays one to a host.

mod cassette;
mod recorder;
mod replay;

pub use self::{
    cassette::{Cassette, CassetteError},
    recorder::Recorder,
    replay::Replay,
};
