//! The tokio adapter of [`Peer`]: one task reads, and callers write directly.
//!
//! Callers and the reading task share the peer behind a mutex that is held briefly. A call is
//! encoded and written on the caller's task. Its response wakes exactly that task, which then
//! decodes it. No queue and no other task is in between, in either direction.

#[cfg(all(test, mcp_loom))]
mod model;
mod token;

use std::{
    borrow::Cow,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll, Waker},
};

use mcp_jsonrpc::{
    CallId, CallLimits, Delivery, ErrorClass, ErrorObject, Event, Failure, FailureCause, Loss,
    Message, Notification, Peer, Progress, RawJson, Refused, Request, RequestId, UnmatchedMessages,
    wire::Reply,
};
use mcp_transport::{
    Inbound, Inlet, Link, Outlet, SendError, author::CancelBy, diagnostics::CloseReport,
};
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, Sleep, sleep_until},
};

pub(crate) use self::token::Token;
use crate::sync::{Mutex, MutexGuard};

/// How many batches are read in a row before the task yields.
const BATCHES_PER_TURN: u32 = 32;

/// A session over one link. Dropping it closes the link immediately.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    driver: AbortHandle,
    incoming: Arc<dyn Incoming>,
}

/// Receives the requests and notifications of the server.
pub(crate) trait Incoming: Send + Sync {
    /// Whether requests of this server may be answered.
    fn may_answer(&self) -> bool;

    /// Handles a request or notification. Called on the reading task, so it must not block.
    fn event(self: Arc<Self>, shared: &Arc<Shared>, event: Event);

    /// Called when the link has closed.
    fn ended(&self);

    /// Aborts all pending responses.
    fn stop(&self);
}

/// State shared by callers and the reading task.
pub(crate) struct Shared {
    core: Mutex<Core>,
    outlet: Arc<dyn Outlet>,
    ended: watch::Sender<Option<Arc<CloseReport>>>,
}

#[derive(Default)]
struct Core {
    peer: Peer,
    /// The deadline for which the driver's timer is set.
    armed: Option<std::time::Instant>,
    driver: Option<Waker>,
}

impl Engine {
    pub(crate) fn start(link: Link, incoming: Arc<dyn Incoming>) -> Self {
        let (ended, _) = watch::channel(None);
        let shared = Arc::new(Shared { core: Mutex::default(), outlet: link.outlet, ended });
        let driver = Driver {
            shared: shared.clone(),
            inlet: link.inlet,
            incoming: incoming.clone(),
            sleep: None,
            batch: Vec::new(),
            wakes: Vec::new(),
            events: Vec::new(),
            noise: UnmatchedMessages::default(),
        };
        let driver = tokio::spawn(driver).abort_handle();
        Self { shared, driver, incoming }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn outlet(&self) -> &dyn Outlet {
        &*self.shared.outlet
    }

    /// Closes the link gracefully and returns its report.
    pub(crate) async fn close(&self) -> Arc<CloseReport> {
        self.shared.outlet.close();
        self.closed().await
    }

    /// Waits until the link has closed, for any reason.
    pub(crate) async fn closed(&self) -> Arc<CloseReport> {
        let mut ended = self.shared.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(report) => report.clone().unwrap_or_else(unknown_end),
            Err(_) => unknown_end(),
        }
    }
}

