//! The conversation of a call, as approvers and hooks see it.

use std::sync::Arc;

/// Identifies the conversation that makes a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationId {
    /// The [`Conversation::id`](crate::Conversation::id) of the conversation; 0 is the bridge's own.
    pub id: u64,
    /// The name of the conversation.
    pub name: Option<Arc<str>>,
}

impl ConversationId {
    pub(crate) fn new(id: u64, name: Option<Arc<str>>) -> Self {
        Self { id, name }
    }
}
