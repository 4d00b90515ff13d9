//! Targets for the fuzzer, which is in the `fuzz` folder of the workspace. Not part of the API.
//!
//! Each takes any bytes and panics if something does not hold that should.

pub use crate::oauth::fuzz::{authorize_url, callback, metadata, tokens};