fn unknown_end() -> Arc<CloseReport> {
    Arc::new(CloseReport::new(mcp_transport::diagnostics::CloseReason::Ended, 0))
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.incoming.stop();
        // Dropping the driver drops the inlet, which ends the server process or connection.
        self.driver.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The report of how the link ended, if it has.
    pub(crate) fn report(&self) -> Option<Arc<CloseReport>> {
        self.ended.borrow().clone()
    }

    /// The counts of messages that matched no call.
    pub(crate) fn noise(&self) -> UnmatchedMessages {
        self.lock().peer.noise()
    }

    /// Makes a call. `params` receives the call's id, which is also its progress token.
    ///
    /// # Cancel safety
    /// Dropping the future abandons the call, and notifies the server unless it has already responded.
    pub(crate) async fn call(
        &self,
        method: impl Into<Cow<'static, str>>,
        limits: CallLimits,
        on_progress: Option<&(dyn Fn(Progress) + Send + Sync)>,
        params: impl FnOnce(CallId) -> Option<RawJson>,
    ) -> Result<Reply, Failure> {
        let id = self.open(limits).map_err(refused)?;
        let mut guard = Guard { shared: self, id, waiting: true };
        let request = Request::new(id, method, params(id));
        // Wait for room in the queue, within the call's time limits. A server that does not read
        // delays only its own callers.
        poll_fn(|cx| match self.outlet.poll_ready(cx) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => self.lock().peer.poll(id, cx).map(|outcome| outcome.map(drop)),
        })
        .await
        .map_err(not_sent)?;
        match self.outlet.send(Message::Request(request)) {
            Ok(ticket) => self.sent(id, ticket),
            Err(SendError::Full { .. }) => {
                return Err(lost(FailureCause::Local, "the server does not read its input"));
            }
            // Either the report has not reached the peer yet, or we closed the link ourselves.
            Err(_) => return Err(Failure::Closed(Delivery::NotSent)),
        }
        let outcome = poll_fn(|cx| {
            let mut reports = Vec::new();
            let outcome = {
                let mut core = self.lock();
                if on_progress.is_some() {
                    while let Poll::Ready(Some(report)) = core.peer.poll_progress(id, cx) {
                        reports.push(report);
                    }
                }
                core.peer.poll_reply(id, cx)
            };
            if let Some(on_progress) = on_progress {
                reports.into_iter().for_each(on_progress);
            }
            outcome
        })
        .await;
        guard.waiting = false;
        outcome
    }

    /// Sends a request without waiting for its response.
    pub(crate) fn tell(
        &self,
        method: &'static str,
        params: impl FnOnce(CallId) -> Option<RawJson>,
    ) {
        if let Ok(id) = self.open(CallLimits::default()) {
            let _ = self.outlet.send(Message::Request(Request::new(id, method, params(id))));
            self.lock().peer.give_up(id);
        }
    }

    pub(crate) fn notify(&self, method: &'static str, params: Option<RawJson>) {
        let _ = self.outlet.send(Message::Notification(Notification::new(method, params)));
    }

    /// Responds to a request of the server, unless the server has cancelled it.
    pub(crate) fn respond(&self, id: &RequestId, outcome: Result<RawJson, ErrorObject>) {
        let response = self.lock().peer.respond(id, outcome);
        if let Some(response) = response {
            let _ = self.outlet.send(response);
        }
    }

    /// Resets the idle timeouts of calls: the server is silent because it waits for a response itself.
    pub(crate) fn touch(&self) {
        self.lock().peer.touch(now());
    }

    /// Drops a request of the server without a response.
    pub(crate) fn ignore(&self, id: &RequestId) {
        drop(self.lock().peer.respond(id, Ok(RawJson::null())));
    }

    fn open(&self, limits: CallLimits) -> Result<CallId, Refused> {
        let (id, driver) = {
            let mut core = self.lock();
            let id = core.peer.open(limits, now())?;
            let sooner = match (core.peer.next_deadline(), core.armed) {
                (Some(due), Some(armed)) => due < armed,
                (due, None) => due.is_some(),
                (None, Some(_)) => false,
            };
            // Wake the driver if its timer is set to a later deadline than this call's.
            (id, if sooner { core.driver.take() } else { None })
        };
        driver.into_iter().for_each(Waker::wake);
        Ok(id)
    }

    fn sent(&self, id: CallId, ticket: u64) {
        let abandoned = {
            let mut core = self.lock();
            core.peer.sent(id, ticket);
            core.peer.next_abandoned()
        };
        // The call timed out before the request was written.
        if let Some(id) = abandoned {
            self.cancel(id, "timed out");
        }
    }

    fn abandon(&self, id: CallId) {
        let tell = self.lock().peer.give_up(id);
        if tell {
            self.cancel(id, "no longer wanted");
        }
    }

    fn cancel(&self, id: CallId, reason: &str) {
        if self.outlet.cancel(&id.into()) == CancelBy::Notification {
            let _ = self.outlet.send(Peer::cancellation(id, reason));
        }
    }
}

/// Abandons a call when the future waiting for it is dropped.
struct Guard<'a> {
    shared: &'a Shared,
    id: CallId,
    waiting: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.waiting {
            self.shared.abandon(self.id);
        }
    }
}

fn now() -> std::time::Instant {
    // Tokio's clock rather than std's, so that tests can pause it.
    Instant::now().into_std()
}

fn refused(refused: Refused) -> Failure {
    match refused {
        Refused::Closed => Failure::Closed(Delivery::NotSent),
        other => Failure::Refused(other),
    }
}

fn lost(cause: FailureCause, reason: &str) -> Failure {
    Loss::new(Delivery::NotSent, ErrorClass::Transient, cause, reason).into()
}

