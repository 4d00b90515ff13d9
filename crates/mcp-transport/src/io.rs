//! Parts that the transports share: buffers, line reading and wake-ups.

pub(crate) mod frame_classifier;
pub(crate) mod line_reader;
#[cfg(any(feature = "stdio", feature = "testing"))]
pub(crate) mod race;
pub(crate) mod wakers;
#[cfg(any(feature = "streams", feature = "ws"))]
pub(crate) mod write_queue;
