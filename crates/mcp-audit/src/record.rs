//! One action, as the members of a JSON object.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

#[cfg(feature = "log")]
use crate::key::{AuditKey, hex};
use crate::time::timestamp;

/// Longer texts are cut, so that a line has a bounded length.
const LONGEST_TEXT: usize = 2_000;
/// The most bytes of a payload that is recorded as text.
#[cfg(feature = "log")]
const LONGEST_PAYLOAD: usize = 64 << 10;

/// The kind of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A call of a tool.
    Call,
    /// A read of a resource.
    Resource,
    /// A prompt was requested.
    Prompt,
    /// A login to a server.
    Login,
    /// The user answered a question, or an approval was given or withdrawn.
    Approval,
    /// A rule decided without asking the user.
    Decision,
    /// A server was started or connected.
    ServerStart,
    /// A server ended or was disconnected.
    ServerStop,
    /// A connection could not be opened, or was lost.
    ServerError,
    /// The host started.
    HostStart,
    /// The host ended.
    HostStop,
    /// The log itself: a file was deleted, or an incomplete line was found.
    Log,
}

impl Kind {
    /// The value of `event` in a line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Login => "login",
            Self::Approval => "approval",
            Self::Decision => "decision",
            Self::ServerStart => "server.start",
            Self::ServerStop => "server.stop",
            Self::ServerError => "server.error",
            Self::HostStart => "host.start",
            Self::HostStop => "host.stop",
            Self::Log => "log",
        }
    }
}

/// Receives a record of every action, at once and in order. A closure is one.
///
/// ```
/// use mcp_audit::{Auditor, Record};
///
/// let print = |record: &Record<'_>| println!("{}", record.to_json());
/// let auditor: &dyn Auditor = &print;
/// ```
pub trait Auditor: Send + Sync {
    /// Records one action. Called on the task of the action, so it should be quick.
    fn record(&self, record: &Record<'_>);
}

impl<F: Fn(&Record<'_>) + Send + Sync> Auditor for F {
    fn record(&self, record: &Record<'_>) {
        self(record);
    }
}

/// One action, before it becomes a line of the log. Texts of more than 2,000 characters are cut.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use mcp_audit::{Kind, Record};
///
/// let record = Record::new(Kind::Call, SystemTime::now())
///     .with_client("claude-code 2.1")
///     .with_server("github", Some("fingerprint of its entry"))
///     .with_tool("create_issue", Some("hash of its definition"))
///     .with_decision("allow", Some("mcp:github:*"))
///     .with_delivery("executed")
///     .with_duration(Duration::from_millis(120))
///     .with_arguments(b"{}");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Record<'a> {
    /// `"time":…,"event":…` and further members.
    members: String,
    arguments: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
}

impl<'a> Record<'a> {
    /// An action at this time.
    pub fn new(kind: Kind, at: SystemTime) -> Self {
        let members = format!(r#""time":"{}","event":"{}""#, timestamp(at), kind.as_str());
        Self { members, arguments: None, result: None }
    }

    /// The program that asked for the action.
    pub fn with_client(self, client: &str) -> Self {
        self.text("client", client)
    }

    /// The user, where the host knows one.
    pub fn with_user(self, user: &str) -> Self {
        self.text("user", user)
    }

    /// The server, and the fingerprint of its configuration.
    pub fn with_server(self, name: &str, fingerprint: Option<&str>) -> Self {
        self.text("server", name).maybe("fingerprint", fingerprint)
    }

    /// The tool, and the hash of its definition.
    pub fn with_tool(self, name: &str, definition: Option<&str>) -> Self {
        self.text("tool", name).maybe("definition", definition)
    }

    /// The object of the action if it is not a tool: a URI, or the name of a prompt.
    pub fn with_target(self, target: &str) -> Self {
        self.text("target", target)
    }

    /// The decision about the action, and the rule or reason for it.
    pub fn with_decision(self, decision: &str, rule: Option<&str>) -> Self {
        self.text("decision", decision).maybe("rule", rule)
    }

    /// Whether the request reached the server: `not_sent`, `unknown` or `executed`.
    pub fn with_delivery(self, delivery: &str) -> Self {
        self.text("delivery", delivery)
    }

    /// How the action ended: `ok`, `error`, or the kind of the failure.
    pub fn with_outcome(self, outcome: &str) -> Self {
        self.text("outcome", outcome)
    }

    /// How long the action took.
    pub fn with_duration(self, duration: Duration) -> Self {
        self.number("ms", u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    /// The sandbox profile of the server.
    pub fn with_sandbox(self, profile: &str) -> Self {
        self.text("sandbox", profile)
    }

    /// Further explanation.
    pub fn with_reason(self, reason: &str) -> Self {
        self.text("reason", reason)
    }

    /// The arguments. The line has their length and keyed hash.
    pub fn with_arguments(mut self, arguments: &'a [u8]) -> Self {
        self.arguments = Some(arguments);
        self
    }

    /// The result. The line has its length and keyed hash.
    pub fn with_result(mut self, result: &'a [u8]) -> Self {
        self.result = Some(result);
        self
    }

    /// The members as JSON, without those that need a key: arguments and result.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use mcp_audit::{Kind, Record};
    ///
    /// let record = Record::new(Kind::ServerStop, SystemTime::UNIX_EPOCH).with_server("github", None);
    /// assert_eq!(
    ///     record.to_json(),
    ///     r#"{"time":"1970-01-01T00:00:00.000Z","event":"server.stop","server":"github"}"#
    /// );
    /// ```
    pub fn to_json(&self) -> String {
        format!("{{{}}}", self.members)
    }

    pub(crate) fn number(mut self, name: &str, value: u64) -> Self {
        let _ = write!(self.members, r#","{name}":{value}"#);
        self
    }

    pub(crate) fn text(mut self, name: &str, value: &str) -> Self {
        let value = mcp_safe::text::cut(value, LONGEST_TEXT, "…");
        let _ = write!(self.members, r#","{name}":{}"#, quoted(&value));
        self
    }

    fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    /// The text of line number `seq` up to the seal.
    #[cfg(feature = "log")]
    pub(crate) fn body(&self, seq: u64, key: &AuditKey, contents: bool) -> String {
        let mut body = format!(r#"{{"seq":{seq},{}"#, self.members);
        for (name, payload) in [("arguments", self.arguments), ("result", self.result)] {
            let Some(payload) = payload else { continue };
            let (length, hash) = (payload.len(), hex(&key.of_payload(payload)));
            let _ = write!(body, r#","{name}":{{"bytes":{length},"hash":"{hash}""#);
            if contents {
                let kept = &payload[..payload.len().min(LONGEST_PAYLOAD)];
                let _ = write!(body, r#","text":{}"#, quoted(&String::from_utf8_lossy(kept)));
            }
            body.push('}');
        }
        body
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
