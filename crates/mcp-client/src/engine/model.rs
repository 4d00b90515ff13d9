//! Loom model of callers, the reading task and the link, in every interleaving.
//!
//! [`Echo`] is a minimal link: polling its inlet yields a response to everything sent so far. A
//! lost wake-up leaves a thread blocked forever, which loom reports as a deadlock.

use std::{collections::VecDeque, time::Duration};

use loom::{future::block_on, model::Builder, sync::Mutex as LoomMutex, thread};
use mcp_jsonrpc::Response;
use mcp_transport::diagnostics::{CloseReason, Diagnostics};
use mcp_types::events::Decline;

use super::*;
use crate::host::dispatch::Dispatch;

/// The state of the simulated wire.
#[derive(Default)]
struct Wire {
    sent: VecDeque<Message>,
    /// The number of messages the peer has received.
    taken: u64,
    tickets: u64,
    /// The requests the peer has answered, and the number of cancellations it received.
    answered: Vec<RequestId>,
    cancelled: u64,
    is_closed: bool,
    /// The number of callers that have finished.
    done: usize,
    /// Whether the peer never responds.
    is_mute: bool,
    reader: Option<Waker>,
}

#[derive(Clone)]
struct Echo(Arc<LoomMutex<Wire>>);

impl Echo {
    fn new(is_mute: bool) -> Self {
        Self(Arc::new(LoomMutex::new(Wire { is_mute, ..Wire::default() })))
    }

    fn with<T>(&self, change: impl FnOnce(&mut Wire) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }
}

impl Outlet for Echo {
    fn send(&self, message: Message) -> Result<u64, SendError> {
        let (ticket, reader) = self.with(|wire| {
            if wire.is_closed {
                return Err(SendError::Closed);
            }
            wire.sent.push_back(message);
            wire.tickets += 1;
            Ok((wire.tickets, wire.reader.take()))
        })?;
        reader.into_iter().for_each(Waker::wake);
        Ok(ticket)
    }

