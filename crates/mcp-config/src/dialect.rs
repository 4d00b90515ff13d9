//! The configuration file formats of the supported tools.
//!
//! Most dialects differ only in their keys, so each one is a table (see `shape`) that one reader and one
//! writer share. `file_settings` reads settings other than servers: policy, inputs, lists of names.

mod agents;
pub(crate) mod catalogue;
mod claude;
mod clients;
pub(crate) mod custom_tool;
mod detect;
pub(crate) mod document;
mod draft;
mod editors;
mod export;
mod file_settings;
mod finding;
mod host_settings;
mod path;
pub(crate) mod read;
mod schema;
pub(crate) mod shape;
mod typo;
mod value;
mod write;

// Exported by the crate root and `custom`.
pub(crate) use self::{
    catalogue::Dialect,
    custom_tool::{CustomEntry, CustomStep, CustomTool},
    document::{Document, ReadOptions},
    read::read,
};
pub(crate) use self::{
    detect::of_new_file,
    export::representable,
    write::{encode, fits, read_entry},
};
pub use self::{
    document::{Entry, Input, NamedApprovals, NamedServer},
    export::{read_acp, to_acp},
    read::read_server,
    schema::schema,
};
pub use crate::format::Format;
