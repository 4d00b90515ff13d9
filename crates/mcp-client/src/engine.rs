//! The thin tokio side of [`Peer`]: one task that reads, and callers that write for themselves.
//!
//! Callers and the reading task share the peer behind a short lock. A call is encoded and written from
//! the caller's own task; its answer wakes exactly that task, which then decodes it. There is no queue
//! and no task in between, in either direction.

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
    CallId, CallLimits, Delivery, ErrorClass, ErrorObject, Event, Failure, Loss, Message, Noise,
    Notification, Peer, Progress, RawJson, Refused, Reply, Request, RequestId, Trouble,
};
use mcp_transport::{CancelBy, CloseReport, Inbound, Inlet, Link, Outlet, SendError};
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, Sleep, sleep_until},
};

pub(crate) use self::token::Token;
use crate::{
    dispatch::Dispatch,
    sync::{Mutex, MutexGuard},
};

/// How many batches are taken in a row before other tasks get a turn.
const BATCHES_PER_TURN: u32 = 32;

/// A conversation over one link. Dropping it ends the link at once.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    driver: AbortHandle,
    dispatch: Arc<Dispatch>,
}

/// What callers and the reading task share.
pub(crate) struct Shared {
    core: Mutex<Core>,
    outlet: Arc<dyn Outlet>,
    ended: watch::Sender<Option<Arc<CloseReport>>>,
}

#[derive(Default)]
struct Core {
    peer: Peer,
    /// When the driver will wake up by itself.
    armed: Option<std::time::Instant>,
    driver: Option<Waker>,
}

impl Engine {
    pub(crate) fn start(link: Link, dispatch: Arc<Dispatch>) -> Self {
        let (ended, _) = watch::channel(None);
        let shared = Arc::new(Shared { core: Mutex::default(), outlet: link.outlet, ended });
        let driver = Driver {
            shared: shared.clone(),
            inlet: link.inlet,
            dispatch: dispatch.clone(),
            sleep: None,
            batch: Vec::new(),
            wakes: Vec::new(),
            events: Vec::new(),
            noise: Noise::default(),
        };
        let driver = tokio::spawn(driver).abort_handle();
        Self { shared, driver, dispatch }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn outlet(&self) -> &dyn Outlet {
        &*self.shared.outlet
    }

    /// Closes the link in good order and waits for its report.
    pub(crate) async fn close(&self) -> Arc<CloseReport> {
        self.shared.outlet.close();
        self.closed().await
    }

    /// Waits for the end of the link, whoever brings it about.
    pub(crate) async fn closed(&self) -> Arc<CloseReport> {
        let mut ended = self.shared.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(report) => report.clone().unwrap_or_else(unknown_end),
            Err(_) => unknown_end(),
        }
    }
}

