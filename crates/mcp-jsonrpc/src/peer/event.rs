//! News from the other side, apart from answers.

use crate::{
    id::RequestId,
    message::{ErrorObject, Notification, Request},
};

/// Something the other side started.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// It wants an answer: see [`Peer::respond`](crate::Peer::respond).
    Request(Request),
    /// It wants to be heard.
    Notification(Notification),
    /// It no longer wants the answer to this request.
    Cancelled(RequestId),
    /// It could not read something we sent, and cannot say what.
    Complaint(ErrorObject),
}

/// Counts of messages that matched no call. They are otherwise ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedMessages {
    /// Answers to calls we had given up on.
    pub late: u64,
    /// Answers to calls already answered.
    pub duplicate: u64,
    /// Answers to calls we never made.
    pub unknown: u64,
    /// Requests that came so fast that not even their refusals could be sent.
    pub unanswered: u64,
}
