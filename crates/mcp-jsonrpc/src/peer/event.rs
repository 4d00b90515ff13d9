//! Requests, notifications and cancellations from the peer.

use crate::{
    id::RequestId,
    message::{ErrorObject, Notification, Request},
};

/// A message from the peer that is not a response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A request. [`Peer::respond`](crate::Peer::respond) builds its response.
    Request(Request),
    /// A notification.
    Notification(Notification),
    /// The peer cancelled this request, which it had sent.
    Cancelled(RequestId),
    /// An error without an id: the peer could not parse a message that was sent to it.
    Complaint(ErrorObject),
}

/// Counts of messages that matched no call. They are otherwise ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedMessages {
    /// Responses to calls that had timed out or were cancelled.
    pub late: u64,
    /// Second responses to a call.
    pub duplicate: u64,
    /// Responses with an id that was never sent.
    pub unknown: u64,
    /// Requests that were dropped without a response, because too many refusals were queued.
    pub unanswered: u64,
}
