//! How events are written, and the pulse of a silent stream.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use mcp_jsonrpc::Message;
use tokio::time::{Instant, Sleep};

/// A message as an event. Messages have no newlines, so one line of data holds them.
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

/// An event without a message, from which a client can come back.
pub(super) fn priming_event(id: &str, retry: Duration) -> Bytes {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

/// Ticks while nothing else happens.
#[derive(Debug)]
pub(super) struct Pulse {
    every: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Pulse {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, sleep: Box::pin(tokio::time::sleep(every)) }
    }

    /// Something was sent, so the next tick is a whole period away.
    pub(super) fn restart(&mut self) {
        self.sleep.as_mut().reset(Instant::now() + self.every);
    }

    /// A comment, when it is time for one.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        self.sleep.as_mut().poll(cx).map(|()| {
            self.restart();
            Bytes::from_static(b": still here\n\n")
        })
    }
}
