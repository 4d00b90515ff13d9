//! The two tools that run tools by id: one for all tools, one for read-only tools.

use mcp_tool::Hints;

/// The tools that a caller may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Every tool.
    Any,
    /// Read-only tools, for clients that run only read-only tools without asking.
    Reading,
}

impl Lane {
    /// The name of the tool that runs them.
    pub(crate) fn caller(self) -> &'static str {
        match self {
            Self::Any => "tool_call",
            Self::Reading => "tool_read",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Any => {
                "Calls a tool that tool_search found, by its id, with arguments that fit its inputSchema."
            }
            Self::Reading => {
                "Calls a tool that tool_search found with `\"callWith\": \"tool_read\"`, by its id, with arguments that \
                 fit its inputSchema. Refuses tools that may change something: call those with tool_call."
            }
        }
    }

    pub(crate) fn hints(self) -> Hints {
        let mut hints = Hints::default();
        if self == Self::Reading {
            hints = Hints::reading();
            // The tools it runs may reach anything.
            hints.open_world = None;
        }
        hints
    }
}
