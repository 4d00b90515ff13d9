//! The receiving half of a faulty link. Its task also sends queued messages.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::time::{Instant, Sleep, sleep_until};

use super::{Fate, Shared, State, channel::Item as _};
use crate::{
    diagnostics::CloseReport,
    link::{Inbound, Inlet},
};

pub(super) struct FaultyInlet {
    inner: Box<dyn Inlet>,
    shared: Arc<Shared>,
    /// The inner link's report, kept until earlier messages have been delivered.
    end: Option<CloseReport>,
    timer: Option<Pin<Box<Sleep>>>,
    told_to_close: bool,
}

impl FaultyInlet {
    pub(super) fn new(inner: Box<dyn Inlet>, shared: Arc<Shared>) -> Self {
        Self { inner, shared, end: None, timer: None, told_to_close: false }
    }

    /// Receives from the inner link. Pending when it has nothing, or must not be polled.
    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (ending, deaf) = {
            let state = self.shared.lock();
            let stalled = state.fate == Fate::Stalled;
            if stalled && !state.closing || self.end.is_some() {
                return Poll::Pending;
            }
            // Messages that arrive on a stalled or closing link are dropped.
            let lost = stalled || state.fate == Fate::Closing;
            // An orderly shutdown first sends the accepted messages.
            (lost || state.closing && state.out.len() == 0, lost)
        };
        if ending && !self.told_to_close {
            self.told_to_close = true;
            self.shared.inner.close();
        }
        let mut batch = Vec::new();
        match self.inner.poll_recv(cx, &mut batch) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) if deaf => {}
            Poll::Ready(Ok(())) => {
                let mut state = self.shared.lock();
                for inbound in batch {
                    state.hear(inbound);
                }
            }
            Poll::Ready(Err(report)) => {
                self.shared.lock().into.finish();
                self.end = Some(*report);
            }
        }
        Poll::Ready(())
    }

    /// Ready when a message has become due.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = {
            let state = self.shared.lock();
            // A message that is due and still queued waits for capacity, not for time.
            let moves = |due: &Instant| state.fate == Fate::Open && *due > Instant::now();
            let out = state.out.next_due().filter(moves);
            out.into_iter().chain(state.into.next_due()).min()
        };
        let Some(due) = due else {
            self.timer = None;
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(cx)
    }

    /// Returns the report, once all messages are delivered.
    fn report(&mut self) -> Option<Box<CloseReport>> {
        let mut state = self.shared.lock();
        let over = match state.fate {
            // A stall must not be reported before the host closes the link.
            Fate::Stalled => state.closing,
            Fate::Open => state.into.len() == 0 && (state.closing || !state.into.half_open),
            Fate::Closing | Fate::Ended => true,
        };
        if over { self.end.take().map(|end| state.report(end)) } else { None }
    }
}

impl State {
    fn hear(&mut self, inbound: Inbound) {
        if self.fate == Fate::Closing {
            return;
        }
        let inbound = inbound.read();
        let method = inbound.message().and_then(|message| {
            self.asks.ask(message);
            self.asked.of(message)
        });
        let effect = self.into.push(inbound, method.as_deref(), Instant::now());
        self.suffer(effect);
    }
}

impl Inlet for FaultyInlet {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        loop {
            self.shared.send_due(cx);
            let already = batch.len();
            {
                let mut state = self.shared.lock();
                state.driver = Some(cx.waker().clone());
                let now = Instant::now();
                while state.into.due(now).is_some() {
                    batch.extend(state.into.take());
                }
            }
            if batch.len() > already {
                return Poll::Ready(Ok(()));
            }
            if let Some(report) = self.report() {
                return Poll::Ready(Err(report));
            }
            // Do not read ahead of queued messages, so that backpressure reaches the peer.
            let waits = {
                let state = self.shared.lock();
                state.fate == Fate::Open && state.into.len() > 0
            };
            let more = if waits { Poll::Pending } else { self.poll_inner(cx) };
            if more.is_pending() && self.poll_timer(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for FaultyInlet {
    fn drop(&mut self) {
        let woken = {
            let mut state = self.shared.lock();
            state.fate = Fate::Ended;
            state.waiting.take()
        };
        woken.wake();
    }
}
