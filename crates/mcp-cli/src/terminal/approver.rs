//! Asks the user for approvals and elicitations. Without a terminal it denies instead of waiting.

use std::{
    fmt,
    io::{self, IsTerminal},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use mcp_bridge::{
    Approval, ApprovalRequest, Approver,
    tool::{BoxFuture, Handler},
};
use mcp_client::{ClientCapabilities, ElicitRequest, ElicitResult, RawJson, ServerEvent};

use crate::terminal::{
    form, input,
    out::{Out, brief},
    progress::CallBar,
    question,
};

/// How questions are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Ask the user, if there is a terminal.
    Ask,
    /// `--yes`.
    Yes,
    /// `--deny`.
    No,
}

/// The terminal that questions are asked on.
pub(crate) struct Terminal {
    answers: Answers,
    out: Out,
    /// Whether stdin and stderr are a terminal.
    is_interactive: bool,
    /// Serializes questions.
    turn: tokio::sync::Mutex<()>,
    bar: Mutex<Option<CallBar>>,
    /// Whether something was denied because the user could not be asked.
    was_unable_to_ask: AtomicBool,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("answers", &self.answers).finish_non_exhaustive()
    }
}

impl Terminal {
    pub(crate) fn new(answers: Answers, out: Out) -> Self {
        Self {
            answers,
            out,
            is_interactive: io::stdin().is_terminal() && io::stderr().is_terminal(),
            turn: tokio::sync::Mutex::default(),
            bar: Mutex::default(),
            was_unable_to_ask: AtomicBool::new(false),
        }
    }

    /// Whether questions can be answered, by the user or by a flag.
    pub(crate) fn can_ask(&self) -> bool {
        self.answers == Answers::Ask && self.is_interactive
    }

    /// Whether a call was denied because the user could not be asked.
    pub(crate) fn was_unable_to_ask(&self) -> bool {
        self.was_unable_to_ask.load(Ordering::Relaxed)
    }

    pub(crate) fn approver(self: &Arc<Self>) -> Arc<dyn Approver> {
        Arc::new(User { terminal: self.clone(), server: None, is_trusted: true })
    }

    /// Returns a handler for a bridge, which withholds capabilities from servers that are not trusted.
    pub(crate) fn handler(self: &Arc<Self>) -> Arc<dyn Handler> {
        self.handler_for(None)
    }

    /// Returns a handler that names `server` in its questions.
    pub(crate) fn handler_for(self: &Arc<Self>, server: Option<&str>) -> Arc<dyn Handler> {
        let server = server.map(str::to_owned);
        Arc::new(User { terminal: self.clone(), server, is_trusted: true })
    }

    /// Returns a handler for a connection without a bridge, which withholds the same capabilities as a bridge.
    pub(crate) fn direct_handler(self: &Arc<Self>, is_trusted: bool) -> Arc<dyn Handler> {
        Arc::new(User { terminal: self.clone(), server: None, is_trusted })
    }

    /// Sets the progress bar of the current call, which is hidden during questions.
    pub(crate) fn show_progress(&self, bar: Option<CallBar>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    fn has_call(&self) -> bool {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn make_way(&self) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.end();
        }
    }

