//! JSON as text: values kept as slices of a message, written without a tree, and read once.

mod backing;
mod de;
mod deep;
mod error;
mod parse;
mod raw;
mod visit;
mod writer;

pub(crate) use self::{
    backing::Backing,
    de::members,
    parse::Scanner,
    writer::{write_integer, write_string},
};
pub use self::{
    deep::DeepJson, error::ShapeError, raw::RawJson, visit::VisitedValue, writer::ObjectWriter,
};
