//! The response that one exchange waits for.

use mcp_jsonrpc::{Message, RawJson, RequestId};

use crate::link::Inbound;

/// The request that an exchange waits for, and whether its response has arrived.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    pub(super) id: Option<RequestId>,
    pub(super) is_answered: bool,
    /// The request is `initialize`. Its result applies to the whole link.
    pub(super) is_initialize: bool,
    /// The size of a message over the limit without a readable id. It may have been the response.
    pub(super) too_large: Option<usize>,
}

impl Awaited {
    /// Inspects a message that has arrived. Returns the result of `initialize`.
    pub(super) fn see(&mut self, inbound: &mut Inbound) -> Option<RawJson> {
        let ours = self.id.as_ref()?;
        match inbound {
            Inbound::Reply(reply) if reply.id() == ours => {
                self.is_answered = true;
                if self.is_initialize { reply.clone().into_raw().ok() } else { None }
            }
            Inbound::Message(Message::Response(answer)) => {
                // A server that could not parse the request does not know its id. This POST carried only one request.
                if answer.id.is_none() && answer.outcome.is_err() {
                    answer.id = Some(ours.clone());
                }
                if answer.id.as_ref() != Some(ours) {
                    return None;
                }
                self.is_answered = true;
                answer.outcome.as_ref().ok().filter(|_| self.is_initialize).cloned()
            }
            Inbound::Lost { id, .. } if id == ours => {
                self.is_answered = true;
                None
            }
            _ => None,
        }
    }
}
