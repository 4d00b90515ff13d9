//! The user at the keyboard: approvals, and what servers ask. Nobody is waited for who is not there.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use mcp_bridge::{Approval, ApprovalRequest, Approver, AskTerminal, BoxFuture, Handler};
use mcp_client::{ClientCapabilities, ElicitRequest, ElicitResult, RawJson, ServerEvent};

use crate::{
    form::Form,
    out::{Out, brief, shown},
    progress::CallBar,
};

/// What is answered without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Nothing: the user is asked, if there is one.
    Ask,
    /// `--yes`.
    Yes,
    /// `--deny`.
    No,
}

/// Where questions go.
pub(crate) struct Terminal {
    answers: Answers,
    out: Out,
    /// Somebody can read a question and type an answer.
    is_interactive: bool,
    asker: AskTerminal,
    /// One question at a time.
    turn: tokio::sync::Mutex<()>,
    bar: Mutex<Option<CallBar>>,
    /// Something was denied because nobody could be asked.
    is_missed: AtomicBool,
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
            asker: AskTerminal::new(),
            turn: tokio::sync::Mutex::default(),
            bar: Mutex::default(),
            is_missed: AtomicBool::new(false),
        }
    }

    /// Whether questions are answered at all.
    pub(crate) fn can_ask(&self) -> bool {
        self.answers == Answers::Ask && self.is_interactive
    }

    /// Whether a call was denied because nobody could be asked about it.
    pub(crate) fn was_missed(&self) -> bool {
        self.is_missed.load(Ordering::Relaxed)
    }

    pub(crate) fn approver(self: &Arc<Self>) -> Arc<dyn Approver> {
        Arc::new(User { terminal: self.clone(), server: None })
    }

    pub(crate) fn handler(self: &Arc<Self>) -> Arc<dyn Handler> {
        Arc::new(User { terminal: self.clone(), server: None })
    }

    /// The same for what one server asks, so that the user knows which one it is.
    pub(crate) fn handler_for(self: &Arc<Self>, server: Option<&str>) -> Arc<dyn Handler> {
        Arc::new(User { terminal: self.clone(), server: server.map(str::to_owned) })
    }

    /// What shows the progress of the call at hand. It makes way for questions.
    pub(crate) fn show_progress(&self, bar: Option<CallBar>) {
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = bar;
    }

    fn make_way(&self) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.end();
        }
    }

    /// Asks a yes-or-no question. Without a terminal the answer is no.
    pub(crate) async fn confirm(&self, question: &str) -> bool {
        match self.answers {
            Answers::Yes => return true,
            Answers::No => return false,
            Answers::Ask if !self.is_interactive => return false,
            Answers::Ask => {}
        }
        let _turn = self.turn.lock().await;
        self.make_way();
        let answer = ask(format!("{question} [y/N] ")).await;
        answer.is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    async fn fill_in(&self, who: &str, request: &ElicitRequest) -> ElicitResult {
        let form = Form::read(request.requested_schema.as_ref());
        if self.answers == Answers::Yes {
            return match form.defaults() {
                Some(content) => ElicitResult::accept(content),
                None => ElicitResult::decline(),
            };
        }
        let _turn = self.turn.lock().await;
        self.make_way();
        let head = format!("\n{who} asks: {}\nanswer it? [Y/n] ", shown(&request.message));
        match ask(head).await.as_deref().map(str::trim) {
            None => return ElicitResult::cancel(),
            Some("" | "y" | "Y" | "yes") => {}
            Some(_) => return ElicitResult::decline(),
        }
        let mut content = serde_json::Map::new();
        for field in &form.fields {
            loop {
                let Some(line) = ask(field.question()).await else { return ElicitResult::cancel() };
                match field.read(line.trim()) {
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

    /// A page is shown in full and never opened by us: where it leads is for the user to judge.
    async fn visit(&self, who: &str, request: &ElicitRequest) -> ElicitResult {
        let Some(url) = &request.url else { return ElicitResult::cancel() };
        let question = format!(
            "\n{who} asks: {}\nto go on, open this page{} yourself:\n  {}\ndone, or about to be?",
            shown(&request.message),
            host(url).map(|host| format!(" of {host}")).unwrap_or_default(),
            // Whole, since a part of it would lead elsewhere; how long it may be was checked.
            shown(url),
        );
        if self.confirm(&question).await {
            ElicitResult::accept_url()
        } else {
            ElicitResult::decline()
        }
    }
}

/// The user, as the libraries see them.
struct User {
    terminal: Arc<Terminal>,
    /// On whose behalf they are asked.
    server: Option<String>,
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
                    terminal.asker.approve(request).await
                }
                Answers::Ask => {
                    terminal.is_missed.store(true, Ordering::Relaxed);
                    Approval::Unasked("there was nobody to ask".into())
                }
            }
        })
    }
}

impl Handler for User {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        let is_answered = self.terminal.answers == Answers::Yes || self.terminal.can_ask();
        offered.elicitation_form = is_answered;
        // Nobody can visit a page who is not there.
        offered.elicitation_url = self.terminal.can_ask();
        offered
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(async move {
            let who = self.server.as_deref().unwrap_or("a server");
            match self.terminal.answers {
                Answers::No => ElicitResult::decline(),
                // Offered to no server, and asked for all the same.
                Answers::Ask if !self.terminal.is_interactive => ElicitResult::decline(),
                Answers::Yes if request.is_url() => ElicitResult::decline(),
                _ if request.is_url() => self.terminal.visit(who, &request).await,
                _ => self.terminal.fill_in(who, &request).await,
            }
        })
    }

    fn event(&self, event: ServerEvent) {
        let ServerEvent::Log(log) = event else { return };
        if matches!(log.level.as_str(), "warning" | "error" | "critical" | "alert" | "emergency") {
            let said = log.data.as_ref().map(|data| brief(data.as_str(), 300)).unwrap_or_default();
            self.terminal.out.remark(format!("{}: {said}", log.level));
        }
    }
}

/// Whose page it is: the one part of an address that says where it leads.
fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // What stands before an `@` is a name, and may look like another host.
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| brief(host, 200))
}

/// Shows a question on stderr and reads one line; `None` at the end of input.
async fn ask(question: String) -> Option<String> {
    let read = move || {
        let mut stderr = io::stderr().lock();
        stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush()).ok()?;
        drop(stderr);
        let mut line = String::new();
        match io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line),
        }
    };
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_by_where_it_leads() {
        assert_eq!(host("https://bank.example/login?x=1").as_deref(), Some("bank.example"));
        assert_eq!(host("https://bank.example@evil.example/").as_deref(), Some("evil.example"));
        assert_eq!(host("mailto:ada"), None);
    }
}
