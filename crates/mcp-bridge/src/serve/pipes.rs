//! A conversation over two byte streams, one message a line.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use mcp_client::ErrorObject;
use mcp_jsonrpc::{DecodeError, Decoded, Line, LineDecoder, Message, Response, decode, salvage_id};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Sleep,
};

use crate::serve::{
    conversation::{Conversation, Outgoing},
    inbox::Item,
    request::Facts,
    shared::Shared,
};

/// While this much waits to be written, nothing more is read, from the client or from its calls: whoever
/// asks and never listens must not fill our memory.
const MOST_UNSENT: usize = 8 << 20;

/// How long calls may go on when the input has ended, so that a client which asks and closes hears us out.
const AFTER_THE_END: Duration = Duration::from_secs(1);

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
    let mut conversation = Conversation::new(shared, inbox.clone());
    let facts = Facts::default();
    let mut inputs_turn = false;
    // Set when the input has ended and calls still run.
    let mut last_words: Option<Pin<Box<Sleep>>> = None;
    loop {
        let news = poll_fn(|cx| {
            if let Poll::Ready(Err(error)) = pipes.poll_write(cx) {
                return Poll::Ready(Err(error));
            }
            if pipes.is_full() {
                return Poll::Pending;
            }
            if let Some(patience) = &mut last_words {
                return match inbox.poll_next(cx) {
                    Poll::Ready(item) => Poll::Ready(Ok(News::Item(item))),
                    Poll::Pending => patience.as_mut().poll(cx).map(|()| Ok(News::Ended)),
                };
            }
            // In turns: neither a chatty tool nor a chatty client has it all.
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
            News::Item(item) => conversation.take(item),
            News::Input => {
                while let Some(line) = pipes.decoder.next_line() {
                    take_line(&mut conversation, &mut pipes.unsent, &line, &facts);
                    pass_on(&mut conversation, &mut pipes.unsent);
                }
            }
            News::Ended if last_words.is_none() => {
                last_words = Some(Box::pin(tokio::time::sleep(AFTER_THE_END)));
            }
            News::Ended => return poll_fn(|cx| pipes.poll_write(cx)).await,
        }
        pass_on(&mut conversation, &mut pipes.unsent);
        if last_words.is_some() && conversation.calls.is_empty() {
            return poll_fn(|cx| pipes.poll_write(cx)).await;
        }
    }
}

fn take_line(conversation: &mut Conversation, unsent: &mut Vec<u8>, line: &Line, facts: &Facts) {
    let mut complain = |id, code, problem: &str| {
        let outcome = Err(ErrorObject::new(code, problem));
        write(&Message::Response(Response { id, outcome }), unsent);
    };
    match line {
        Line::Whole(line) => match decode(line) {
            Ok(Decoded::One(message)) => conversation.receive(message, facts),
            Ok(Decoded::Batch(messages)) => {
                messages.into_iter().flatten().for_each(|m| conversation.receive(m, facts));
            }
            Err(error @ DecodeError::NotJsonRpc) => {
                let id = salvage_id(line, &[]);
                complain(id, ErrorObject::INVALID_REQUEST, &error.to_string());
            }
            Err(error) => complain(None, ErrorObject::PARSE_ERROR, &error.to_string()),
        },
        Line::TooLong { length, head, tail } => {
            let id = salvage_id(head, tail);
            let problem = format!("a message of {length} bytes is too large");
            complain(id, ErrorObject::INVALID_REQUEST, &problem);
        }
    }
}

/// Starts what is to be done, and writes what is to be said.
fn pass_on(conversation: &mut Conversation, unsent: &mut Vec<u8>) {
    conversation.start_jobs();
    while let Some(outgoing) = conversation.next_outgoing() {
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
    /// How much of `unsent` has been.
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

    /// Writes until nothing is left, and flushes then.
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
