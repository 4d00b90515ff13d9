//! Callers, the reading task and the link, in every order in which their threads can take turns.
//!
//! [`Echo`] is the smallest link: whoever polls its inlet finds an answer to everything sent so far. A wake-up that gets
//! lost leaves a thread asleep for good, which loom reports as a deadlock.

use std::{collections::VecDeque, time::Duration};

use loom::{future::block_on, model::Builder, sync::Mutex as LoomMutex, thread};
use mcp_jsonrpc::Response;
use mcp_transport::{CloseReason, Diagnostics};

use super::*;
use crate::handler::Decline;

/// What happens on a wire.
#[derive(Default)]
struct Wire {
    sent: VecDeque<Message>,
    /// How many messages the other side has taken.
    taken: u64,
    tickets: u64,
    /// Requests the other side has answered, and those it was told to drop.
    answered: Vec<RequestId>,
    cancelled: u64,
    is_closed: bool,
    /// Callers that are.
    done: usize,
    /// Answers nothing.
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
                // What was not taken is not delivered any more.
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

/// A conversation, its reading task not yet polled.
fn conversation(link: &Echo) -> (Arc<Shared>, Driver) {
    let (ended, _) = watch::channel(None);
    let outlet = Arc::new(link.clone());
    let shared = Arc::new(Shared { core: Mutex::default(), outlet, ended });
    let driver = Driver {
        shared: shared.clone(),
        inlet: Box::new(link.clone()),
        dispatch: Dispatch::new(Arc::new(Decline), 4),
        sleep: None,
        batch: Vec::new(),
        wakes: Vec::new(),
        events: Vec::new(),
        noise: Noise::default(),
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

/// Plays every order with at most this many turns taken away from a thread that could go on.
fn every_order(preemptions: usize, play: impl Fn() + Sync + Send + 'static) {
    // Timers want a runtime about them. Nobody turns its clock: what is due is due already.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(play);
}

#[test]
fn no_wake_up_is_lost_and_no_answer_crossed() {
    every_order(2, || {
        let link = Echo::new(false);
        let (shared, driver) = conversation(&link);
        let callers = [11, 22].map(|nonce| {
            let (shared, link) = (shared.clone(), link.clone());
            thread::spawn(move || {
                let answer = block_on(call(&shared, CallLimits::default(), nonce));
                assert_eq!(answer, Ok(nonce));
                // Whoever is done last closes.
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
        assert_eq!(shared.lock().peer.noise(), Noise::default());
    });
}

#[test]
fn a_call_dropped_as_its_answer_arrives_leaves_nothing_behind() {
    every_order(3, || {
        let link = Echo::new(false);
        let (shared, driver) = conversation(&link);
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
        assert_eq!((noise.duplicate, noise.unknown), (0, 0), "a late answer is known as such");
    });
}

#[test]
fn a_call_that_meets_the_end_is_told_and_not_sent_is_no_lie() {
    every_order(3, || {
        let link = Echo::new(false);
        let (shared, driver) = conversation(&link);
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
fn a_reading_task_that_is_dropped_takes_every_call_with_it() {
    every_order(3, || {
        let link = Echo::new(true);
        let (shared, mut driver) = conversation(&link);
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
fn a_deadline_earlier_than_the_readers_own_wakes_it() {
    every_order(3, || {
        let link = Echo::new(true);
        let (shared, driver) = conversation(&link);
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
fn a_cancellation_is_sent_once_for_what_was_sent_and_not_answered() {
    every_order(3, || {
        let link = Echo::new(true);
        let (shared, driver) = conversation(&link);
        let reading = thread::spawn(move || block_on(driver));
        let mut limits = CallLimits::default();
        limits.total = Some(Duration::ZERO);
        // Its time is up while it is on its way out, or before, or after.
        let outcome = block_on(call(&shared, limits, 5));
        assert!(matches!(outcome, Err(Failure::TimedOut(_))), "{outcome:?}");
        drop(outcome);
        let told = |wire: &Wire| {
            let waiting = |m: &&Message| matches!(m, Message::Notification(_));
            wire.cancelled + wire.sent.iter().filter(waiting).count() as u64
        };
        // The reading task may still be about to send it.
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
