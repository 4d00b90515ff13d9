//! What a link can tell about itself while it lives and when it ends.

use std::{borrow::Cow, collections::VecDeque, fmt};

use mcp_jsonrpc::{ErrorClass, Message, Noise, Reply, RequestId, Trouble};

use crate::{challenge::Challenge, link::Inbound};

/// How a link ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CloseReport {
    /// Why.
    pub reason: CloseReason,
    /// Tickets up to this one were handed to the other side, later ones were not.
    pub flushed: u64,
    /// Everything known about the link's life.
    pub diagnostics: Diagnostics,
}

impl CloseReport {
    /// A report without diagnostics, as test doubles give.
    pub fn new(reason: CloseReason, flushed: u64) -> Self {
        Self { reason, flushed, diagnostics: Diagnostics::default() }
    }
}

impl fmt::Display for CloseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if let Some(exit) = &self.diagnostics.exit {
            write!(f, " ({exit})")?;
        }
        match self.diagnostics.stderr.last() {
            // What it said on the way to an end we asked for explains nothing.
            Some(line) if self.reason != CloseReason::Requested => {
                write!(f, "; its last words: {line}")
            }
            _ => Ok(()),
        }
    }
}

/// Why a link ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// We closed it.
    Requested,
    /// The other side went away.
    Ended,
    /// Reading or writing failed.
    Failed {
        /// What kind of trouble it was.
        trouble: Trouble,
        /// What happened, for people. The system's text, or partly foreign.
        reason: String,
    },
    /// The server no longer knows our session.
    SessionLost,
    /// The server ended it and said why, and coming back as we are would not help.
    Refused {
        /// What this calls for.
        class: ErrorClass,
        /// What it said. Partly foreign text.
        reason: String,
    },
}

impl CloseReason {
    /// What this calls for.
    pub fn class(&self) -> ErrorClass {
        match self {
            CloseReason::SessionLost => ErrorClass::Session,
            CloseReason::Refused { class, .. } => *class,
            _ => ErrorClass::Transient,
        }
    }

    /// What kind of trouble it was.
    pub fn trouble(&self) -> Trouble {
        match self {
            CloseReason::Requested | CloseReason::Ended => Trouble::Closed,
            CloseReason::Failed { trouble, .. } => *trouble,
            CloseReason::SessionLost => Trouble::Session,
            CloseReason::Refused { class: ErrorClass::Auth, .. } => Trouble::Credentials,
            CloseReason::Refused { .. } => Trouble::Other,
        }
    }

    /// The system would not read or write.
    #[cfg(any(feature = "stdio", feature = "ws"))]
    pub(crate) fn failed(error: &std::io::Error) -> Self {
        CloseReason::Failed { trouble: crate::trouble::of(error), reason: error.to_string() }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::Requested => f.write_str("the connection was closed on request"),
            CloseReason::Ended => f.write_str("the server ended the connection"),
            CloseReason::Failed { reason, .. } => write!(f, "the connection failed: {reason}"),
            CloseReason::SessionLost => f.write_str("the server no longer knows our session"),
            CloseReason::Refused { reason, .. } => write!(f, "the server refused: {reason}"),
        }
    }
}

/// What happened on a link, for whoever has to explain it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Diagnostics {
    /// How the server's process ended, where it has.
    pub exit: Option<Exit>,
    /// The code a server closed a WebSocket with, where it gave one.
    pub close_code: Option<u16>,
    /// The last lines the server wrote to its standard error. Foreign text.
    pub stderr: Vec<String>,
    /// Lines that were no messages: banners, debug output, broken JSON.
    pub skipped_lines: u64,
    /// How long those lines were together.
    pub skipped_bytes: u64,
    /// The first of those lines, cut short. Foreign text.
    pub first_skipped: Option<String>,
    /// Messages over the size limit.
    pub too_large: u64,
    /// Answers that nobody waited for. Filled in by whoever matches answers to requests.
    pub noise: Noise,
    /// The last statuses a server answered with over HTTP.
    pub statuses: Vec<u16>,
    /// What it last said when it refused a request for want of credentials.
    pub challenge: Option<Box<Challenge>>,
    /// The last messages in both directions, without their contents.
    pub frames: Vec<Frame>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a process exits or is killed")]
pub enum Exit {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit status {code}"),
            Exit::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// One message that went by. Says what it was, not what was in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Whether we sent it.
    pub sent: bool,
    /// The id of a request or an answer.
    pub id: Option<RequestId>,
    /// The method of a request or a notification.
    pub method: Option<Cow<'static, str>>,
    /// Whether it is an answer that says no.
    pub is_error: bool,
}

impl Frame {
    pub(crate) fn of(sent: bool, message: &Message) -> Self {
        let (id, method, is_error) = match message {
            Message::Request(request) => (Some(&request.id), Some(&request.method), false),
            Message::Notification(notification) => (None, Some(&notification.method), false),
            Message::Response(response) => (response.id.as_ref(), None, response.outcome.is_err()),
        };
        Self { sent, id: id.map(short_id), method: method.map(short_method), is_error }
    }
}

impl Frame {
    /// What arrived, unless it got lost on the way.
    pub(crate) fn arrived(inbound: &Inbound) -> Option<Self> {
        match inbound {
            Inbound::Message(message) => Some(Self::of(false, message)),
            Inbound::Reply(reply) => Some(Self::of_reply(reply)),
            Inbound::Lost { .. } => None,
        }
    }

    fn of_reply(reply: &Reply) -> Self {
        Self { sent: false, id: Some(short_id(reply.id())), method: None, is_error: false }
    }
}

/// Names are foreign text like everything else, and a record that is always kept must stay small.
const LONGEST_NAME: usize = 128;

#[expect(
    clippy::ptr_arg,
    reason = "a name of ours is borrowed for ever, which a `&str` would not say"
)]
fn short_method(method: &Cow<'static, str>) -> Cow<'static, str> {
    match method {
        Cow::Owned(text) if text.len() > LONGEST_NAME => Cow::Owned(beginning(text)),
        method => method.clone(),
    }
}

fn short_id(id: &RequestId) -> RequestId {
    match id.as_text() {
        Some(text) if text.len() > LONGEST_NAME => RequestId::from(beginning(text).as_str()),
        _ => id.clone(),
    }
}

fn beginning(text: &str) -> String {
    let cut = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= LONGEST_NAME).last();
    format!("{}…", &text[..cut.unwrap_or(0)])
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.sent { "→" } else { "←" })?;
        match (&self.method, self.is_error) {
            (Some(method), _) => write!(f, " {method}")?,
            (None, true) => f.write_str(" error")?,
            (None, false) => f.write_str(" result")?,
        }
        match &self.id {
            Some(id) => write!(f, " #{id}"),
            None => Ok(()),
        }
    }
}

/// The last messages of a link: cheap enough to keep always, since it copies no content.
#[derive(Debug, Default)]
pub struct FrameLog(VecDeque<Frame>);

/// How many messages a [`FrameLog`] remembers.
const KEPT_FRAMES: usize = 16;

impl FrameLog {
    /// Notes that `message` went by.
    pub fn note(&mut self, sent: bool, message: &Message) {
        self.push(Frame::of(sent, message));
    }

    /// Notes that an answer arrived which nobody has read yet.
    pub fn note_reply(&mut self, reply: &Reply) {
        self.push(Frame::of_reply(reply));
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        if self.0.len() == KEPT_FRAMES {
            self.0.pop_front();
        }
        self.0.push_back(frame);
    }

    /// The messages remembered, oldest first.
    pub fn frames(&self) -> Vec<Frame> {
        self.0.iter().cloned().collect()
    }
}
