//! What no client can beat: requests rendered beforehand, the same pipe, the same runtime, and of
//! an answer only its newline is looked for.

use std::{
    collections::VecDeque,
    mem,
    process::{ExitCode, Stdio},
    sync::Arc,
};

use bench_worker::{Contender, Era, Server};
use bytes::BytesMut;
use memchr::{memchr, memchr_iter};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Mutex, Notify, oneshot},
};

// A small client's `_meta`, repeated in every request of 2026-07-28.
macro_rules! meta {
    () => {
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"floor","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#
    };
}

/// The requests of one era.
struct Requests {
    open: &'static str,
    opened: &'static str,
    small: &'static str,
    large: &'static str,
    list: &'static str,
}

const LEGACY: Requests = Requests {
    open: "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"floor\",\"version\":\"1.0.0\"}}}\n",
    opened: "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
    small: "{\"jsonrpc\":\"2.0\",\"id\":1234,\"method\":\"tools/call\",\"params\":{\"name\":\"small\"}}\n",
    large: "{\"jsonrpc\":\"2.0\",\"id\":1234,\"method\":\"tools/call\",\"params\":{\"name\":\"large\"}}\n",
    list: "{\"jsonrpc\":\"2.0\",\"id\":1234,\"method\":\"tools/list\"}\n",
};

const MODERN: Requests = Requests {
    open: concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"#,
        meta!(),
        "}}\n"
    ),
    opened: "",
    small: concat!(
        r#"{"jsonrpc":"2.0","id":1234,"method":"tools/call","params":{"name":"small","#,
        meta!(),
        "}}\n"
    ),
    large: concat!(
        r#"{"jsonrpc":"2.0","id":1234,"method":"tools/call","params":{"name":"large","#,
        meta!(),
        "}}\n"
    ),
    list: concat!(
        r#"{"jsonrpc":"2.0","id":1234,"method":"tools/list","params":{"#,
        meta!(),
        "}}\n"
    ),
};

struct Floor {
    requests: &'static Requests,
    pipe: Mutex<Pipe>,
    child: Child,
}

struct Pipe {
    stdin: ChildStdin,
    stdout: ChildStdout,
    buffer: BytesMut,
}

impl Pipe {
    /// Sends `request` and waits for one line; its bytes.
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
        // Small when idle; once a line is under way, as much as a pipe can hold.
        self.buffer.reserve(if self.buffer.is_empty() { 4 << 10 } else { 64 << 10 });
        let read = self.stdout.read_buf(&mut self.buffer).await.expect("the server writes");
        assert_ne!(read, 0, "the server hung up");
    }
}

/// Where callers leave requests and wait for answers, in the order in which they came.
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

    /// Writes what lies there in one go, and wakes one caller per line, until `calls` had theirs.
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
                    // The rest is a line that has begun; its newline is counted when it comes.
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

impl Contender for Floor {
    async fn connect(server: Server) -> Self {
        let requests = if server.era == Era::Modern { &MODERN } else { &LEGACY };
        let mut child = Command::new(server.program)
            .args(server.args)
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
        Self { requests, pipe: Mutex::new(pipe), child }
    }

    async fn call(&self, tool: &'static str) -> usize {
        let large = tool == "large";
        let request = if large { self.requests.large } else { self.requests.small };
        self.pipe.lock().await.ask(request).await.len()
    }

    /// Counts nothing, but a worker wants to see the number of tools it asked for: their names.
    async fn list(&self) -> usize {
        let line = self.pipe.lock().await.ask(self.requests.list).await;
        count_tools(&line)
    }

    async fn close(mut self) {
        drop(self.pipe);
        self.child.wait().await.expect("the server ends");
    }

    /// Callers in tasks of their own, like everybody's, but matched by order instead of by id.
    async fn call_many(self: Arc<Self>, _tool: &'static str, depth: usize, calls: usize) {
        let desk = Arc::new(Desk::default());
        let callers: Vec<_> = (0..depth)
            .map(|caller| {
                let desk = Arc::clone(&desk);
                let request = self.requests.small;
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

    fn decode_call(line: BytesMut) -> usize {
        memchr(b'\n', &line).expect("a line ends")
    }

    fn decode_list(line: BytesMut) -> usize {
        memchr(b'\n', &line).expect("a line ends")
    }
}

/// Reads the number from the last tool's name rather than counting a megabyte of commas.
fn count_tools(line: &[u8]) -> usize {
    let name = br#"{"name":"tool_"#;
    let at = memchr::memmem::rfind(line, name).expect("there is a tool") + name.len();
    let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0')) + 1
}

fn main() -> ExitCode {
    bench_worker::main::<Floor>()
}
