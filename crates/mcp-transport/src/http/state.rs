//! What the halves of a link and its exchanges share.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http::{HeaderMap, HeaderValue};
use mcp_jsonrpc::{Failure, Loss, Message, RequestId};
use url::Url;

use super::{
    Settings,
    annotations::Annotation,
    client::HttpClient,
    exchanges::{Exchanges, Key},
    post::{SESSION, VERSION},
    spread::Spreading,
};
use crate::{
    diagnostics::{CloseReason, Diagnostics, FrameLog},
    link::Inbound,
    waiters::{Waiters, Woken},
};

/// The last statuses of a link, for whoever has to explain it.
const KEPT_STATUSES: usize = 16;

pub(super) struct Shared {
    pub(super) client: HttpClient,
    pub(super) settings: Settings,
    pub(super) exchanges: Exchanges,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// What has arrived and was not taken yet.
    pub(super) inbox: Vec<Inbound>,
    /// Where the life of the link stands.
    pub(super) phase: Phase,
    /// The session of a legacy server, and the revision agreed on.
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
    /// It has let us listen to a stream before.
    pub(super) has_streams: bool,
    /// Where a server of 2024-11-05 wants its messages.
    pub(super) endpoint: Option<Url>,
    /// Tools with arguments that travel in headers, or what is wrong with those.
    pub(super) tools: HashMap<String, Result<Arc<[Annotation]>, String>>,
    /// Requests on their way, and their exchanges.
    pub(super) calls: HashMap<RequestId, Call, Spreading>,
    /// A notification or an answer of ours is on its way: what comes later waits for it.
    pub(super) in_order: bool,
    /// A timer is set that goes off soon, whatever else happens.
    pub(super) has_timer: bool,
    /// Requests to an old server, whose answers come on its stream: taken, and not answered yet.
    pub(super) unanswered: HashSet<RequestId>,
    pub(super) waiting: Waiting,
    pub(super) room: Waiters,
    pub(super) tickets: u64,
    pub(super) frames: FrameLog,
    /// What was skipped, and the last challenge.
    pub(super) known: Diagnostics,
    pub(super) statuses: VecDeque<u16>,
}

/// Messages that wait for their turn.
#[derive(Default)]
pub(super) struct Waiting {
    messages: VecDeque<Message>,
    requests: usize,
}

/// A request on its way.
pub(super) struct Call {
    pub(super) ticket: u64,
    pub(super) key: Key,
    /// Its protocol version is in the request itself, and so giving up its stream is the cancel.
    pub(super) modern: bool,
    /// It lasts as long as somebody listens.
    pub(super) held: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Phase {
    #[default]
    Open,
    /// Somebody asked for the end.
    Closing,
    Ended(CloseReason),
}

impl Shared {
    pub(super) fn new(client: HttpClient, settings: Settings) -> Self {
        Self { client, settings, exchanges: Exchanges::default(), state: Mutex::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over what has arrived.
    pub(super) fn deliver(&self, arrived: impl IntoIterator<Item = Inbound>) {
        let mut state = self.lock();
        for inbound in arrived {
            if let Some(frame) = crate::diagnostics::Frame::arrived(&inbound) {
                state.frames.push(frame);
            }
            if let Some(id) = answered(&inbound).filter(|_| !state.unanswered.is_empty()) {
                state.unanswered.remove(id);
            }
            state.inbox.push(inbound);
        }
        // Whoever closes waits for the last answer.
        let woken = match state.phase {
            Phase::Closing => state.room.take(),
            _ => Woken::default(),
        };
        drop(state);
        woken.wake();
        self.exchanges.wake_driver();
    }

    /// Tells the caller that its request is lost.
    pub(super) fn lose(&self, id: RequestId, failure: impl Into<Failure>) {
        self.deliver([Inbound::Lost { id, failure: failure.into() }]);
    }

    /// Tells a caller, where there is one.
    pub(super) fn lose_any(&self, id: Option<&RequestId>, loss: Loss) {
        if let Some(id) = id {
            self.lose(id.clone(), loss);
        } else {
            tracing::debug!(reason = &*loss.reason, "a notification was not delivered");
        }
    }

    /// The link is over.
    pub(super) fn end(&self, reason: CloseReason) {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Ended(_)) {
            state.phase = Phase::Ended(reason);
        }
        drop(state);
        self.exchanges.wake_driver();
    }

    pub(super) fn note_status(&self, status: u16) {
        let mut state = self.lock();
        if state.statuses.len() == KEPT_STATUSES {
            state.statuses.pop_front();
        }
        state.statuses.push_back(status);
    }

    pub(super) fn diagnostics(&self) -> Diagnostics {
        let state = self.lock();
        let mut diagnostics = state.known.clone();
        diagnostics.frames = state.frames.frames();
        diagnostics.statuses = state.statuses.iter().copied().collect();
        diagnostics
    }
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn push(&mut self, message: Message) {
        self.requests += usize::from(matches!(message, Message::Request(_)));
        self.messages.push_back(message);
    }

    pub(super) fn pop(&mut self) -> Option<Message> {
        let message = self.messages.pop_front()?;
        self.requests -= usize::from(matches!(message, Message::Request(_)));
        Some(message)
    }

    /// Takes a request out. Returns whether it was there.
    pub(super) fn remove(&mut self, id: &RequestId) -> bool {
        let is_it =
            |message: &Message| matches!(message, Message::Request(request) if request.id == *id);
        let Some(at) = self.messages.iter().position(is_it) else { return false };
        self.requests -= 1;
        self.messages.remove(at).is_some()
    }
}

impl State {
    /// How many requests nobody has answered yet.
    pub(super) fn requests(&self) -> usize {
        self.calls.len() + self.waiting.requests
    }

    /// Says to a legacy server which session a request belongs to, and which revision it speaks.
    pub(super) fn name_session(&self, headers: &mut HeaderMap) {
        if let Some(version) = &self.version {
            headers.insert(VERSION, version.clone());
        }
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }
}

/// The request that this settles.
fn answered(inbound: &Inbound) -> Option<&RequestId> {
    match inbound {
        Inbound::Message(Message::Response(response)) => response.id.as_ref(),
        Inbound::Reply(reply) => Some(reply.id()),
        Inbound::Lost { id, .. } => Some(id),
        Inbound::Message(_) => None,
    }
}
