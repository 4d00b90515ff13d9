//! Fuzz targets, run by the workspace's `fuzz` folder. Not part of the API.
//!
//! Each accepts arbitrary bytes and panics if a property does not hold.

pub use crate::oauth::fuzz::{authorize_url, callback, metadata, tokens};
