//! Configuration on disk: reads, changes and watches files, and knows the file locations of other hosts.

pub(crate) mod approval_store;
mod cloud;
pub(crate) mod config_file;
mod error;
mod import;
pub(crate) mod known;
pub(crate) mod source;
mod update;
#[cfg(feature = "watch")]
pub(crate) mod watch;

pub use self::{
    cloud::{CloudCache, Fetch},
    error::FileError,
    import::{ImportOutcome, ImportPlan, Importable},
    known::{KnownFile, Platform, file_to_change},
    source::{FileSource, Source, load_hierarchical},
};
