//! Explains why a server does not work: cause, evidence and next step.

use std::{fmt, sync::Arc};

use mcp_client::diagnostics::{ErrorClass, FailureCause};
use mcp_safe::text::escape;

use super::{
    Server,
    failure::{CONNECTED, FailureRecord},
};
use crate::{lifecycle::ServerState, sanitize::clean};

/// The explanation of a server's state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The servers it applies to.
    pub servers: Vec<Arc<str>>,
    /// The state of these servers.
    pub state: ServerState,
    /// The cause, in one line.
    pub cause: String,
    /// The evidence: phase, exit status, last stderr lines, last messages.
    pub evidence: Vec<String>,
    /// The next step for the user.
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

/// The cause if an earlier process found that a login is needed.
const KNOWN_LOGIN: &str = "it is known to need a login";

/// Explains the state of one server.
pub(crate) fn explain(server: &Server) -> Explanation {
    let status = server.status();
    let failure = server.live().failure.clone();
    let (cause, next_step) = match (status.state, &failure) {
        (ServerState::Connected, _) => ("it works".to_owned(), "nothing".to_owned()),
        (ServerState::Disabled, _) => ("it is disabled".into(), "enable it".into()),
        (ServerState::NeedsLogin, Some(failure)) => (failure.text.to_string(), login_step(server)),
        (_, Some(failure)) => (failure.text.to_string(), next_step(failure, status.state)),
        (ServerState::NeedsLogin, None) => (KNOWN_LOGIN.into(), login_step(server)),
        (_, None) => match status.state {
            ServerState::Idle => {
                ("it is idle: no call needs it".into(), "nothing: the next call starts it".into())
            }
            _ => ("it is starting".into(), "wait a moment".into()),
        },
    };
    let failure = failure.filter(|_| !status.state.is_connected());
    let mut evidence = failure.as_ref().map(|failure| evidence_of(failure)).unwrap_or_default();
    if failure.is_some_and(|failure| failure.phase != CONNECTED) {
        evidence.extend(not_passed(server));
    }
    Explanation {
        servers: vec![server.name.clone()],
        state: status.state,
        cause,
        evidence,
        next_step,
    }
}

/// Explains all servers that do not work. Servers with the same cause share an explanation.
pub(crate) fn explain_all(servers: &[Arc<Server>]) -> Vec<Explanation> {
    let mut all: Vec<(FailureGroup, Explanation)> = Vec::new();
    for server in servers {
        let state = server.status().state;
        if matches!(state, ServerState::Connected | ServerState::Disabled) {
            continue;
        }
        let failure = server.live().failure.clone();
        let group = match (&failure, state) {
            (Some(failure), _) => FailureGroup::of(failure),
            // Known from an earlier process; this one has not tried to connect yet.
            (None, ServerState::NeedsLogin) => FailureGroup::known_login(),
            (None, _) => continue,
        };
        let explanation = explain(server);
        match all.iter_mut().find(|(known, _)| *known == group) {
            Some((_, known)) => {
                known.servers.extend(explanation.servers);
                known.evidence.truncate(0);
                if let Some(shared) = shared(group.cause) {
                    shared.clone_into(&mut known.cause);
                }
                known.next_step = group.shared_step();
            }
            None => all.push((group, explanation)),
        }
    }
    all.into_iter().map(|(_, explanation)| explanation).collect()
}

/// The cause as shown for several servers together.
fn shared(cause: FailureCause) -> Option<&'static str> {
    Some(match cause {
        FailureCause::Refused => "the connection is refused",
        FailureCause::CutOff => "the connection is closed before the response",
        FailureCause::Unreachable => "the network is unreachable",
        FailureCause::UnknownHost => "the host name cannot be resolved",
        FailureCause::Proxy => "the proxy cannot reach them",
        FailureCause::Tls => "the TLS handshake fails",
        FailureCause::TimedOut => "the connection attempt times out",
        _ => return None,
    })
}

