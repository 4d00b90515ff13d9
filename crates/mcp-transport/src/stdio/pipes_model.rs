//! Callers and the inlet's task share a pipe, in every order in which their threads can take turns.
//!
//! A wake-up that gets lost leaves a thread asleep for good, which loom reports as a deadlock.

use std::future::poll_fn;

use loom::{future::block_on, model::Builder, sync::Mutex as LoomMutex, thread};
use mcp_jsonrpc::Request;
use tokio::io::ReadBuf;

use super::*;

/// A server at the other end of two pipes.
#[derive(Default)]
struct Server {
    received: Vec<u8>,
    /// Lines it has answered.
    answered: usize,
    /// Answers nothing.
    is_mute: bool,
    /// Takes one byte and then, once, nothing: as a pipe that is full.
    choke: u8,
    reader: Option<Waker>,
}

impl Server {
    fn lines(&self) -> usize {
        self.received.iter().filter(|byte| **byte == b'\n').count()
    }
}

#[derive(Clone, Default)]
struct Ends(Arc<LoomMutex<Server>>);

impl Ends {
    fn with<T>(&self, change: impl FnOnce(&mut Server) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    fn lines(&self) -> usize {
        self.with(|server| server.lines())
    }
}

impl AsyncWrite for Ends {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (taken, reader) = self.with(|server| {
            let count = match server.choke {
                2 => 1,
                1 => 0,
                _ => bytes.len(),
            };
            server.choke = server.choke.saturating_sub(1);
            server.received.extend_from_slice(&bytes[..count]);
            (count, server.reader.take().filter(|_| count > 0))
        });
        reader.into_iter().for_each(Waker::wake);
        if taken == 0 {
            // There is room again before anybody can blink. Who is not listening does not hear of it.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Ends {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.with(|server| {
            if server.is_mute || server.answered == server.lines() {
                server.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            server.answered += 1;
            let answer =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{}}}}\n", server.answered);
            buffer.put_slice(answer.as_bytes());
            Poll::Ready(Ok(()))
        })
    }
}

fn inlet(ends: &Ends, max_queued: usize) -> StdioInlet {
    let mut options = StdioOptions::new("none");
    options.max_queued = max_queued;
    let stderr = Arc::new(StderrTail::new(None, crate::stdio::confidence::Confidence::default()));
    StdioInlet::new(Box::pin(ends.clone()), Box::pin(ends.clone()), None, stderr, &options)
}

/// Reads until so many answers are there.
fn reading(mut inlet: StdioInlet, answers: usize) -> thread::JoinHandle<StdioInlet> {
    thread::spawn(move || {
        let mut batch = Vec::new();
        block_on(poll_fn(|cx| {
            while batch.len() < answers {
                ready!(inlet.poll_recv(cx, &mut batch)).unwrap();
            }
            Poll::Ready(())
        }));
        inlet
    })
}

fn request(id: i64) -> Message {
    Message::Request(Request::new(id, "ask", None))
}

fn every_order(preemptions: usize, play: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(play);
}

#[test]
fn whatever_callers_send_at_once_arrives_in_whole_lines() {
    every_order(2, || {
        let ends = Ends::default();
        let inlet = inlet(&ends, 1 << 20);
        let outlet = inlet.shared.clone();
        let reading = reading(inlet, 2);
        let other = {
            let outlet = outlet.clone();
            thread::spawn(move || outlet.send(request(1)).map(drop))
        };
        outlet.send(request(2)).unwrap();
        other.join().unwrap().unwrap();
        let inlet = reading.join().unwrap();
        assert_eq!(ends.lines(), 2);
        let received = ends.with(|server| String::from_utf8(server.received.clone()).unwrap());
        assert!(received.lines().all(|line| line.ends_with('}')), "{received}");
        let (flushed, taken) = {
            let state = outlet.lock();
            (state.flushed, state.taken)
        };
        assert_eq!(flushed, taken);
        drop(inlet);
    });
}

#[test]
fn what_a_full_pipe_did_not_take_is_written_once_it_does() {
    every_order(2, || {
        let ends = Ends::default();
        ends.with(|server| server.choke = 2);
        let inlet = inlet(&ends, 1 << 20);
        let outlet = inlet.shared.clone();
        let reading = reading(inlet, 1);
        outlet.send(request(1)).unwrap();
        drop(reading.join().unwrap());
        assert_eq!(ends.lines(), 1);
    });
}

/// The server says nothing, so nobody is woken by its answers.
#[test]
fn who_waits_for_room_is_woken_by_whoever_made_it() {
    every_order(2, || {
        let ends = Ends::default();
        ends.with(|server| server.is_mute = true);
        let mut inlet = inlet(&ends, 1);
        let outlet = inlet.shared.clone();
        let send = |id| {
            let outlet = outlet.clone();
            thread::spawn(move || {
                // Between looking and sending somebody else may have taken the room.
                for _ in 0..3 {
                    block_on(poll_fn(|cx| outlet.poll_ready(cx)));
                    if outlet.send(request(id)).is_ok() {
                        return;
                    }
                }
                panic!("there was never any room");
            })
        };
        let callers = [send(1), send(2)];
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        // What the callers left to the inlet's task, which nobody needed until now.
        block_on(poll_fn(|cx| {
            assert!(inlet.poll_recv(cx, &mut Vec::new()).is_pending());
            Poll::Ready(())
        }));
        assert_eq!(ends.lines(), 2);
        drop(inlet);
    });
}
