//! From the bodies of answers to messages.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, header};
use mcp_jsonrpc::{
    Delivery, ErrorClass, Failure, Loss, Message, RequestId, Response as Answer, Trouble,
};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    ask::broken,
    client::Response,
    events::{Event, EventDecoder},
    state::Shared,
};
use crate::{lines::Skipped, link::Inbound};

/// A server has this long to end a stream after it has said all it has to say. Reading to the end lets the
/// connection be used again.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How many pieces of a stream are read in a row before whoever waits for what is in them gets a turn.
const PIECES_PER_TURN: u32 = 32;

/// So many messages are taken from a stream before they are handed over.
const MOST_AT_ONCE: usize = 64;

/// Whose answer is awaited, and whether it has come.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    pub(super) id: Option<RequestId>,
    pub(super) answered: bool,
    /// It is the answer to `initialize`, which says what to say from then on.
    pub(super) opens: bool,
    /// Something of this size was over the limit, and nobody knows what. Perhaps it was the answer.
    pub(super) too_large: Option<usize>,
}

/// How a stream of events ended.
#[derive(Debug)]
pub(super) enum StreamEnd {
    /// The server ended it.
    Ended,
    /// It broke.
    Broken(Loss),
}

/// What kind of body an answer has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    Json,
    Events,
    Other(String),
}

impl Body {
    pub(super) fn of(response: &Response) -> Self {
        let headers = response.headers();
        let encoding = headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes);
        if let Some(encoding) =
            encoding.filter(|encoding| !encoding.eq_ignore_ascii_case(b"identity"))
        {
            // We accept none, so this is a mistake, or a few bytes that want to become many.
            return Body::Other(format!("encoded as {}", shorten(encoding)));
        }
        let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        if kind.eq_ignore_ascii_case(b"application/json") {
            Body::Json
        } else if kind.eq_ignore_ascii_case(b"text/event-stream") {
            Body::Events
        } else if kind.is_empty() {
            Body::Other("without a content type".into())
        } else {
            Body::Other(format!("of type {}", shorten(kind)))
        }
    }
}

/// Foreign text, made short and harmless.
fn shorten(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().filter(char::is_ascii_graphic).take(60).collect()
}

impl Shared {
    /// Takes in what one frame says.
    pub(super) fn take_frame(&self, frame: &Bytes, awaited: &mut Awaited) {
        let (mut batch, mut skipped) = (Vec::with_capacity(1), Skipped::default());
        skipped.sort(frame, &mut batch);
        if !skipped.is_nothing() {
            skipped.add_to(&mut self.lock().known);
        }
        if batch.is_empty() {
            return;
        }
        for inbound in &mut batch {
            self.look_at(inbound, awaited);
        }
        self.deliver(batch);
    }

    fn look_at(&self, inbound: &mut Inbound, awaited: &mut Awaited) {
        let Some(ours) = &awaited.id else { return };
        match inbound {
            Inbound::Reply(reply) if reply.id() == ours => {
                if awaited.opens
                    && let Ok(result) = reply.clone().into_raw()
                {
                    self.agree_on(&result);
                }
                awaited.answered = true;
            }
            Inbound::Message(Message::Response(answer)) => {
                // Whoever could not read our request does not know its number. It is the one of this POST.
                if answer.id.is_none() && answer.outcome.is_err() {
                    answer.id = Some(ours.clone());
                }
                if answer.id.as_ref() == Some(ours) {
                    if let (true, Ok(result)) = (awaited.opens, &answer.outcome) {
                        self.agree_on(result);
                    }
                    awaited.answered = true;
                }
            }
            _ => {}
        }
    }

    /// Remembers the revision a legacy server has chosen: every later request names it.
    fn agree_on(&self, result: &mcp_jsonrpc::RawJson) {
        let version =
            result.get("protocolVersion").and_then(|version| version.decode::<String>().ok());
        let version = version.filter(|version| version.len() <= 32);
        self.lock().version = version.and_then(|version| HeaderValue::from_str(&version).ok());
    }

    /// A whole body of at most as many bytes as a message may have.
    pub(super) async fn body(
        &self,
        response: &mut Response,
        limit: usize,
    ) -> Result<Bytes, Failure> {
        let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
        if let Some(size) = announced.filter(|size| *size > limit) {
            return Err(Failure::TooLarge { size, limit });
        }
        let Some(first) = self.chunk(response).await? else { return Ok(Bytes::new()) };
        if Some(first.len()) == announced {
            // The end that follows makes the connection free for others.
            let _ = self.chunk(response).await;
            return Ok(first);
        }
        let mut body = BytesMut::with_capacity(announced.unwrap_or(first.len() * 2));
        let mut next = Some(first);
        while let Some(chunk) = next {
            let size = body.len() + chunk.len();
            if size > limit {
                return Err(Failure::TooLarge { size, limit });
            }
            body.extend_from_slice(&chunk);
            next = self.chunk(response).await?;
        }
        Ok(body.freeze())
    }

