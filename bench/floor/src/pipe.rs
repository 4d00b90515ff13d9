//! Uses a pipe to a child process. Callers are served in the order of their requests.

use std::{collections::VecDeque, mem, path::PathBuf, process::Stdio, sync::Arc};

use bytes::BytesMut;
use memchr::{memchr, memchr_iter};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Mutex, Notify, oneshot},
};

use crate::requests::Requests;

pub(crate) struct Process {
    pipe: Mutex<Pipe>,
    child: Child,
}

impl Process {
    pub(crate) async fn start(
        program: PathBuf,
        args: Vec<String>,
        requests: &'static Requests,
    ) -> Self {
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut pipe = Pipe {
            stdin: child.stdin.take().expect("stdin is piped"),
            stdout: child.stdout.take().expect("stdout is piped"),
            buffer: BytesMut::new(),
        };
        pipe.ask(requests.open).await;
        pipe.stdin.write_all(requests.opened.as_bytes()).await.expect("the server reads");
        Self { pipe: Mutex::new(pipe), child }
    }

    pub(crate) async fn ask(&self, request: &'static str) -> BytesMut {
        self.pipe.lock().await.ask(request).await
    }

    /// Callers in separate tasks, as for the other contenders, but matched by order instead of id.
    pub(crate) async fn ask_many(&self, request: &'static str, depth: usize, calls: usize) {
        let desk = Arc::new(Desk::default());
        let callers: Vec<_> = (0..depth)
            .map(|caller| {
                let desk = Arc::clone(&desk);
                let share = calls / depth + usize::from(caller < calls % depth);
                tokio::spawn(async move {
                    for _ in 0..share {
                        desk.call(request).await;
                    }
                })
            })
            .collect();
        desk.serve(&mut *self.pipe.lock().await, calls).await;
        for caller in callers {
            caller.await.expect("a caller panicked");
        }
    }

    pub(crate) async fn close(mut self) {
        drop(self.pipe);
        self.child.wait().await.expect("the server ends");
    }
}

struct Pipe {
    stdin: ChildStdin,
    stdout: ChildStdout,
    buffer: BytesMut,
}

impl Pipe {
    /// Sends `request`, waits for one line, and returns its length.
    async fn ask(&mut self, request: &str) -> BytesMut {
        self.stdin.write_all(request.as_bytes()).await.expect("the server reads");
        let mut searched = 0;
        loop {
            if let Some(end) = memchr(b'\n', &self.buffer[searched..]) {
                return self.buffer.split_to(searched + end + 1);
            }
            searched = self.buffer.len();
            self.read().await;
        }
    }

    async fn read(&mut self) {
        // Small while idle. Once a line has begun, as much as a pipe can hold.
        self.buffer.reserve(if self.buffer.is_empty() { 4 << 10 } else { 64 << 10 });
        let read = self.stdout.read_buf(&mut self.buffer).await.expect("the server writes");
        assert_ne!(read, 0, "the server hung up");
    }
}

/// The queue of requests and their callers, in order.
#[derive(Default)]
struct Desk {
    queue: std::sync::Mutex<Queue>,
    has_requests: Notify,
}

#[derive(Default)]
struct Queue {
    outbox: Vec<u8>,
    waiting: VecDeque<oneshot::Sender<()>>,
}

impl Desk {
    async fn call(&self, request: &str) {
        let (sender, answered) = oneshot::channel();
        {
            let mut queue = self.queue();
            queue.outbox.extend_from_slice(request.as_bytes());
            queue.waiting.push_back(sender);
        }
        self.has_requests.notify_one();
        answered.await.expect("the desk is served until all is answered");
    }

    /// Writes all queued requests at once, and wakes one caller per line, until `calls` have responses.
    async fn serve(&self, pipe: &mut Pipe, calls: usize) {
        let Pipe { stdin, stdout, buffer } = pipe;
        let mut answered = 0;
        while answered < calls {
            buffer.reserve(64 << 10);
            tokio::select! {
                () = self.has_requests.notified() => {
                    let outbox = mem::take(&mut self.queue().outbox);
                    stdin.write_all(&outbox).await.expect("the server reads");
                }
                read = stdout.read_buf(buffer) => {
                    assert_ne!(read.expect("the server writes"), 0, "the server hung up");
                    let lines = memchr_iter(b'\n', buffer).count();
                    // The rest is an incomplete line. Its newline is counted when it arrives.
                    buffer.clear();
                    answered += lines;
                    for caller in self.queue().waiting.drain(..lines) {
                        caller.send(()).expect("a caller waits");
                    }
                }
            }
        }
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().expect("nobody panics with the queue in hand")
    }
}
