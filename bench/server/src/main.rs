//! An MCP server that is never the bottleneck: one thread, responses rendered in advance, and only
//! the id, the method and the tool name of a request are parsed.
//!
//! ```text
//! bench-server [--listen] [--tools N] [--tool-bytes N] [--legacy]
//! ```
//!
//! It supports both eras; with `--legacy` it does not support `server/discover`. It serves stdin, or
//! with `--listen` a port that it prints: HTTP at `/json` with JSON responses, at `/sse` with
//! streams of one event, and WebSocket on request.

mod answers;
mod connection;
mod http;
mod pipe;
mod socket;
mod ws;

use std::{env, io, process::ExitCode};

use bench_server::ToolList;

use crate::answers::Answers;

fn main() -> ExitCode {
    let mut list = ToolList { tools: 20, bytes: 1024 };
    let (mut legacy, mut listen) = (false, false);
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|text| text.parse().ok()).unwrap_or_default();
        match arg.as_str() {
            "--tools" => list.tools = number(),
            "--tool-bytes" => list.bytes = number(),
            "--legacy" => legacy = true,
            "--listen" => listen = true,
            _ => {
                eprintln!("bench-server: unknown argument {arg}");
                return ExitCode::FAILURE;
            }
        }
    }
    let answers = Answers::new(list, legacy);
    match if listen { socket::serve(answers) } else { pipe::serve(answers) } {
        Ok(()) => ExitCode::SUCCESS,
        // The client closed the connection during a write.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-server: {error}");
            ExitCode::FAILURE
        }
    }
}
