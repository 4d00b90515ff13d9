//! Static credentials that the user configured, and their sources.

mod fixed;
mod helper;
mod source;

pub use self::{
    fixed::StaticAuth,
    helper::{Helper, HelperError, HelperOptions},
    source::{Source, SourceError},
};
