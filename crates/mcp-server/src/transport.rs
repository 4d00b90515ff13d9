//! Runs a client session over an in-process link, or over two byte streams.

pub(crate) mod link;
#[cfg(feature = "stdio")]
pub(crate) mod stdio;
