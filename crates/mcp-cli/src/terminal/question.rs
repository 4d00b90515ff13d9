//! Formats the question about a tool call, and parses the answer.

use std::fmt::Write as _;

use mcp_bridge::{Approval, ApprovalRequest};

use crate::terminal::out::brief;

/// The number of characters of the arguments that are shown.
const MOST_ARGUMENTS: usize = 2_000;

/// Formats the question about a call. A server's text is indented and on one line, so that it cannot be mistaken for
/// ours.
pub(super) fn about_call(request: &ApprovalRequest) -> String {
    let mut text = String::from("\n");
    if let Some(name) = &request.conversation.name {
        let _ = write!(text, "{}: ", brief(name, 100));
    }
    let (permission, reason) = (brief(&request.permission, 300), brief(&request.reason, 300));
    let _ = writeln!(text, "{permission} wants to run ({reason})");
    let _ = writeln!(text, "  {}", brief(&request.description, 300));
    if request.once_only && !request.changed_is_cut {
        text.push_str("  it may destroy something\n");
    }
    if let Some(changed) = &request.changed {
        text.push_str("  it has changed since you approved it:\n");
        for line in changed.lines() {
            let _ = writeln!(text, "    {line}");
        }
        if request.changed_is_cut {
            text.push_str("  the change is too long to show in full\n");
        }
    }
    let choice = if request.once_only { "[y]es, [N]o" } else { "[y]es, [a]lways, [N]o" };
    let _ = write!(text, "  with {}\nrun it? {choice} ", arguments(request.arguments.as_str()));
    text
}

/// Parses the answer. Everything except an offered yes is a no.
pub(super) fn answer(request: &ApprovalRequest, line: &str) -> Approval {
    match line.trim() {
        "y" | "Y" | "yes" => Approval::Once,
        "a" | "A" | "always" if !request.once_only => Approval::Always,
        _ => Approval::Deny,
    }
}

/// Formats arguments on one line, with the total length if they are truncated.
fn arguments(json: &str) -> String {
    let (shown, count) = (brief(json, MOST_ARGUMENTS), json.chars().count());
    if count > MOST_ARGUMENTS { format!("{shown} ({count} characters in total)") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_arguments_show_their_length() {
        assert_eq!(arguments("{}"), "{}");
        let long = arguments(&"x".repeat(5_000));
        assert!(long.ends_with("… (5000 characters in total)"), "{long}");
    }
}
