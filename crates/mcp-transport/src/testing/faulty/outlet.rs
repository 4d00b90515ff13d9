//! The sending half of a faulty link.

use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::{Message, RequestId};
use tokio::time::Instant;

use super::{Fate, Outgoing, Shared, State};
use crate::{
    diagnostics::Diagnostics,
    error::SendError,
    link::{CancelBy, Outlet},
};

/// How many messages may be queued before requests are refused, and before all messages are.
const QUEUE: usize = 1024;
const OVERFULL: usize = 16 * QUEUE;

impl Outlet for Shared {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, driver) = {
            let mut guard = self.lock();
            let state = &mut *guard;
            if state.closing || matches!(state.fate, Fate::Closing | Fate::Ended) {
                return Err(SendError::Closed);
            }
            let room = if matches!(message, Message::Request(_)) { QUEUE } else { OVERFULL };
            if state.out.len() >= room {
                return Err(SendError::Full { limit: room });
            }
            let method = state.asks.of(&message);
            state.asked.ask(&message);
            if state.fate == Fate::Open && state.out.is_clear(method.as_deref()) {
                let ticket = match self.inner.send(message) {
                    Ok(ticket) => Some(ticket),
                    // A half-open link must not report an error.
                    Err(SendError::Closed) if state.into.half_open => None,
                    // Errors of the inner link are returned to the caller.
                    Err(error) => return Err(error),
                };
                state.out.passed();
                state.tickets.push(ticket);
                (state.tickets.len() as u64, None)
            } else {
                state.mishandle(message, method.as_deref());
                // The inlet's task sends messages when they are due.
                (state.tickets.len() as u64, state.driver.take())
            }
        };
        driver.into_iter().for_each(Waker::wake);
        Ok(ticket)
    }

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        match state.fate {
            Fate::Open if state.out.len() == 0 => self.inner.poll_ready(cx),
            Fate::Open | Fate::Stalled if state.out.len() >= QUEUE && !state.closing => {
                state.waiting.add(cx);
                Poll::Pending
            }
            _ => Poll::Ready(()),
        }
    }

    fn cancel(&self, id: &RequestId) -> CancelBy {
        self.inner.cancel(id)
    }

    fn close(&self) {
        let (woken, driver) = {
            let mut state = self.lock();
            state.closing = true;
            (state.waiting.take(), state.driver.take())
        };
        woken.and(driver).wake();
    }

    fn diagnostics(&self) -> Diagnostics {
        self.lock().diagnostics(self.inner.diagnostics())
    }
}

impl State {
    fn mishandle(&mut self, message: Message, method: Option<&str>) {
        let ticket = self.tickets.len();
        let effect = self.out.push(Outgoing { ticket, message }, method, Instant::now());
        self.suffer(effect);
        // A message that is neither queued nor stalled was dropped by a fault.
        let waits = self.out.waiting().any(|waiting| waiting.ticket == ticket);
        let lost = !waits && self.fate != Fate::Stalled;
        self.tickets.push(lost.then_some(0));
    }
}

impl Shared {
    /// Sends the messages that are due. Returns once the rest has to wait.
    pub(super) fn send_due(&self, cx: &mut Context<'_>) {
        let woken = {
            let mut guard = self.lock();
            let state = &mut *guard;
            if state.fate != Fate::Open {
                return;
            }
            if state.closing {
                state.out.finish();
            }
            let now = Instant::now();
            while let Some(Outgoing { ticket, message }) = state.out.due(now).cloned() {
                match self.inner.send(message) {
                    Ok(inner) => {
                        state.tickets[ticket].get_or_insert(inner);
                    }
                    Err(SendError::Full { .. }) => {
                        if self.inner.poll_ready(cx).is_pending() {
                            break;
                        }
                        continue;
                    }
                    // It will never be sent, and its ticket says so.
                    Err(_) => {}
                }
                state.out.take();
            }
            state.waiting.take()
        };
        woken.wake();
    }
}
