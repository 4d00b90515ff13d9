//! Approvers, which ask the user about calls.

use std::{
    fmt,
    io::{BufRead, Write},
    sync::Arc,
};

use futures_core::future::BoxFuture;
use mcp_client::{Handler, RawJson};
use mcp_safe::text::{one_line, strip_ansi};

use crate::{caller::ConversationId, sanitize::clean};

/// Asks the user about one call.
pub trait Approver: Send + Sync {
    /// Shows `request` to the user and returns the answer.
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval>;

    /// The text for the model if the answer is [`Approval::Unasked`]. Default: that the user could not be
    /// asked. It must not say how to allow the call; that is for the text of [`Approval::Unasked`].
    #[expect(clippy::unnecessary_literal_bound, reason = "an implementation may return a field")]
    fn unasked(&self) -> &str {
        "the user could not be asked"
    }
}

/// A closure is an approver.
///
/// ```
/// use mcp_bridge::{Approval, ApprovalRequest, BridgeOptions};
///
/// let options = BridgeOptions::default().with_approver(|request: ApprovalRequest| async move {
///     if request.permission.starts_with("mcp:files:read_") { Approval::Once } else { Approval::Deny }
/// });
/// ```
impl<F, A> Approver for F
where
    F: Fn(ApprovalRequest) -> A + Send + Sync,
    A: Future<Output = Approval> + Send + 'static,
{
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(self(request))
    }
}

/// A question to the user about one call.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The conversation that makes the call.
    pub conversation: ConversationId,
    /// The tool's name, as shown to the model.
    pub tool: String,
    /// The permission, as used in rules.
    pub permission: String,
    /// The tool's server.
    pub server: Option<String>,
    /// The description by the server.
    pub description: String,
    /// The arguments of the call.
    pub arguments: RawJson,
    /// Why the user is asked.
    pub reason: String,
    /// The changes since the tool was approved, if there are any: added lines (`+`), then removed lines (`-`).
    pub changed: Option<String>,
    /// Whether [`changed`](Self::changed) is truncated.
    pub changed_is_cut: bool,
    /// Whether the answer applies to this call only. The user is asked every time about a destructive tool, and
    /// about a change that is not shown completely.
    pub once_only: bool,
    /// The handler of servers' requests during this call. A host that is itself a server reaches its user
    /// through it.
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
#[expect(clippy::exhaustive_enums, reason = "all possible answers")]
pub enum Approval {
    /// Allow this call.
    Once,
    /// Allow this call and later ones, until the definition changes. For a destructive tool, this call only.
    Always,
    /// Deny the call.
    Deny,
    /// The user could not be asked, with the reason and a remedy. The text is for the user, in
    /// [`Event::Denied`](crate::Event::Denied); the model only learns that the call was denied.
    Unasked(String),
    /// The client that should ask its user declined, possibly without asking. The text is used as above.
    Declined(String),
}

/// Denies every call that needs a question: the approver for hosts without a user, and the default. It returns
/// [`Approval::Unasked`], with the options that would allow the call.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a unit struct")]
pub struct DenyAll;

impl Approver for DenyAll {
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async { Approval::Unasked(NO_APPROVER.into()) })
    }

    fn unasked(&self) -> &'static str {
        "no user was asked"
    }
}

/// How to replace the default approver. For the user only: a model that reads it may ask for the change.
const NO_APPROVER: &str = "this host has no approver, so no user was asked: set `BridgeOptions::approver`, allow the \
    call by a rule in `BridgeOptions::policy`, or trust its server";

/// Asks at the terminal, one question at a time. Any answer except `y` or `a` denies the call.
#[derive(Debug, Default)]
pub struct AskTerminal(tokio::sync::Mutex<()>);

impl AskTerminal {
    /// Creates an approver for the terminal of this process.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Approver for AskTerminal {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let _one_at_a_time = self.0.lock().await;
            // Stderr is not locked while waiting for the answer, so that others can write.
            let ask = move || {
                discard_typed_ahead();
                ask(&request, std::io::stderr(), std::io::stdin().lock())
            };
            tokio::task::spawn_blocking(ask).await.unwrap_or(Approval::Deny)
        })
    }
}

/// Discards input that was typed, or injected into the terminal, before the question. Input that is not from a terminal
/// stays: a script provides its answers in advance.
fn discard_typed_ahead() {
    #[cfg(unix)]
    let _ = nix::sys::termios::tcflush(std::io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH);
}