    /// Asks a yes-or-no question. Without a terminal, the answer is no.
    pub(crate) async fn confirm(&self, question: &str) -> bool {
        match self.answers {
            Answers::Yes => return true,
            Answers::No => return false,
            Answers::Ask if !self.is_interactive => return false,
            Answers::Ask => {}
        }
        let _turn = self.turn.lock().await;
        self.make_way();
        let answer = input::line(format!("{question} [y/N] ")).await;
        answer.is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    async fn fill_in(&self, who: &str, request: &ElicitRequest) -> ElicitResult {
        let fields = match request.fields() {
            Ok(fields) => fields,
            Err(error) => {
                self.out.remark(format!("the form of {who} was declined: {error}"));
                return ElicitResult::decline();
            }
        };
        if self.answers == Answers::Yes {
            match form::defaults(&fields) {
                Some(content) => {
                    // A form may ask for consent, and its default be no.
                    let given = content.as_str();
                    if !fields.is_empty() {
                        self.out.remark(format!(
                            "--yes answered the question of {who} with its defaults: {}",
                            brief(given, 300)
                        ));
                    }
                    return ElicitResult::accept(content);
                }
                // `--yes` cannot fill in required fields; only the user can.
                None if !self.is_interactive => {
                    let needed = form::needed(&fields).join(", ");
                    self.out.remark(format!(
                        "{who} asks for {needed}, which --yes cannot answer; run it in a terminal"
                    ));
                    return ElicitResult::decline();
                }
                None => {}
            }
        }
        let _turn = self.turn.lock().await;
        self.make_way();
        let head = format!("\n{who} asks: {}\nanswer it? [y/N] ", indented(&request.message));
        match input::line(head).await.as_deref().map(str::trim) {
            None => return ElicitResult::cancel(),
            Some("y" | "Y" | "yes") => {}
            Some(_) => return ElicitResult::decline(),
        }
        let mut content = serde_json::Map::new();
        for field in &fields {
            loop {
                let Some(line) = form::ask(field).await else { return ElicitResult::cancel() };
                match form::read(field, line.trim()) {
                    Ok(Some(value)) => {
                        content.insert(field.name.clone(), value);
                        break;
                    }
                    Ok(None) => break,
                    Err(problem) => self.out.remark(format!("  {problem}")),
                }
            }
        }
        RawJson::encode(&content).map_or_else(|_| ElicitResult::cancel(), ElicitResult::accept)
    }

    /// Shows a URL in full and never opens it, so that the user can judge it:
    /// <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation>
    async fn visit(&self, who: &str, request: &ElicitRequest) -> ElicitResult {
        let Some(url) = &request.url else { return ElicitResult::cancel() };
        let question = format!(
            "\n{who} asks: {}\nto continue, open this page{} yourself:\n  {}\ncontinue?",
            indented(&request.message),
            host(url).map(|host| format!(" of {host}")).unwrap_or_default(),
            // In full, because a truncated URL would lead elsewhere; its length was checked before.
            url,
        );
        if self.confirm(&question).await {
            ElicitResult::accept_url()
        } else {
            ElicitResult::decline()
        }
    }
}

/// The user, as an approver and handler for the libraries.
struct User {
    terminal: Arc<Terminal>,
    /// The server that asks.
    server: Option<String>,
    /// Whether capabilities are declared that only trusted servers get.
    is_trusted: bool,
}

impl Approver for User {
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, Approval> {
        Box::pin(async move {
            let terminal = &self.terminal;
            match terminal.answers {
                Answers::Yes => Approval::Once,
                Answers::No => Approval::Deny,
                Answers::Ask if terminal.is_interactive => {
                    let _turn = terminal.turn.lock().await;
                    terminal.make_way();
                    let line = input::line(question::about_call(&request)).await;
                    line.map_or(Approval::Deny, |line| question::answer(&request, &line))
                }
                Answers::Ask => {
                    terminal.was_unable_to_ask.store(true, Ordering::Relaxed);
                    Approval::Unasked("asking needs a terminal".into())
                }
            }
        })
    }
}

impl Handler for User {
    fn capabilities(&self) -> ClientCapabilities {
        // The same for every command, with or without a terminal, and for the gateway: some servers offer other tools to
        // clients that lack a capability, and the catalogue is shared. Without a terminal, elicitations are declined;
        // only the gateway can pass on requests for sampling and roots, so they are refused here.
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered.elicitation_url = true;
        offered.sampling = self.is_trusted;
        offered.sampling_tools = self.is_trusted;
        offered.roots = self.is_trusted;
        offered
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(async move {
            let who = self.server.as_deref().unwrap_or("a server");
            match self.terminal.answers {
                Answers::No => ElicitResult::decline(),
                Answers::Ask if !self.terminal.is_interactive => ElicitResult::decline(),
                Answers::Yes if request.is_url() => ElicitResult::decline(),
                _ if request.is_url() => self.terminal.visit(who, &request).await,
                _ => self.terminal.fill_in(who, &request).await,
            }
        })
    }

    fn event(&self, event: ServerEvent) {
        let ServerEvent::Log(log) = event else { return };
        // During a call, the call's own handler reports the message with the server's name.
        if self.server.is_none() && self.terminal.has_call() {
            return;
        }
        if matches!(log.level.as_str(), "warning" | "error" | "critical" | "alert" | "emergency") {
            let said = log.data.as_ref().map(|data| brief(data.as_str(), 300)).unwrap_or_default();
            let who = self.server.as_deref().unwrap_or("a server");
            self.terminal.out.remark(format!("{who} logs {}: {said}", log.level));
        }
    }
}

/// Returns the host of a URL, which is the part that says where it leads.
fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // User information before an `@` may look like another host.
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| brief(host, 200))
}

/// Indents a server's text, so that its lines cannot be mistaken for ours.
fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_host_ignores_user_information() {
        assert_eq!(host("https://bank.example/login?x=1").as_deref(), Some("bank.example"));
        assert_eq!(host("https://bank.example@evil.example/").as_deref(), Some("evil.example"));
        assert_eq!(host("mailto:ada"), None);
    }
}
