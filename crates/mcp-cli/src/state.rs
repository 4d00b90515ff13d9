//! How a server is, in the words of a command that ends.

use mcp_bridge::{Detail, ErrorClass, Explanation, ServerState, ServerStatus};

use crate::out::Paint;

/// The state in a word, and how to paint it.
///
/// A bridge that lives on calls a server pending which it will try again. Nobody tries again once this
/// command is over, so here it failed.
pub(crate) fn word(status: &ServerStatus) -> (&'static str, Paint) {
    match (status.state, status.detail) {
        (ServerState::Connected, _) => ("connected", Paint::Good),
        (ServerState::NeedsAuth, _) => ("needs-auth", Paint::Warn),
        (ServerState::Disabled, _) => ("disabled", Paint::Dim),
        (ServerState::Failed, _) | (_, Detail::Waiting { .. } | Detail::Final) => {
            ("failed", Paint::Bad)
        }
        (ServerState::Pending, Detail::Idle) => ("idle", Paint::Plain),
        (ServerState::Pending, _) => ("pending", Paint::Warn),
    }
}

/// What the user can do about it.
pub(crate) fn next_step(status: &ServerStatus, explained: &Explanation) -> String {
    let name = &status.name;
    match (status.state, status.detail) {
        (ServerState::NeedsAuth, _) => format!("mcp login {name}"),
        (_, Detail::Waiting { .. }) => {
            format!("see that it runs and can be reached; `mcp logs {name}` shows what it says")
        }
        (_, Detail::Final) if status.class == Some(ErrorClass::Permanent) => {
            format!("put its entry right: `mcp get {name} --offline` shows where it stands")
        }
        _ => explained.next_step.clone(),
    }
}
