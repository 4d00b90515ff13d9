//! The state that the halves of a link and its exchanges share.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use mcp_jsonrpc::{Failure, Loss, Message, RequestId};

use super::{
    exchange_set::ExchangeSet, options::Settings, outbox::Outbox, protocol::Protocol,
    reachability::Reachability,
};
use crate::{
    diagnostics::{CloseReason, Diagnostics, FrameLog},
    io::wakers::{Waiters, Woken},
    link::Inbound,
    net::client::HttpClient,
};

/// How many of the last statuses are kept for diagnostics.
const KEPT_STATUSES: usize = 16;

pub(super) struct Session {
    pub(super) client: HttpClient,
    pub(super) settings: Settings,
    pub(super) exchanges: ExchangeSet,
    state: Mutex<State>,
}

pub(super) struct State {
    /// Messages that have arrived and were not received yet.
    pub(super) inbox: Vec<Inbound>,
    /// The phase of the link's life.
    pub(super) phase: Phase,
    pub(super) protocol: Protocol,
    pub(super) outbox: Outbox,
    pub(super) reachability: Reachability,
    /// Callers that wait for capacity, or for the end.
    pub(super) room: Waiters,
    /// A timer is pending that expires soon in any case.
    pub(super) has_timer: bool,
    pub(super) frames: FrameLog,
    /// Counts of skipped lines, and the last challenge.
    pub(super) known: Diagnostics,
    statuses: VecDeque<u16>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Phase {
    #[default]
    Open,
    /// The close was requested.
    Closing,
    Ended(CloseReason),
}

impl Session {
    pub(super) fn new(client: HttpClient, settings: Settings) -> Self {
        let state = State {
            inbox: Vec::new(),
            phase: Phase::Open,
            protocol: Protocol::default(),
            outbox: Outbox::new(settings.options.max_in_flight),
            reachability: Reachability::default(),
            room: Waiters::default(),
            has_timer: false,
            frames: FrameLog::default(),
            known: Diagnostics::default(),
            statuses: VecDeque::new(),
        };
        Self { client, settings, exchanges: ExchangeSet::default(), state: Mutex::new(state) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers messages that have arrived.
    pub(super) fn deliver(&self, arrived: impl IntoIterator<Item = Inbound>) {
        let mut state = self.lock();
        for inbound in arrived {
            if let Some(frame) = inbound.frame() {
                state.frames.push(frame);
            }
            if let Some(id) = settled(&inbound) {
                state.outbox.answered(id);
            }
            state.inbox.push(inbound);
        }
        // A closing link waits for the last response.
        let woken = match state.phase {
            Phase::Closing => state.room.take(),
            _ => Woken::default(),
        };
        drop(state);
        woken.wake();
        self.exchanges.wake_driver();
    }

    /// Reports to the caller that its request is lost.
    pub(super) fn lose(&self, id: RequestId, failure: impl Into<Failure>) {
        self.deliver([Inbound::Lost { id, failure: failure.into() }]);
    }

    /// Reports the loss to the caller, if the message was a request.
    pub(super) fn lose_any(&self, id: Option<&RequestId>, loss: Loss) {
        if let Some(id) = id {
            self.lose(id.clone(), loss);
        } else {
            tracing::debug!(reason = &*loss.reason, "a notification was not delivered");
        }
    }

    /// Ends the link.
    pub(super) fn end(&self, reason: CloseReason) {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Ended(_)) {
            state.phase = Phase::Ended(reason);
        }
        drop(state);
        self.exchanges.wake_driver();
    }

    /// Ends the link if the server can no longer be reached.
    pub(super) fn end_if_unreachable(&self) {
        let state = self.lock();
        let lost = state.reachability.lost().filter(|_| state.is_open()).cloned();
        drop(state);
        if let Some(reason) = lost {
            self.end(reason);
        }
    }

    /// Records the status of a response that has begun.
    pub(super) fn note_status(&self, status: u16) {
        let mut state = self.lock();
        state.reachability.reached();
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

impl State {
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }
}

/// Returns the id of the request that this settles.
fn settled(inbound: &Inbound) -> Option<&RequestId> {
    match inbound {
        Inbound::Message(Message::Response(response)) => response.id.as_ref(),
        Inbound::Reply(reply) => Some(reply.id()),
        Inbound::Lost { id, .. } => Some(id),
        Inbound::Message(_) => None,
    }
}