fn unknown_end() -> Arc<CloseReport> {
    Arc::new(CloseReport::new(mcp_transport::CloseReason::Ended, 0))
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.dispatch.stop();
        // Dropping the driver drops the inlet, which takes the server with it.
        self.driver.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the link ended, if it has.
    pub(crate) fn report(&self) -> Option<Arc<CloseReport>> {
        self.ended.borrow().clone()
    }

    /// Answers that nobody waited for.
    pub(crate) fn noise(&self) -> Noise {
        self.lock().peer.noise()
    }

    /// Makes a call. `params` gets the call's id, which is its progress token too.
    ///
    /// # Cancel safety
    /// Dropping the future gives the call up, and tells the server unless it has answered already.
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
        // A server that does not read holds up its own callers, within their time limits.
        poll_fn(|cx| match self.outlet.poll_ready(cx) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => self.lock().peer.poll(id, cx).map(|outcome| outcome.map(drop)),
        })
        .await
        .map_err(not_sent)?;
        match self.outlet.send(Message::Request(request)) {
            Ok(ticket) => self.sent(id, ticket),
            Err(SendError::Full { .. }) => {
                return Err(lost(Trouble::Local, "the server does not read what it is sent"));
            }
            // Either the report is on its way to the peer, or this link was closed by ourselves.
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

    /// Sends a request whose answer nobody waits for.
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

    /// Answers a request of the server's, unless it no longer wants the answer.
    pub(crate) fn respond(&self, id: &RequestId, outcome: Result<RawJson, ErrorObject>) {
        let response = self.lock().peer.respond(id, outcome);
        if let Some(response) = response {
            let _ = self.outlet.send(response);
        }
    }

    /// The server waits for us, so it is no wonder that it is silent.
    pub(crate) fn touch(&self) {
        self.lock().peer.touch(now());
    }

    /// Lets a request of the server's go unanswered.
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
            // The driver sleeps until a later deadline than this call's.
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
        // Its time was up before it was out.
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

/// Gives a call up when the future that waits for it is dropped.
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

fn lost(trouble: Trouble, reason: &str) -> Failure {
    Loss::new(Delivery::NotSent, ErrorClass::Transient, trouble, reason).into()
}

/// A failure from before the request was handed over.
fn not_sent(failure: Failure) -> Failure {
    match failure {
        Failure::Closed(_) => Failure::Closed(Delivery::NotSent),
        Failure::TimedOut(timeout) => {
            let reason = format!("the server does not read what it is sent: {timeout}");
            lost(Trouble::TimedOut, &reason)
        }
        other => other,
    }
}

/// The task that reads.
struct Driver {
    shared: Arc<Shared>,
    inlet: Box<dyn Inlet>,
    dispatch: Arc<Dispatch>,
    sleep: Option<Pin<Box<Sleep>>>,
    batch: Vec<Inbound>,
    wakes: Vec<Waker>,
    events: Vec<Event>,
    /// As of the last look, to tell when there is more.
    noise: Noise,
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
        // Whoever floods us without a pause must not stop the clock for everybody else.
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
            tracing::debug!(?noise, "answers that nobody waits for");
        }
        self.settle(core);
    }

    /// Sleeps until the next deadline. Returns whether one has just passed.
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
        // A server that floods uses up what tokio lets a task do in one go, and a timer then says that
        // it is not ready whatever the time. So the clock has the last word.
        if sleep.as_mut().poll(cx).is_pending() && Instant::now() < due {
            return false;
        }
        core.peer.expire(now());
        self.settle(core);
        true
    }

    /// Carries out what the peer wants done, after letting go of it.
    fn settle(&mut self, mut core: MutexGuard<'_, Core>) {
        let peer = &mut core.peer;
        self.wakes.extend(std::iter::from_fn(|| peer.next_wake()));
        self.events.extend(std::iter::from_fn(|| peer.next_event()));
        let outgoing: Vec<_> = std::iter::from_fn(|| peer.next_outgoing()).collect();
        let abandoned: Vec<_> = std::iter::from_fn(|| peer.next_abandoned()).collect();
        drop(core);
        self.wakes.drain(..).for_each(Waker::wake);
        // The peer refuses what is too much, and a modern server must not be answered even then.
        for message in outgoing.into_iter().filter(|_| self.dispatch.may_answer()) {
            let _ = self.shared.outlet.send(message);
        }
        for id in abandoned {
            self.shared.cancel(id, "timed out");
        }
        for event in self.events.drain(..) {
            self.dispatch.event(&self.shared, event);
        }
    }

    fn finish(&mut self, report: CloseReport) {
        // Whoever is woken by the peer finds the report already there.
        let flushed = report.flushed;
        self.shared.ended.send_replace(Some(Arc::new(report)));
        let shared = self.shared.clone();
        let mut core = shared.lock();
        core.peer.close(flushed);
        self.settle(core);
        self.dispatch.ended();
    }
}

/// Aborted rather than finished: nobody will answer any more.
impl Drop for Driver {
    fn drop(&mut self) {
        let shared = self.shared.clone();
        let mut core = shared.lock();
        if !core.peer.is_closed() {
            // Nothing is known of what was written, which is the cautious thing to say.
            core.peer.close(u64::MAX);
            self.settle(core);
            self.dispatch.ended();
            self.shared.ended.send_if_modified(|report| report.replace(unknown_end()).is_none());
        }
    }
}