/// The common part of failures of different servers.
#[derive(PartialEq, Eq)]
struct FailureGroup {
    class: ErrorClass,
    cause: FailureCause,
    /// The text without its server-specific parts: quoted names, URLs, numbers. Empty if `cause` is specific
    /// enough.
    words: String,
}

impl FailureGroup {
    fn known_login() -> Self {
        Self { class: ErrorClass::Auth, cause: FailureCause::Other, words: KNOWN_LOGIN.into() }
    }

    fn of(failure: &FailureRecord) -> Self {
        let FailureRecord { class, cause, .. } = *failure;
        if shared(cause).is_some() {
            return Self { class, cause, words: String::new() };
        }
        let own = |word: &&str| {
            word.contains('`') || word.contains('/') || word.bytes().any(|b| b.is_ascii_digit())
        };
        let words: Vec<_> =
            failure.text.split_whitespace().filter(|word| !own(word)).take(12).collect();
        Self { class, cause, words: words.join(" ") }
    }

    fn shared_step(&self) -> String {
        match self.class {
            ErrorClass::Auth => "log in to each of them".into(),
            ErrorClass::Permanent => "fix the cause they have in common".into(),
            _ => "check what they have in common: the network, a proxy, this machine".into(),
        }
    }
}

/// How the user provides credentials: by a login, or in the configuration entry.
pub(super) fn login_step(server: &Server) -> String {
    if server.can_log_in() {
        return "log in to it".into();
    }
    let remote = server.config.transport.remote();
    let headers =
        remote.map(|remote| remote.headers.iter().collect::<Vec<_>>()).unwrap_or_default();
    let set: Vec<String> = headers
        .iter()
        .map(|(name, value)| {
            let variables: Vec<&str> = value.template().variables().collect();
            match variables.as_slice() {
                [] => format!("the header `{name}` in its configuration entry"),
                some => format!("the variable {}, used in its header `{name}`", some.join(" and ")),
            }
        })
        .collect();
    match set.as_slice() {
        [] => "set its credentials in its configuration entry".into(),
        some => format!("set {}", some.join(", or ")),
    }
}

fn next_step(failure: &FailureRecord, state: ServerState) -> String {
    if !failure.searched.is_empty() {
        return "install the program, or give its full path in the configuration".into();
    }
    match (failure.class, state.next_try()) {
        (ErrorClass::Auth, _) => "log in to it".into(),
        (ErrorClass::Permanent, _) => "change its configuration, then reconnect it by hand".into(),
        (_, Some(next_try)) => {
            let left = next_try.saturating_duration_since(std::time::Instant::now());
            format!("nothing: the next attempt is in about {} s", left.as_secs() + 1)
        }
        _ if state.is_failed() => "fix the cause, then reconnect it by hand".into(),
        _ => "wait a moment: it is being retried".into(),
    }
}

/// Variables that programs often need, that are set and that the server did not get. A missing one is a common reason for
/// a failed start.
#[cfg(feature = "stdio")]
fn not_passed(server: &Server) -> Option<String> {
    let mcp_config::Transport::Stdio(program) = &server.config.transport else { return None };
    let names = crate::connect::withheld(program, server.trusted);
    (!names.is_empty()).then(|| {
        format!("not passed to it: {} (`envPass` in its entry passes them)", names.join(", "))
    })
}

#[cfg(not(feature = "stdio"))]
fn not_passed(_: &Server) -> Option<String> {
    None
}

fn evidence_of(failure: &FailureRecord) -> Vec<String> {
    let mut evidence = vec![format!("phase: {}", failure.phase)];
    if !failure.searched.is_empty() {
        evidence.push(format!("looked in: {}", escape(&failure.searched.join(", "))));
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
            "{} lines on stdout are not protocol messages; the first: {}",
            diagnostics.skipped_lines,
            clean(first, 200).text
        ));
    }
    evidence.extend(diagnostics.frames.iter().map(|frame| clean(&frame.to_string(), 200).text));
    evidence
}
