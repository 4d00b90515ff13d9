//! Runs a client session over two byte streams, with one message per line.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use mcp_jsonrpc::{
    ErrorObject, Message, Response,
    wire::{DecodeError, Decoded, Line, LineDecoder, decode, response_id_of_truncated},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Sleep,
};

use crate::{
    call::inbox::Item,
    client_session::{ClientSession, Outgoing},
    request::Facts,
    shared::Shared,
};

/// Above this many unsent bytes, neither the input nor the inbox is read, so that a client that does not read
/// cannot exhaust our memory.
const MOST_UNSENT: usize = 8 << 20;

/// How long calls may run after the input has ended, for clients that close their side after the last request.
const GRACE_AFTER_EOF: Duration = Duration::from_secs(1);

pub(crate) async fn serve(
    shared: Arc<Shared>,
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin,
) -> io::Result<()> {
    let inbox = shared.open_inbox();
    let mut pipes = Pipes {
        input,
        output,
        decoder: LineDecoder::new(shared.options.max_message),
        unsent: Vec::new(),
        sent: 0,
        is_flushed: true,
    };
    let mut client_session = ClientSession::new(shared, inbox.clone());
    let facts = Facts::default();
    let mut inputs_turn = false;
    // Set when the input has ended while calls are running.
    let mut grace_period: Option<Pin<Box<Sleep>>> = None;
    loop {
        let news = poll_fn(|cx| {
            if let Poll::Ready(Err(error)) = pipes.poll_write(cx) {
                return Poll::Ready(Err(error));
            }
            if pipes.is_full() {
                return Poll::Pending;
            }
            if let Some(timer) = &mut grace_period {
                return match inbox.poll_next(cx) {
                    Poll::Ready(item) => Poll::Ready(Ok(News::Item(item))),
                    Poll::Pending => timer.as_mut().poll(cx).map(|()| Ok(News::Ended)),
                };
            }
            // Poll the input and the inbox first in turns, so that neither starves the other.
            inputs_turn = !inputs_turn;
            if inputs_turn && let Poll::Ready(input) = pipes.poll_read(cx) {
                return Poll::Ready(input);
            }
            match inbox.poll_next(cx) {
                Poll::Ready(item) => Poll::Ready(Ok(News::Item(item))),
                Poll::Pending if inputs_turn => Poll::Pending,
                Poll::Pending => pipes.poll_read(cx),
            }
        });
        match news.await? {
            News::Item(item) => client_session.take(item),
            News::Input => {
                while let Some(line) = pipes.decoder.next_line() {
                    take_line(&mut client_session, &mut pipes.unsent, &line, &facts);
                    write_outgoing(&mut client_session, &mut pipes.unsent);
                }
            }
            News::Ended if grace_period.is_none() => {
                grace_period = Some(Box::pin(tokio::time::sleep(GRACE_AFTER_EOF)));
            }
            News::Ended => return poll_fn(|cx| pipes.poll_write(cx)).await,
        }
        write_outgoing(&mut client_session, &mut pipes.unsent);
        if grace_period.is_some() && !client_session.is_busy() {
            return poll_fn(|cx| pipes.poll_write(cx)).await;
        }
    }
}

fn take_line(client_session: &mut ClientSession, unsent: &mut Vec<u8>, line: &Line, facts: &Facts) {
    let mut complain = |id, code, problem: &str| {
        let outcome = Err(ErrorObject::new(code, problem));
        write(&Message::Response(Response { id, outcome }), unsent);
    };
    match line {
        Line::Whole(line) => match decode(line) {
            Ok(Decoded::One(message)) => client_session.receive(message, facts),
            Ok(Decoded::Batch(messages)) => {
                messages.into_iter().flatten().for_each(|m| client_session.receive(m, facts));
            }
            Err(error @ DecodeError::NotJsonRpc) => {
                let id = response_id_of_truncated(line, &[]);
                complain(id, ErrorObject::INVALID_REQUEST, &error.to_string());
            }
            Err(error) => complain(None, ErrorObject::PARSE_ERROR, &error.to_string()),
        },
        Line::TooLong { length, head, tail } => {
            let id = response_id_of_truncated(head, tail);
            let problem = format!("a message of {length} bytes is too large");
            complain(id, ErrorObject::INVALID_REQUEST, &problem);
        }
    }
}

/// Starts queued jobs, and writes outgoing messages to the buffer.
fn write_outgoing(client_session: &mut ClientSession, unsent: &mut Vec<u8>) {
    client_session.start_jobs();
    while let Some(outgoing) = client_session.next_outgoing() {
        if let Outgoing::Message { message, .. } | Outgoing::Answer { message, .. } = outgoing {
            write(&message, unsent);
        }
    }
}

fn write(message: &Message, unsent: &mut Vec<u8>) {
    message.write(unsent);
    unsent.push(b'\n');
}

enum News {
    Item(Item),
    Input,
    Ended,
}

struct Pipes<I, O> {
    input: I,
    output: O,
    decoder: LineDecoder,
    unsent: Vec<u8>,
    /// How many bytes of `unsent` have been written.
    sent: usize,
    is_flushed: bool,
}

impl<I: AsyncRead + Unpin, O: AsyncWrite + Unpin> Pipes<I, O> {
    fn is_full(&self) -> bool {
        self.unsent.len() - self.sent >= MOST_UNSENT
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<News>> {
        let mut room = [0_u8; 8192];
        let mut buffer = tokio::io::ReadBuf::new(&mut room);
        ready!(Pin::new(&mut self.input).poll_read(cx, &mut buffer))?;
        if buffer.filled().is_empty() {
            return Poll::Ready(Ok(News::Ended));
        }
        self.decoder.buffer().extend_from_slice(buffer.filled());
        Poll::Ready(Ok(News::Input))
    }

    /// Writes all of `unsent`, then flushes.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.unsent.len() {
            let rest = &self.unsent[self.sent..];
            let written = ready!(Pin::new(&mut self.output).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += written;
            self.is_flushed = false;
        }
        self.unsent.clear();
        self.sent = 0;
        if !self.is_flushed {
            ready!(Pin::new(&mut self.output).poll_flush(cx))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }
}
