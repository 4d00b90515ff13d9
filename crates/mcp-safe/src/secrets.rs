//! Secrets: their names, their shapes, and redaction.
//!
//! [`is_secret_name`] classifies settings and [`is_secret_member`] members of data, from one list. [`redact`] removes
//! text that looks like a credential; a [`Redactor`] also removes known values.
//!
//! Use these for text that never needs a credential: descriptions, errors, logs, recordings. Results of tools are not
//! redacted, since a tool that reads a file has to return it.

mod names;
mod redactor;
mod shapes;

pub use names::{is_secret_member, is_secret_name};
pub use redactor::Redactor;
pub use shapes::{looks_secret, redact};

/// The replacement of a redacted secret.
pub const REDACTED: &str = "[redacted]";
