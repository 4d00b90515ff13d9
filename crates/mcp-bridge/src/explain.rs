//! Why a server does not work: cause, evidence, and what to do.

use std::{fmt, sync::Arc};

use mcp_client::{ErrorClass, Trouble};

use crate::{
    hygiene::clean,
    server::{FailureRecord, Server},
    status::{Detail, ServerState},
};

/// One structured answer to "why?".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The servers it is true of.
    pub servers: Vec<Arc<str>>,
    /// Their state.
    pub state: ServerState,
    /// The cause, in one line.
    pub cause: String,
    /// What it was seen by: phase, exit status, last words, last messages.
    pub evidence: Vec<String>,
    /// What to do about it.
    pub next_step: String,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.servers.join(", "), self.state)?;
        writeln!(f, "  cause: {}", self.cause)?;
        for line in &self.evidence {
            writeln!(f, "  seen: {line}")?;
        }
        write!(f, "  next: {}", self.next_step)
    }
}

/// Why one server is in the state it is in.
pub(crate) fn explain(server: &Server) -> Explanation {
    let status = server.status();
    let failure = server.live().failure.clone();
    let (cause, next_step) = match (status.state, &failure) {
        (ServerState::Connected, _) => ("it works".to_owned(), "nothing".to_owned()),
        (ServerState::Disabled, _) => ("it is switched off".into(), "enable it".into()),
        (_, Some(failure)) => (failure.text.to_string(), next_step(failure, status.detail)),
        (ServerState::NeedsAuth, None) => {
            ("it is known to need a login".into(), "log in to it".to_owned())
        }
        (_, None) => match status.detail {
            Detail::Idle => {
                ("nobody has needed it yet".into(), "nothing: the first call starts it".into())
            }
            _ => ("it is starting".into(), "wait a moment".into()),
        },
    };
    let evidence = failure.filter(|_| status.state != ServerState::Connected);
    let evidence = evidence.map(|failure| evidence_of(&failure)).unwrap_or_default();
    Explanation {
        servers: vec![server.name.clone()],
        state: status.state,
        cause,
        evidence,
        next_step,
    }
}

/// Every server that does not work, those with the same cause together.
pub(crate) fn explain_all(servers: &[Arc<Server>]) -> Vec<Explanation> {
    let mut all: Vec<(Cause, Explanation)> = Vec::new();
    for server in servers {
        let Some(failure) = server.live().failure.clone() else { continue };
        if matches!(server.status().state, ServerState::Connected | ServerState::Disabled) {
            continue;
        }
        let explanation = explain(server);
        let cause = Cause::of(&failure);
        match all.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, known)) => {
                known.servers.extend(explanation.servers);
                known.evidence.truncate(0);
                if let Some(shared) = shared(cause.trouble) {
                    shared.clone_into(&mut known.cause);
                }
                known.next_step = cause.shared_step();
            }
            None => all.push((cause, explanation)),
        }
    }
    all.into_iter().map(|(_, explanation)| explanation).collect()
}

/// What servers have in common that are all in this trouble, however each of them puts it.
fn shared(trouble: Trouble) -> Option<&'static str> {
    Some(match trouble {
        Trouble::Refused => "nobody listens where they should be",
        Trouble::CutOff => "their connections are cut off",
        Trouble::Unreachable => "there is no way through the network to them",
        Trouble::UnknownHost => "their names lead nowhere",
        Trouble::Proxy => "the proxy does not lead to them",
        Trouble::Tls => "no secure connection to them comes about",
        Trouble::TimedOut => "they do not answer in time",
        _ => return None,
    })
}

/// What failures of different servers may have in common.
#[derive(PartialEq, Eq)]
struct Cause {
    class: ErrorClass,
    trouble: Trouble,
    /// The text up to what is a server's own: names in quotes, addresses, numbers. Empty where the kind of
    /// trouble says it all.
    words: String,
}

impl Cause {
    fn of(failure: &FailureRecord) -> Self {
        let FailureRecord { class, trouble, .. } = *failure;
        if shared(trouble).is_some() {
            return Self { class, trouble, words: String::new() };
        }
        let own = |word: &&str| {
            word.contains('`') || word.contains('/') || word.bytes().any(|b| b.is_ascii_digit())
        };
        let words: Vec<_> =
            failure.text.split_whitespace().filter(|word| !own(word)).take(12).collect();
        Self { class, trouble, words: words.join(" ") }
    }

    fn shared_step(&self) -> String {
        match self.class {
            ErrorClass::Auth => "log in to each of them".into(),
            ErrorClass::Permanent => "all of them lack the same thing: fix it once".into(),
            _ => "look for what they share: the network, a proxy, the machine".into(),
        }
    }
}

fn next_step(failure: &FailureRecord, detail: Detail) -> String {
    if !failure.searched.is_empty() {
        return "install the program, or give its full path in the configuration".into();
    }
    match (failure.class, detail) {
        (ErrorClass::Auth, _) => "log in to it".into(),
        (ErrorClass::Permanent, _) => "change its configuration, then reconnect it by hand".into(),
        (_, Detail::Waiting { next_try, .. }) => {
            let left = next_try.saturating_duration_since(std::time::Instant::now());
            format!("nothing: it is tried again in about {} s", left.as_secs() + 1)
        }
        (_, Detail::Final) => "reconnect it by hand when the cause is gone".into(),
        _ => "wait a moment: it is being tried again".into(),
    }
}

fn evidence_of(failure: &FailureRecord) -> Vec<String> {
    let mut evidence = vec![format!("phase: {}", failure.phase)];
    if !failure.searched.is_empty() {
        evidence.push(format!("looked in: {}", failure.searched.join(", ")));
    }
    if let Some(after) = failure.retry_after {
        evidence.push(format!("the server asked to wait {} s", after.as_secs()));
    }
    let Some(diagnostics) = &failure.diagnostics else { return evidence };
    if let Some(exit) = diagnostics.exit {
        evidence.push(exit.to_string());
    }
    let tail = diagnostics.stderr.len().saturating_sub(10);
    evidence.extend(
        diagnostics.stderr[tail..].iter().map(|line| format!("stderr: {}", clean(line, 300).text)),
    );
    if diagnostics.skipped_lines > 0 {
        let first = diagnostics.first_skipped.as_deref().unwrap_or_default();
        evidence.push(format!(
            "{} lines on stdout that are no messages, the first: {}",
            diagnostics.skipped_lines,
            clean(first, 200).text
        ));
    }
    evidence.extend(diagnostics.frames.iter().map(|frame| clean(&frame.to_string(), 200).text));
    evidence
}
