//! Serializes server-sent events, and sends keep-alive comments.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use mcp_jsonrpc::Message;
use tokio::time::{Instant, Sleep};

/// A message as an event. Serialized messages contain no newlines, so they fit in one `data` line.
pub(super) fn message_event(id: Option<&str>, message: &Message) -> Bytes {
    let mut text = Vec::with_capacity(256);
    if let Some(id) = id {
        text.extend_from_slice(b"id: ");
        text.extend_from_slice(id.as_bytes());
        text.push(b'\n');
    }
    text.extend_from_slice(b"event: message\ndata: ");
    message.write(&mut text);
    text.extend_from_slice(b"\n\n");
    text.into()
}

/// An event without a message whose id a client can resume from.
pub(super) fn priming_event(id: &str, retry: Duration) -> Bytes {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

/// Yields a comment after each period without an event.
#[derive(Debug)]
pub(super) struct KeepAlive {
    every: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl KeepAlive {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, sleep: Box::pin(tokio::time::sleep(every)) }
    }

    /// Restarts the period after an event was sent.
    pub(super) fn restart(&mut self) {
        self.sleep.as_mut().reset(Instant::now() + self.every);
    }

    /// The next comment, when it is due.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        self.sleep.as_mut().poll(cx).map(|()| {
            self.restart();
            Bytes::from_static(b": still here\n\n")
        })
    }
}
