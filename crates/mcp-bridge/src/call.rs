//! The path of one call from a conversation to its tool and back.

pub(crate) mod gate;

use mcp_client::Delivery;
use mcp_tool::{FailureKind, ToolOutcome};

use crate::sanitize::clean;

/// The outcome of a call to a tool that does not exist, with similar names.
pub(crate) fn not_found(name: &str, nearest: &[String]) -> ToolOutcome {
    let mut text = format!("there is no tool called {}", clean(name, 100).text);
    if !nearest.is_empty() {
        text = format!("{text}; did you mean {}?", nearest.join(" or "));
    }
    ToolOutcome::failed(FailureKind::NotFound, Delivery::NotSent, text)
}
