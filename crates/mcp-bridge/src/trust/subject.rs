//! The subject of a consent decision.

use mcp_tool::ToolSpec;

use super::binding::Binding;

/// A tool or offer that is about to be used.
pub(crate) struct Subject<'a> {
    pub(crate) spec: &'a ToolSpec,
    /// The full description.
    pub(crate) description: &'a str,
    /// The definition as the server sent it.
    pub(crate) raw: &'a str,
    /// The server that approvals are bound to.
    pub(crate) server: &'a Binding,
    /// A composed tool that claims to be read-only. Plan mode checks its steps instead.
    pub(crate) claims_reading: bool,
}