    async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, Failure> {
        let limit = self.settings.options.post_timeout;
        let Ok(chunk) = tokio::time::timeout(limit, response.chunk()).await else {
            let reason = format!("the server paused for {limit:?} in the middle of its answer");
            return Err(lost(Trouble::TimedOut, reason).into());
        };
        chunk.map_err(|error| broken(&self.settings.url, &error).into())
    }

    /// Reads a stream of events to its end.
    pub(super) async fn events(
        self: &Arc<Self>,
        response: &mut Response,
        decoder: &mut EventDecoder,
        awaited: &mut Awaited,
    ) -> StreamEnd {
        let mut events = Vec::new();
        let mut last_words = None;
        for turn in 1_u32.. {
            let chunk = if awaited.answered {
                let end = *last_words.get_or_insert_with(|| {
                    self.keep_a_timer();
                    Instant::now() + LAST_WORDS
                });
                match timeout_at(end, response.chunk()).await {
                    // Who never pauses never runs into the limit either.
                    Ok(chunk) if Instant::now() < end => chunk,
                    _ => return StreamEnd::Ended,
                }
            } else if let Some(idle) = self.settings.options.stream_idle {
                let Ok(chunk) = tokio::time::timeout(idle, response.chunk()).await else {
                    let reason = format!("the stream of events was silent for {idle:?}");
                    return StreamEnd::Broken(lost(Trouble::TimedOut, reason));
                };
                chunk
            } else {
                response.chunk().await
            };
            match chunk {
                Ok(Some(chunk)) => decoder.push(chunk, &mut events),
                Ok(None) => return StreamEnd::Ended,
                Err(error) => return StreamEnd::Broken(broken(&self.settings.url, &error)),
            }
            for event in events.drain(..) {
                self.event(event, awaited);
            }
            // A server that never pauses must not fill the inbox faster than it is emptied.
            let arrived = self.lock().inbox.len();
            if arrived >= MOST_AT_ONCE || turn % PIECES_PER_TURN == 0 {
                tokio::task::yield_now().await;
            }
        }
        StreamEnd::Ended
    }

    /// Sees to it that a timer is set which goes off before one that is set next for the last words of a stream.
    ///
    /// Most streams end at once and take their timer with them. But a timer before all others makes the runtime
    /// wake itself up, which is a trip through the kernel, and here it would be one for each answer.
    fn keep_a_timer(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock().has_timer, true) {
            return;
        }
        let shared = self.clone();
        let key = self.exchanges.add(Box::pin(async move {
            sleep(LAST_WORDS).await;
            shared.lock().has_timer = false;
        }));
        self.exchanges.start(key);
    }

    pub(super) fn event(&self, event: Event, awaited: &mut Awaited) {
        match event {
            Event::Block { kind, data: Some(data) } => {
                // A block without data only moves the cursor.
                if (kind.is_empty() || kind == "message") && !data.is_empty() {
                    self.take_frame(&data, awaited);
                }
            }
            Event::Block { .. } => {}
            Event::TooLarge { size, head, tail } => {
                let limit = self.settings.options.max_message;
                let (mut batch, mut skipped) = (Vec::new(), Skipped::default());
                skipped.too_large(size, limit, &head, &tail, &mut batch);
                if batch.is_empty() {
                    awaited.too_large = Some(size);
                }
                let ours = |inbound: &Inbound| matches!(inbound, Inbound::Lost { id, .. } if Some(id) == awaited.id.as_ref());
                awaited.answered |= batch.iter().any(ours);
                skipped.add_to(&mut self.lock().known);
                self.deliver(batch);
            }
        }
    }

    /// Hands the answer to one request over, as if it had come in a frame.
    pub(super) fn answer(&self, id: &RequestId, answer: Answer) {
        let answer = Answer { id: Some(id.clone()), ..answer };
        self.deliver([Inbound::Message(Message::Response(answer))]);
    }
}

/// What was sent and not answered.
pub(super) fn lost(trouble: Trouble, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(Delivery::Unknown, ErrorClass::Transient, trouble, reason)
}

/// What was refused because the server has forgotten us.
pub(super) fn session_lost() -> Loss {
    let reason = "the server no longer knows our session";
    Loss::new(Delivery::NotSent, ErrorClass::Session, Trouble::Session, reason)
}
