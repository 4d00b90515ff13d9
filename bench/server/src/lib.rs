//! The server of all contenders, and its payloads.
//!
//! The payloads are a library, so that the workers can decode the same bytes without a pipe.

mod payload;
mod scan;

pub use crate::{
    payload::{ToolList, large_result, line, plain_result, small_result, structured_result},
    scan::Request,
};
