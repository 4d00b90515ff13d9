//! One client on a socket: what it sent and was not taken yet, what it has not read yet.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
};

use crate::{
    answers::{Answers, Message},
    http, ws,
};

/// What became of the beginning of the input.
pub(crate) enum Step {
    /// Not enough there yet.
    Wait,
    /// So many bytes were a request.
    Taken(usize),
    /// So many bytes were a request, and WebSocket follows.
    Upgraded(usize),
    /// The client says farewell.
    Over,
}

/// What is to be written.
#[derive(Default)]
pub(crate) struct Out {
    bytes: Vec<u8>,
    /// Ends of writes within it.
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

    /// What follows goes into a write of its own.
    pub(crate) fn cut(&mut self) {
        self.cuts.push(self.bytes.len());
    }
}

pub(crate) struct Connection {
    stream: TcpStream,
    upgraded: bool,
    input: Vec<u8>,
    out: Out,
    /// How much of `out` has gone.
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

    /// Whether something waits until the client reads.
    pub(crate) fn is_blocked(&self) -> bool {
        self.written < self.out.bytes.len()
    }

    /// Reads, answers and writes as far as it goes. Whether the client is still there.
    pub(crate) fn serve(&mut self, answers: &mut Answers, buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            // Who does not read is not read from.
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
            // Less than there was room for: that was all, and asking again would only cost.
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