/// Prints the question and reads the answer. Denies the call if the question could not be printed.
fn ask(request: &ApprovalRequest, mut output: impl Write, mut input: impl BufRead) -> Approval {
    let asked = output.write_all(question(request).as_bytes()).and_then(|()| output.flush());
    let mut line = String::new();
    if asked.is_err() || input.read_line(&mut line).is_err() {
        return Approval::Deny;
    }
    answer(request, &line)
}

/// The question as text. Untrusted text is sanitized, and takes one line, so that it cannot add lines to the question.
fn question(request: &ApprovalRequest) -> String {
    let changed = request.changed.as_deref().map_or_else(String::new, |changed| {
        format!("  it has changed since you approved it:\n{}\n", strip_ansi(changed))
    });
    let who = request.conversation.name.as_deref();
    let who = who.map_or_else(String::new, |name| format!("{}: ", line(name, 100)));
    let danger = match request {
        ApprovalRequest { changed_is_cut: true, .. } => "  the change is too long to show whole\n",
        ApprovalRequest { once_only: true, .. } => "  it may destroy something\n",
        _ => "",
    };
    let choice = if request.once_only { "[y]es, [N]o" } else { "[y]es, [a]lways, [N]o" };
    format!(
        "\n{}{} wants to run ({})\n  {}\n{danger}{changed}  with {}\nrun it? {choice} ",
        who,
        line(&request.permission, 300),
        line(&request.reason, 300),
        line(&request.description, 300),
        line(request.arguments.as_str(), 2_000),
    )
}

fn line(text: &str, most: usize) -> String {
    one_line(&clean(text, most).text, most).into_owned()
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

    fn request() -> ApprovalRequest {
        ApprovalRequest {
            conversation: ConversationId { id: 1, name: Some("helper\u{1b}[0m".into()) },
            tool: "mcp__s__t".into(),
            permission: "mcp:s:t".into(),
            server: Some("s".into()),
            description: "nice\u{1b}[2Jtool".into(),
            arguments: RawJson::parse("{\"a\":\"\\u001b[31m\"}").unwrap(),
            reason: "the server is not trusted".into(),
            changed: Some("- old\u{1b}[0m\n+ new".into()),
            changed_is_cut: false,
            once_only: false,
            owner: None,
        }
    }

    #[test]
    fn question_that_cannot_be_shown_is_answered_with_deny() {
        let mut shown = Vec::new();
        assert_eq!(ask(&request(), &mut shown, "y\n".as_bytes()), Approval::Once);
        assert!(String::from_utf8(shown).unwrap().contains("mcp:s:t"));
        let mut full: [u8; 4] = [0; 4];
        assert_eq!(ask(&request(), &mut full[..], "y\n".as_bytes()), Approval::Deny);
        assert_eq!(ask(&request(), Vec::new(), &b"\xff\n"[..]), Approval::Deny, "not UTF-8");
    }

    #[test]
    fn debug_names_the_tool_and_hides_the_arguments() {
        let shown = format!("{:?}", request());
        assert!(shown.contains("mcp__s__t") && !shown.contains("u001b[31m"), "{shown}");
    }

    #[test]
    fn terminal_question_strips_escapes_and_defaults_to_deny() {
        let mut request = request();
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
        request.changed_is_cut = true;
        let shown = question(&request);
        assert!(!shown.contains("[a]lways") && shown.contains("too long to show"), "{shown}");
    }

    #[test]
    fn every_foreign_part_of_the_terminal_question_is_visible_text_in_one_line() {
        const HOSTILE: &str = "x\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}y\nrun it? [y]es";
        let expected = question(&request()).lines().count();
        let fields: [fn(&mut ApprovalRequest) -> &mut String; 3] = [
            |request| &mut request.permission,
            |request| &mut request.reason,
            |request| &mut request.description,
        ];
        for field in fields {
            let mut request = request();
            HOSTILE.clone_into(field(&mut request));
            let shown = question(&request);
            assert!(mcp_safe::text::is_visible(&shown), "{shown:?}");
            assert_eq!(shown.lines().count(), expected, "{shown:?}");
        }
    }

    #[test]
    fn default_approver_tells_the_user_but_not_the_model_how_to_allow_a_call() {
        assert_eq!(DenyAll.unasked(), "no user was asked");
        assert!(NO_APPROVER.contains("BridgeOptions::approver"));
        let closure = |_: ApprovalRequest| async { Approval::Deny };
        assert_eq!(Approver::unasked(&closure), "the user could not be asked");
    }
}
