//! The server every contender talks to, and the payloads it answers with.
//!
//! The payloads are a library so that the workers can decode the very same bytes without a pipe.

mod payload;
mod scan;

pub use crate::{
    payload::{ToolList, large_result, line, plain_result, small_result, structured_result},
    scan::Request,
};
