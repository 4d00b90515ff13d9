//! HTTP servers: one response per request, or all responses on one stream (2024-11-05).

#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "the scripted server of the other tests, which use all of it"
)]
#[path = "../../it/transport/http/server.rs"]
pub(super) mod wire;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use self::wire::{Done, Events, Exchange, Server};
use super::{
    BETWEEN_BYTES, die, freeze,
    tls::{Doors, listen},
};
use crate::{
    matrix::Transport,
    script::{Say, Script},
};

/// State shared by all exchanges of a server.
struct State {
    script: Script,
    /// Number of answered calls, for the calls held back until then.
    answered: watch::Sender<usize>,
    /// The event streams of 2024-11-05 clients.
    streams: Mutex<HashMap<String, mpsc::UnboundedSender<Say>>>,
    last: AtomicUsize,
}

pub(crate) async fn serve(script: Script, port: u16, doors: Option<Doors>) {
    let streams = listen(script.clone(), port, doors).await;
    let state = Arc::new(State {
        script,
        answered: watch::Sender::default(),
        streams: Mutex::default(),
        last: AtomicUsize::new(0),
    });
    let _server = Server::over(String::new(), streams, move |exchange| {
        let state = state.clone();
        async move {
            if state.script.transport == Transport::Sse {
                state.old(exchange).await
            } else {
                state.answer(exchange).await
            }
        }
    });
    std::future::pending::<()>().await;
}

impl State {
    /// The session id: the server's start, so that a restart invalidates it.
    fn session() -> String {
        format!("session-{}", std::process::id())
    }

    /// Answers a Streamable HTTP request.
    async fn answer(&self, exchange: Exchange) -> Done {
        let session = exchange.seen.header("mcp-session-id");
        if session.is_some_and(|session| session != Self::session()) {
            return exchange.status(404).await;
        }
        match exchange.seen.verb.as_str() {
            "GET" if self.script.transport == Transport::Legacy => {
                return match self.script.upgrade() {
                    Some(say) => refuse(exchange, &say).await,
                    None => exchange.events().await.gone().await,
                };
            }
            "POST" => {}
            _ => return exchange.status(405).await,
        }
        let message = exchange.seen.message();
        let mut says = self.script.hear(&message);
        let is_call = message["params"]["name"] == "work";
        match &says[..] {
            [] => exchange.status(202).await,
            [Say::Message(answer)] => {
                let done = self.body(exchange, answer).await;
                if is_call {
                    self.answered.send_modify(|answered| *answered += 1);
                }
                done
            }
            [Say::Hold(answer)] => {
                let mut answered = self.answered.subscribe();
                let _ = answered.wait_for(|answered| *answered > 0).await;
                self.body(exchange, answer).await
            }
            [Say::Garbage(bytes)] => {
                exchange.answer(200, "content-type: application/json\r\n", bytes).await
            }
            [Say::Silence] => exchange.stall(b"").await,
            [say @ (Say::Status(..) | Say::HangUp | Say::Die | Say::Freeze)] => {
                refuse(exchange, say).await
            }
            _ => {
                let mut events = exchange.events().await;
                let is_held = matches!(says.last(), Some(Say::Silence));
                for say in says.drain(..) {
                    if !write(&mut events, say).await {
                        return events.cut();
                    }
                }
                if is_held { events.gone().await } else { events.end().await }
            }
        }
    }

    async fn body(&self, exchange: Exchange, answer: &Value) -> Done {
        let mut head = String::from("content-type: application/json\r\n");
        if exchange.word() == "initialize" {
            head = format!("{head}mcp-session-id: {}\r\n", Self::session());
        }
        exchange.answer(200, &head, answer.to_string().as_bytes()).await
    }

    /// Answers a request of a 2024-11-05 client.
    async fn old(&self, exchange: Exchange) -> Done {
        if exchange.seen.verb == "GET" {
            return self.stream(exchange).await;
        }
        let stream = self.streams.lock().expect("no panic").get(&exchange.seen.path).cloned();
        let Some(stream) = stream else { return exchange.status(404).await };
        let says = self.script.hear(&exchange.seen.message());
        if let [say @ (Say::Status(..) | Say::Die | Say::Freeze)] = &says[..] {
            return refuse(exchange, say).await;
        }
        for say in says {
            let _ = stream.send(say);
        }
        exchange.status(202).await
    }

    async fn stream(&self, exchange: Exchange) -> Done {
        if let Some(say) = self.script.upgrade() {
            return refuse(exchange, &say).await;
        }
        let mut events = exchange.events().await;
        if self.script.hangs_up_at_once() {
            return events.end().await;
        }
        let path = format!("/mcp?session={}", self.last.fetch_add(1, Ordering::SeqCst));
        let (sender, mut says) = mpsc::unbounded_channel();
        self.streams.lock().expect("no panic").insert(path.clone(), sender);
        events.text(&format!("event: endpoint\ndata: {path}\n\n")).await;
        let mut held = Vec::new();
        while let Some(say) = says.recv().await {
            let is_answer = matches!(say, Say::Message(_));
            match say {
                Say::Hold(message) => held.push(Say::Message(message)),
                Say::HangUp => return events.cut(),
                say => {
                    write(&mut events, say).await;
                }
            }
            if is_answer {
                for say in held.drain(..) {
                    write(&mut events, say).await;
                }
            }
        }
        events.end().await
    }
}

/// Ends a request without a response message.
async fn refuse(exchange: Exchange, say: &Say) -> Done {
    match say {
        Say::Status(status, after) => {
            // Echo the credential, as a careless server would.
            let body = exchange.seen.header("authorization").unwrap_or_default().to_owned();
            let mut head = String::from("content-type: text/plain\r\n");
            if let Some(after) = after {
                head = format!("{head}retry-after: {after}\r\n");
            }
            exchange.answer(*status, &head, body.as_bytes()).await
        }
        Say::Die => die(),
        Say::Freeze => {
            freeze();
            exchange.raw(b"").await
        }
        _ => exchange.raw(b"").await,
    }
}

/// Performs an action on an event stream. Returns whether the client is still connected.
async fn write(events: &mut Events, say: Say) -> bool {
    match say {
        Say::Message(message) => events.message(&message).await,
        Say::Garbage(bytes) => {
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                events.bytes(&[b"data: ", line, b"\n\n"].concat()).await;
            }
            events.bytes(b"\xff\xfenonsense\n\n").await
        }
        Say::Drip(message) => {
            drip(events, format!("data: {message}\n\n").into_bytes().into_iter()).await
        }
        Say::EndlessDrip => {
            drip(events, b"data: ".iter().copied().chain(std::iter::repeat(b' '))).await
        }
        _ => true,
    }
}

async fn drip(events: &mut Events, bytes: impl Iterator<Item = u8>) -> bool {
    for byte in bytes {
        if !events.bytes(&[byte]).await {
            return false;
        }
        tokio::time::sleep(BETWEEN_BYTES).await;
    }
    true
}
