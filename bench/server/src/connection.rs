//! One connection: its unprocessed input and its unsent output.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
};

use crate::{
    answers::{Answers, Message},
    http, ws,
};

/// The result of parsing the start of the input.
pub(crate) enum Step {
    /// The request is incomplete.
    Wait,
    /// A request of this many bytes.
    Taken(usize),
    /// A request of this many bytes, followed by WebSocket frames.
    Upgraded(usize),
    /// The client closes the connection.
    Over,
}

/// The output.
#[derive(Default)]
pub(crate) struct Out {
    bytes: Vec<u8>,
    /// The ends of the separate writes.
    cuts: Vec<usize>,
}

impl Out {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn message(&mut self, message: &Message<'_>) {
        let long = message.write(&mut self.bytes);
        self.bytes.extend_from_slice(long);
    }

    /// Starts a separate write.
    pub(crate) fn cut(&mut self) {
        self.cuts.push(self.bytes.len());
    }
}

pub(crate) struct Connection {
    stream: TcpStream,
    upgraded: bool,
    input: Vec<u8>,
    out: Out,
    /// How much of `out` is written.
    written: usize,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let (input, out) = (Vec::new(), Out::default());
        Ok(Self { stream, upgraded: false, input, out, written: 0 })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether output is pending.
    pub(crate) fn is_blocked(&self) -> bool {
        self.written < self.out.bytes.len()
    }

    /// Reads, responds and writes until it would block. Returns whether the connection is still open.
    pub(crate) fn serve(&mut self, answers: &mut Answers, buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            // Do not read from a client that does not read.
            self.flush()?;
            if self.is_blocked() {
                return Ok(true);
            }
            let read = match self.stream.read(buffer) {
                Ok(0) => return Ok(false),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            };
            self.input.extend_from_slice(&buffer[..read]);
            let mut at = 0;
            loop {
                let input = &mut self.input[at..];
                let step = if self.upgraded {
                    ws::step(input, answers, &mut self.out)
                } else {
                    http::step(input, answers, &mut self.out)
                };
                match step {
                    Step::Wait => break,
                    Step::Taken(taken) => at += taken,
                    Step::Upgraded(taken) => {
                        at += taken;
                        self.upgraded = true;
                    }
                    Step::Over => {
                        self.flush()?;
                        return Ok(false);
                    }
                }
            }
            self.input.drain(..at);
            // The read did not fill the buffer, so another read would return nothing.
            if read < buffer.len() {
                self.flush()?;
                return Ok(true);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.is_blocked() {
            let cut = self.out.cuts.iter().find(|&&cut| cut > self.written);
            let end = cut.copied().unwrap_or(self.out.bytes.len());
            match self.stream.write(&self.out.bytes[self.written..end]) {
                Ok(written) => self.written += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.out.bytes.clear();
        self.out.cuts.clear();
        self.written = 0;
        Ok(())
    }
}
