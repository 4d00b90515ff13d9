//! Diagnostics of a link, during its life and at its end.

use std::{borrow::Cow, collections::VecDeque, fmt};

use mcp_jsonrpc::{ErrorClass, FailureCause, Message, RequestId, UnmatchedMessages, wire::Reply};

use crate::challenge::Challenge;

/// How a link ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CloseReport {
    /// Why the link ended.
    pub reason: CloseReason,
    /// Messages up to this ticket were handed to the peer, later ones were not.
    pub flushed: u64,
    /// Diagnostics of the whole life of the link.
    pub diagnostics: Diagnostics,
}

impl CloseReport {
    /// A report without diagnostics, for test doubles.
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
            // After a requested close, the last line of standard error does not explain anything.
            Some(line) if self.reason != CloseReason::Requested => {
                write!(f, "; last stderr line: {line}")
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
    /// The peer closed the link.
    Ended,
    /// Reading or writing failed.
    Failed {
        /// The kind of failure.
        cause: FailureCause,
        /// A description for users: the system's text, or partly foreign text.
        reason: String,
    },
    /// The server no longer recognizes the session.
    SessionLost,
    /// The server ended the link and gave a reason, and reconnecting with the same parameters would fail again.
    Refused {
        /// How to react.
        class: ErrorClass,
        /// The server's reason. Partly foreign text.
        reason: String,
    },
}

impl CloseReason {
    /// Returns the class, which says how to react.
    pub fn class(&self) -> ErrorClass {
        match self {
            CloseReason::SessionLost => ErrorClass::Session,
            CloseReason::Refused { class, .. } => *class,
            _ => ErrorClass::Transient,
        }
    }

    /// Returns the kind of failure.
    pub fn cause(&self) -> FailureCause {
        match self {
            CloseReason::Requested | CloseReason::Ended => FailureCause::Closed,
            CloseReason::Failed { cause, .. } => *cause,
            CloseReason::SessionLost => FailureCause::Session,
            CloseReason::Refused { class: ErrorClass::Auth, .. } => FailureCause::Credentials,
            CloseReason::Refused { .. } => FailureCause::Other,
        }
    }

    /// A read or write failed with an I/O error.
    #[cfg(any(feature = "streams", feature = "ws"))]
    pub(crate) fn failed(error: &std::io::Error) -> Self {
        CloseReason::Failed { cause: crate::cause::of(error), reason: error.to_string() }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::Requested => f.write_str("the connection was closed on request"),
            CloseReason::Ended => f.write_str("the server ended the connection"),
            CloseReason::Failed { reason, .. } => write!(f, "the connection failed: {reason}"),
            CloseReason::SessionLost => f.write_str("the session no longer exists on the server"),
            CloseReason::Refused { reason, .. } => write!(f, "the server refused: {reason}"),
        }
    }
}

/// What a link counted and recorded, for error reports.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Diagnostics {
    /// How the server's process ended, if it has.
    pub exit: Option<Exit>,
    /// The code that the server closed the WebSocket with, if it sent one.
    pub close_code: Option<u16>,
    /// The last lines of the server's standard error. Foreign text.
    pub stderr: Vec<String>,
    /// The number of lines that were not messages: banners, debug output, broken JSON.
    pub skipped_lines: u64,
    /// The total length of those lines.
    pub skipped_bytes: u64,
    /// The first of those lines, truncated. Foreign text.
    pub first_skipped: Option<String>,
    /// The number of messages over the size limit.
    pub too_large: u64,
    /// Responses without a matching request. Filled in by the code that matches responses to requests.
    pub noise: UnmatchedMessages,
    /// The last HTTP statuses that the server responded with.
    pub statuses: Vec<u16>,
    /// The last challenge, if the server refused a request for lack of credentials.
    pub challenge: Option<Box<Challenge>>,
    /// The last messages in both directions, without their content.
    pub frames: Vec<Frame>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a process exits or is killed")]
pub enum Exit {
    /// It exited with this status.
    Code(i32),
    /// It was terminated by this signal.
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

/// A record of one message, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame {
    /// Whether we sent it.
    pub sent: bool,
    /// The id of a request or a response.
    pub id: Option<RequestId>,
    /// The method of a request or a notification.
    pub method: Option<Cow<'static, str>>,
    /// Whether it is an error response.
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

    pub(crate) fn of_reply(reply: &Reply) -> Self {
        Self { sent: false, id: Some(short_id(reply.id())), method: None, is_error: false }
    }
}

/// Names are foreign text, and the log is always kept, so each entry must stay small.
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

/// The last messages of a link. Cheap enough to keep always, since it does not copy content.
#[derive(Debug, Default)]
pub struct FrameLog(VecDeque<Frame>);

/// The number of messages that a [`FrameLog`] keeps.
const KEPT_FRAMES: usize = 16;

impl FrameLog {
    /// Records a message.
    pub fn note(&mut self, sent: bool, message: &Message) {
        self.push(Frame::of(sent, message));
    }

    /// Records a response whose result is not parsed yet.
    pub fn note_reply(&mut self, reply: &Reply) {
        self.push(Frame::of_reply(reply));
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        if self.0.len() == KEPT_FRAMES {
            self.0.pop_front();
        }
        self.0.push_back(frame);
    }

    /// Returns the recorded messages, oldest first.
    pub fn frames(&self) -> Vec<Frame> {
        self.0.iter().cloned().collect()
    }
}