/// Converts a failure that occurred before the request was sent.
fn not_sent(failure: Failure) -> Failure {
    match failure {
        Failure::Closed(_) => Failure::Closed(Delivery::NotSent),
        Failure::TimedOut(timeout) => {
            let reason = format!("the server does not read its input: {timeout}");
            lost(FailureCause::TimedOut, &reason)
        }
        other => other,
    }
}

/// The reading task.
struct Driver {
    shared: Arc<Shared>,
    inlet: Box<dyn Inlet>,
    incoming: Arc<dyn Incoming>,
    sleep: Option<Pin<Box<Sleep>>>,
    batch: Vec<Inbound>,
    wakes: Vec<Waker>,
    events: Vec<Event>,
    /// The counts when last checked, to detect changes.
    noise: UnmatchedMessages,
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        for _ in 0..BATCHES_PER_TURN {
            match this.inlet.poll_recv(cx, &mut this.batch) {
                Poll::Ready(Ok(())) => this.take_in(),
                Poll::Ready(Err(report)) => {
                    this.finish(*report);
                    return Poll::Ready(());
                }
                Poll::Pending if this.expire(cx) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
        // A server that sends without pause must not delay the timeouts of other calls.
        this.expire(cx);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Driver {
    fn take_in(&mut self) {
        let shared = self.shared.clone();
        let mut core = shared.lock();
        let now = now();
        for inbound in self.batch.drain(..) {
            match inbound {
                Inbound::Message(message) => core.peer.receive(message, now),
                Inbound::Reply(reply) => core.peer.receive_reply(reply),
                Inbound::Lost { id, failure } => core.peer.fail(&id, failure),
                _ => {}
            }
        }
        let noise = core.peer.noise();
        if noise != self.noise {
            self.noise = noise;
            tracing::debug!(?noise, "received responses that match no call");
        }
        self.settle(core);
    }

    /// Polls the timer of the next deadline. Returns whether a deadline has passed.
    fn expire(&mut self, cx: &mut Context<'_>) -> bool {
        let shared = self.shared.clone();
        let mut core = shared.lock();
        match &mut core.driver {
            Some(known) => known.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        core.armed = core.peer.next_deadline();
        let Some(due) = core.armed.map(Instant::from_std) else { return false };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if sleep.deadline() != due {
            sleep.as_mut().reset(due);
        }
        // A flood of messages exhausts tokio's cooperative budget, and then the timer returns
        // pending regardless of the time. So the clock decides.
        if sleep.as_mut().poll(cx).is_pending() && Instant::now() < due {
            return false;
        }
        core.peer.expire(now());
        self.settle(core);
        true
    }

    /// Carries out the actions requested by the peer, after releasing the lock.
    fn settle(&mut self, mut core: MutexGuard<'_, Core>) {
        let peer = &mut core.peer;
        self.wakes.extend(std::iter::from_fn(|| peer.next_wake()));
        self.events.extend(std::iter::from_fn(|| peer.next_event()));
        let outgoing: Vec<_> = std::iter::from_fn(|| peer.next_outgoing()).collect();
        let abandoned: Vec<_> = std::iter::from_fn(|| peer.next_abandoned()).collect();
        drop(core);
        self.wakes.drain(..).for_each(Waker::wake);
        // The peer rejects requests beyond its limit, but a modern server must not be answered even then.
        for message in outgoing.into_iter().filter(|_| self.incoming.may_answer()) {
            let _ = self.shared.outlet.send(message);
        }
        for id in abandoned {
            self.shared.cancel(id, "timed out");
        }
        for event in self.events.drain(..) {
            self.incoming.clone().event(&self.shared, event);
        }
    }

    fn finish(&mut self, report: CloseReport) {
        // Publish the report first, so that callers woken by the peer find it.
        let flushed = report.flushed;
        self.shared.ended.send_replace(Some(Arc::new(report)));
        let shared = self.shared.clone();
        let mut core = shared.lock();
        core.peer.close(flushed);
        self.settle(core);
        self.incoming.ended();
    }
}

/// The task was aborted, so there will be no more responses.
impl Drop for Driver {
    fn drop(&mut self) {
        let shared = self.shared.clone();
        let mut core = shared.lock();
        if !core.peer.is_closed() {
            // It is unknown how much was written. Assume that everything was, which is the cautious choice.
            core.peer.close(u64::MAX);
            self.settle(core);
            self.incoming.ended();
            self.shared.ended.send_if_modified(|report| report.replace(unknown_end()).is_none());
        }
    }
}
