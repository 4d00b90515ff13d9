//! The lower bound for clients: requests rendered in advance, the same pipe or socket, the same
//! runtime, and only the end of a response is searched.

mod http;
mod pipe;
mod requests;
mod ws;

use std::{process::ExitCode, sync::Arc};

use bench_worker::{Contender, Reach, Server};
use bytes::{Bytes, BytesMut};
use memchr::memchr;

use crate::{http::Session, pipe::Process, requests::Requests, ws::Socket};

struct Floor {
    requests: &'static Requests,
    way: ServerRoute,
}

enum ServerRoute {
    Pipe(Process),
    Http(Session),
    Ws(Socket),
}

impl Floor {
    async fn ask(&self, request: &'static str) -> Bytes {
        match &self.way {
            ServerRoute::Pipe(process) => process.ask(request).await.freeze(),
            ServerRoute::Http(session) => session.ask(request).await,
            ServerRoute::Ws(socket) => socket.ask(request).await,
        }
    }
}

impl Contender for Floor {
    async fn connect(server: Server) -> Self {
        let requests = Requests::of(server.era);
        let way = match server.reach {
            Reach::Start { program, args } => {
                ServerRoute::Pipe(Process::start(program, args, requests).await)
            }
            Reach::Http { url } => ServerRoute::Http(Session::open(&url, requests).await),
            Reach::Ws { url } => ServerRoute::Ws(Socket::open(&url, requests).await),
        };
        Self { requests, way }
    }

    async fn call(&self, tool: &'static str) -> usize {
        self.ask(self.requests.call(tool)).await.len()
    }

    /// Returns the number of tools without parsing the list.
    async fn list(&self) -> usize {
        count_tools(&self.ask(self.requests.list).await)
    }

    async fn close(self) {
        match self.way {
            ServerRoute::Pipe(process) => process.close().await,
            ServerRoute::Http(_) => {}
            ServerRoute::Ws(socket) => socket.close().await,
        }
    }

    async fn call_many(self: Arc<Self>, tool: &'static str, depth: usize, calls: usize) {
        let request = self.requests.call(tool);
        match &self.way {
            ServerRoute::Pipe(process) => process.ask_many(request, depth, calls).await,
            ServerRoute::Ws(socket) => socket.ask_many(request, depth, calls).await,
            ServerRoute::Http(_) => bench_worker::call_many(self, tool, depth, calls).await,
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
