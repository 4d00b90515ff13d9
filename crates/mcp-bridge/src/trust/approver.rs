//! Asking the user.

use std::{fmt, io::Write, sync::Arc};

use futures_core::future::BoxFuture;
use mcp_client::{Handler, RawJson};

use crate::{
    hygiene::{clean, visible},
    lease::Conversation,
};

/// Asks the user about one call.
pub trait Approver: Send + Sync {
    /// Shows `request` to the user and waits for the answer.
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval>;
}

/// What the user is asked about.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// Whose call it is.
    pub conversation: Conversation,
    /// The tool's name, as the model has it.
    pub tool: String,
    /// What rules call it.
    pub permission: String,
    /// What it does, by its server's account.
    pub description: String,
    /// What it is called with.
    pub arguments: RawJson,
    /// Why you are asked.
    pub reason: String,
    /// The tool is no longer what was approved: the lines that went (`-`) and came (`+`).
    pub changed: Option<String>,
    /// Whether the answer can hold for this call alone: what may destroy something is asked about every time.
    pub once_only: bool,
    /// Who answers what servers ask during this call. A host that is itself a server finds its user behind
    /// it.
    pub owner: Option<Arc<dyn Handler>>,
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("conversation", &self.conversation)
            .field("tool", &self.tool)
            .field("permission", &self.permission)
            .field("reason", &self.reason)
            .field("changed", &self.changed)
            .field("once_only", &self.once_only)
            .finish_non_exhaustive()
    }
}

/// The user's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the answers there are")]
pub enum Approval {
    /// This once.
    Once,
    /// This time and from now on, as long as the tool stays what it is. For what may destroy something, this
    /// time.
    Always,
    /// No.
    Deny,
    /// There was nobody to ask: why, and what would help, as a model is told it.
    Unasked(String),
}

/// Says no to everything: the approver of hosts without a user.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to add")]
pub struct DenyAll;

impl Approver for DenyAll {
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async { Approval::Deny })
    }
}

/// Asks at the terminal. One question at a time; anything but `y` or `a` is a no.
#[derive(Debug, Default)]
pub struct AskTerminal(tokio::sync::Mutex<()>);

impl AskTerminal {
    /// Asks at the terminal this process was started from.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Approver for AskTerminal {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let _one_at_a_time = self.0.lock().await;
            let ask = move || {
                // Not held while the user thinks: others may have something to say meanwhile.
                let mut output = std::io::stderr().lock();
                let asked = output.write_all(question(&request).as_bytes());
                let asked = asked.and_then(|()| output.flush());
                drop(output);
                let mut line = String::new();
                if asked.is_err() || std::io::stdin().read_line(&mut line).is_err() {
                    return Approval::Deny;
                }
                answer(&request, &line)
            };
            tokio::task::spawn_blocking(ask).await.unwrap_or(Approval::Deny)
        })
    }
}

/// The request in words. Nothing foreign reaches the terminal unfiltered.
fn question(request: &ApprovalRequest) -> String {
    let changed = request.changed.as_deref().map_or_else(String::new, |changed| {
        format!("  it has changed since you approved it:\n{}\n", visible(changed))
    });
    let who = request.conversation.name.as_deref();
    let who = who.map_or_else(String::new, |name| format!("{}: ", clean(name, 100).text));
    let (danger, choice) = if request.once_only {
        ("  it may destroy something\n", "[y]es, [N]o")
    } else {
        ("", "[y]es, [a]lways, [N]o")
    };
    format!(
        "\n{}{} wants to run ({})\n  {}\n{danger}{changed}  with {}\nrun it? {choice} ",
        who,
        clean(&request.permission, 300).text,
        request.reason,
        clean(&request.description, 300).text,
        clean(request.arguments.as_str(), 2_000).text,
    )
}

fn answer(request: &ApprovalRequest, line: &str) -> Approval {
    match line.trim() {
        "y" | "Y" | "yes" => Approval::Once,
        "a" | "A" | "always" if !request.once_only => Approval::Always,
        _ => Approval::Deny,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_shows_no_escapes_and_takes_silence_for_a_no() {
        let mut request = ApprovalRequest {
            conversation: Conversation { id: 1, name: Some("helper\u{1b}[0m".into()) },
            tool: "mcp__s__t".into(),
            permission: "mcp:s:t".into(),
            description: "nice\u{1b}[2Jtool".into(),
            arguments: RawJson::parse("{\"a\":\"\\u001b[31m\"}").unwrap(),
            reason: "nobody vouches".into(),
            changed: Some("- old\u{1b}[0m\n+ new".into()),
            once_only: false,
            owner: None,
        };
        let shown = question(&request);
        assert!(!shown.contains('\u{1b}') && shown.contains("+ new"), "{shown}");
        assert!(shown.contains("helper") && shown.contains("[a]lways"), "{shown}");
        for (typed, expected) in
            [("y\n", Approval::Once), ("always\n", Approval::Always), ("", Approval::Deny)]
        {
            assert_eq!(answer(&request, typed), expected);
        }
        request.once_only = true;
        let shown = question(&request);
        assert!(!shown.contains("[a]lways") && shown.contains("may destroy"), "{shown}");
        assert_eq!(answer(&request, "a\n"), Approval::Deny);
    }
}
