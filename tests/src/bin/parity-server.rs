//! The parity server over stdio, with one message per line.
//!
//! It is single-threaded: while it writes a flood it does not read. With `--ignore-eof` it keeps running when stdin
//! closes.

use std::{
    io::{self, BufRead as _, Write as _},
    process::ExitCode,
};

use mcp_jsonrpc::{
    Message,
    wire::{Decoded, decode},
};
use mcp_transport::testing::parity::{Action, Server};

/// The exit code of a simulated crash.
const DEATH: u8 = 3;

fn main() -> ExitCode {
    let stays = std::env::args().any(|argument| argument == "--ignore-eof");
    match serve() {
        Ok(code) if code == ExitCode::SUCCESS && stays => park(),
        Ok(code) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve() -> io::Result<ExitCode> {
    let mut server = Server::default();
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while {
        line.clear();
        input.read_until(b'\n', &mut line)? > 0
    } {
        let Ok(Decoded::One(message)) = decode(&line.clone().into()) else { continue };
        for action in server.receive(message) {
            match action {
                Action::Die => return Ok(ExitCode::from(DEATH)),
                Action::StopReading => park(),
                action => perform(action)?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn perform(action: Action) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match action {
        Action::Send(message) => write(&mut out, &message)?,
        Action::SendTogether(messages) => {
            let mut text = b"[".to_vec();
            for message in &messages {
                if text.len() > 1 {
                    text.push(b',');
                }
                message.write(&mut text);
            }
            text.extend_from_slice(b"]\n");
            out.write_all(&text)?;
        }
        Action::Flood { count, bytes } => {
            for n in 0..count {
                write(&mut out, &Server::tick(n, bytes))?;
            }
        }
        Action::Stray(bytes) => out.write_all(bytes)?,
        Action::CloseOutput => close_output()?,
        _ => {}
    }
    out.flush()
}

fn write(out: &mut impl io::Write, message: &Message) -> io::Result<()> {
    let mut text = Vec::new();
    message.write(&mut text);
    text.push(b'\n');
    out.write_all(&text)
}

/// Rust cannot close stdout, so redirect it.
#[cfg(unix)]
fn close_output() -> io::Result<()> {
    let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    nix::unistd::dup2_stdout(nowhere).map_err(io::Error::from)
}

#[cfg(not(unix))]
fn close_output() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn park() -> ! {
    loop {
        std::thread::park();
    }
}
