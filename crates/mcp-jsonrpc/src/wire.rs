//! Messages as bytes: lines split from a stream, frames decoded, responses recognised by their first bytes.

mod buffer_pool;
mod decode;
mod lines;
mod response_head;
mod truncated;

pub use self::{
    decode::{DecodeError, Decoded, decode},
    lines::{Line, LineDecoder},
    response_head::Reply,
    truncated::response_id_of_truncated,
};