    fn poll_ready(&self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn close(&self) {
        let reader = self.with(|wire| {
            wire.is_closed = true;
            wire.reader.take()
        });
        reader.into_iter().for_each(Waker::wake);
    }

    fn diagnostics(&self) -> Diagnostics {
        Diagnostics::default()
    }
}

impl Inlet for Echo {
    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Vec<Inbound>,
    ) -> Poll<Result<(), Box<CloseReport>>> {
        self.with(|wire| {
            if wire.is_closed {
                // Messages not received before the close are not delivered.
                let report = CloseReport::new(CloseReason::Ended, wire.taken);
                return Poll::Ready(Err(Box::new(report)));
            }
            while let Some(message) = wire.sent.pop_front() {
                wire.taken += 1;
                match message {
                    Message::Request(request) if !wire.is_mute => {
                        wire.answered.push(request.id.clone());
                        let outcome = Ok(request.params.unwrap_or_else(RawJson::null));
                        let id = Some(request.id);
                        batch.push(Inbound::Message(Message::Response(Response { id, outcome })));
                    }
                    Message::Notification(_) => wire.cancelled += 1,
                    _ => {}
                }
            }
            if batch.is_empty() {
                wire.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(Ok(()))
        })
    }
}

/// A session with an unpolled reading task.
fn session(link: &Echo) -> (Arc<Shared>, Driver) {
    let (ended, _) = watch::channel(None);
    let outlet = Arc::new(link.clone());
    let shared = Arc::new(Shared { core: Mutex::default(), outlet, ended });
    let driver = Driver {
        shared: shared.clone(),
        inlet: Box::new(link.clone()),
        incoming: Dispatch::new(Arc::new(Decline), 4),
        sleep: None,
        batch: Vec::new(),
        wakes: Vec::new(),
        events: Vec::new(),
        noise: UnmatchedMessages::default(),
    };
    (shared, driver)
}

async fn call(shared: &Shared, limits: CallLimits, nonce: u64) -> Result<u64, Failure> {
    let params = |_| Some(RawJson::encode(&nonce).unwrap());
    let reply = shared.call("ask", limits, None, params).await?;
    Ok(reply.into_raw()?.decode().unwrap())
}

fn asking(shared: &Arc<Shared>, nonce: u64) -> thread::JoinHandle<Result<u64, Failure>> {
    let shared = shared.clone();
    thread::spawn(move || block_on(call(&shared, CallLimits::default(), nonce)))
}

/// Runs every interleaving with at most this many preemptions.
fn every_order(preemptions: usize, play: impl Fn() + Sync + Send + 'static) {
    // Timers need a runtime. Its clock never advances, so only deadlines that have already passed expire.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(play);
}

#[test]
fn every_caller_is_woken_with_its_own_response() {
    every_order(2, || {
        let link = Echo::new(false);
        let (shared, driver) = session(&link);
        let callers = [11, 22].map(|nonce| {
            let (shared, link) = (shared.clone(), link.clone());
            thread::spawn(move || {
                let answer = block_on(call(&shared, CallLimits::default(), nonce));
                assert_eq!(answer, Ok(nonce));
                // The last caller to finish closes the link.
                let is_last = link.with(|wire| {
                    wire.done += 1;
                    wire.done == 2
                });
                if is_last {
                    link.close();
                }
            })
        });
        block_on(driver);
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert_eq!(shared.lock().peer.noise(), UnmatchedMessages::default());
    });
}

#[test]
fn call_dropped_as_its_response_arrives_leaks_nothing() {
    every_order(3, || {
        let link = Echo::new(false);
        let (shared, driver) = session(&link);
        let reading = thread::spawn(move || block_on(driver));
        let answer = {
            let mut asked = Box::pin(call(&shared, CallLimits::default(), 7));
            let mut polls = 0;
            block_on(poll_fn(|cx| {
                polls += 1;
                match asked.as_mut().poll(cx) {
                    Poll::Pending if polls == 1 => Poll::Ready(None),
                    polled => polled.map(Some),
                }
            }))
        };
        link.close();
        reading.join().unwrap();
        assert!(answer.is_none() || answer == Some(Ok(7)), "{answer:?}");
        let core = shared.lock();
        assert_eq!(core.peer.in_flight(), 0);
        let noise = core.peer.noise();
        assert_eq!((noise.duplicate, noise.unknown), (0, 0), "a late response is counted as late");
    });
}

#[test]
fn call_during_close_fails_with_the_right_delivery() {
    every_order(3, || {
        let link = Echo::new(false);
        let (shared, driver) = session(&link);
        let reading = thread::spawn(move || block_on(driver));
        let asked = asking(&shared, 5);
        link.close();
        let outcome = asked.join().unwrap();
        reading.join().unwrap();
        let was_taken = link.with(|wire| wire.taken > 0);
        match outcome {
            Ok(answer) => assert_eq!(answer, 5),
            Err(Failure::Closed(Delivery::NotSent)) => assert!(!was_taken),
            Err(Failure::Closed(Delivery::Unknown)) => {}
            Err(other) => panic!("{other}"),
        }
    });
}

#[test]
fn dropped_reader_fails_every_call() {
    every_order(3, || {
        let link = Echo::new(true);
        let (shared, mut driver) = session(&link);
        let asked = asking(&shared, 5);
        block_on(poll_fn(|cx| {
            let _ = Pin::new(&mut driver).poll(cx);
            Poll::Ready(())
        }));
        drop(driver);
        let outcome = asked.join().unwrap();
        assert!(matches!(outcome, Err(Failure::Closed(_))), "{outcome:?}");
    });
}

#[test]
fn earlier_deadline_wakes_the_reader() {
    every_order(3, || {
        let link = Echo::new(true);
        let (shared, driver) = session(&link);
        let reading = thread::spawn(move || block_on(driver));
        let mut limits = CallLimits::default();
        limits.total = Some(Duration::ZERO);
        let outcome = block_on(call(&shared, limits, 5));
        assert!(matches!(outcome, Err(Failure::TimedOut(_))), "{outcome:?}");
        link.close();
        reading.join().unwrap();
    });
}

#[test]
fn timed_out_call_is_cancelled_once() {
    every_order(3, || {
        let link = Echo::new(true);
        let (shared, driver) = session(&link);
        let reading = thread::spawn(move || block_on(driver));
        let mut limits = CallLimits::default();
        limits.total = Some(Duration::ZERO);
        // The timeout may expire before, during or after sending.
        let outcome = block_on(call(&shared, limits, 5));
        assert!(matches!(outcome, Err(Failure::TimedOut(_))), "{outcome:?}");
        drop(outcome);
        let told = |wire: &Wire| {
            let waiting = |m: &&Message| matches!(m, Message::Notification(_));
            wire.cancelled + wire.sent.iter().filter(waiting).count() as u64
        };
        // The reading task may not have sent the notification yet.
        let mut looks = 0;
        while link.with(|wire| told(wire)) == 0 && looks < 100 {
            looks += 1;
            thread::yield_now();
        }
        assert_eq!(link.with(|wire| told(wire)), 1);
        link.close();
        reading.join().unwrap();
    });
}
