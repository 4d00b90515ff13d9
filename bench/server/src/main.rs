//! An MCP server that is never the bottleneck: one thread, answers rendered before they are asked
//! for, and of a request only id, method and tool name read.
//!
//! ```text
//! bench-server [--listen] [--tools N] [--tool-bytes N] [--legacy]
//! ```
//!
//! It speaks both eras; with `--legacy` it does not know `server/discover`. It serves its stdin, or
//! with `--listen` a port that it prints: HTTP at `/json` with answers in JSON, at `/sse` with
//! answers in streams of one event, and WebSocket for whoever asks for that.

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
        // The client went away while we were writing: its way of hanging up.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-server: {error}");
            ExitCode::FAILURE
        }
    }
}
