//! Names of error classes, as used in JSON and in traces. Names of failures are those of `mcp-tool`.

use mcp_client::diagnostics::ErrorClass;

/// The name of an error class.
pub(crate) fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => "transient",
        ErrorClass::Auth => "auth",
        ErrorClass::Session => "session",
        ErrorClass::Permanent => "permanent",
    }
}
