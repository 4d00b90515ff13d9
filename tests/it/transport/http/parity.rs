//! The parity server behind a URL. Each path is a separate server, and every connection gets a fresh one.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcp_jsonrpc::{
    Message, Request, RequestId,
    wire::{Decoded, decode},
};
use mcp_transport::{
    BoxFuture, Connect, ConnectError, Http, HttpClient, HttpOptions, Link, Locality, Sse,
    testing::parity::{self, Action, MAX_MESSAGE},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    server::{Done, Events, Exchange, Server},
    speak::pool,
};

/// How the server sends responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// One response per request, as JSON if one body is enough.
    Json,
    /// One response per request, as an event stream.
    Events,
    /// All responses on one stream, as in 2024-11-05.
    Stream,
}

/// Connects to a fresh server each time.
pub(crate) struct Fresh {
    server: Server,
    client: HttpClient,
    answers: Answers,
    last: AtomicUsize,
}

pub(crate) async fn fresh(answers: Answers) -> Fresh {
    let sessions = Arc::new(Mutex::new(HashMap::<String, Arc<Session>>::new()));
    let server = Server::start(move |exchange| {
        let path = exchange.seen.path.clone();
        let session = sessions.lock().unwrap().entry(path).or_default().clone();
        serve(exchange, session, answers)
    })
    .await;
    Fresh { server, client: pool(), answers, last: AtomicUsize::new(0) }
}

impl Connect for Fresh {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        let number = self.last.fetch_add(1, Ordering::SeqCst);
        let mut options = HttpOptions::new(format!("{}/{number}", self.server.url));
        options.max_message = MAX_MESSAGE;
        options.max_in_flight = 256;
        Box::pin(async move {
            match self.answers {
                Answers::Stream => Sse::new(self.client.clone(), options).connect().await,
                _ => Http::new(self.client.clone(), options).connect().await,
            }
        })
    }

    fn locality(&self) -> Locality {
        Locality::Remote
    }
}

/// One server and its pending responses.
#[derive(Default)]
struct Session(Mutex<State>);

#[derive(Default)]
struct State {
    server: parity::Server,
    waiting: HashMap<RequestId, UnboundedSender<Out>>,
    /// The stream for messages that do not belong to a request.
    stream: Option<UnboundedSender<Out>>,
    reads_no_more: bool,
}

enum Out {
    Frame(Vec<u8>),
    Flood { count: u64, bytes: usize },
}

async fn serve(exchange: Exchange, session: Arc<Session>, answers: Answers) -> Done {
    if exchange.seen.verb == "GET" {
        let path = exchange.seen.path.clone();
        let (sender, said) = unbounded_channel();
        session.0.lock().unwrap().stream = Some(sender);
        let mut events = exchange.events().await;
        // The path is the session.
        events.text(&format!("event: endpoint\ndata: {path}\n\n")).await;
        return write(events, said).await;
    }
    let Ok(Decoded::One(message)) = decode(&exchange.seen.body.clone().into()) else {
        return exchange.status(400).await;
    };
    if session.0.lock().unwrap().reads_no_more {
        return exchange.stall(b"").await;
    }
    let request = match &message {
        Message::Request(request) => Some(request.clone()),
        _ => None,
    };
    let own = session.take(message, answers);
    match (request, own) {
        (Some(request), Some(own)) if answers == Answers::Json && fits_one_body(&request) => {
            body(exchange, own).await
        }
        (Some(_), Some(own)) => write(exchange.events().await, own).await,
        _ => exchange.status(202).await,
    }
}

/// A request within the response, or a response that does not fit a body, needs a stream.
fn fits_one_body(request: &Request) -> bool {
    !matches!(&*request.method, "parity/ask" | "parity/flood")
}

impl Session {
    /// Passes a message to the server. Returns a receiver for the messages of its response.
    fn take(&self, message: Message, answers: Answers) -> Option<UnboundedReceiver<Out>> {
        let mut state = self.0.lock().unwrap();
        let mut own = None;
        let mut current = state.stream.clone();
        if let (Message::Request(request), false) = (&message, answers == Answers::Stream) {
            let (sender, receiver) = unbounded_channel();
            state.waiting.insert(request.id.clone(), sender.clone());
            (own, current) = (Some(receiver), Some(sender));
        }
        let mut answered = Vec::new();
        for action in state.server.receive(message) {
            let mut say = |out, message: Option<&Message>| {
                let id = match message {
                    Some(Message::Response(response)) => response.id.clone(),
                    _ => None,
                };
                let waiting = id.as_ref().and_then(|id| state.waiting.get(id));
                if let Some(sender) = waiting.or(current.as_ref()) {
                    let _ = sender.send(out);
                }
                answered.extend(id);
            };
            match action {
                Action::Send(message) => say(Out::Frame(text(&message)), Some(&message)),
                Action::SendTogether(messages) => {
                    let texts: Vec<_> = messages.iter().map(text).collect();
                    let together = [b"[".as_slice(), &texts.join(&b','), b"]"].concat();
                    say(Out::Frame(together), messages.last());
                }
                Action::Flood { count, bytes } => say(Out::Flood { count, bytes }, None),
                Action::Stray(bytes) => {
                    let lines = bytes.split(|byte| *byte == b'\n' || *byte == b'\r');
                    lines
                        .filter(|line| !line.is_empty())
                        .for_each(|line| say(Out::Frame(line.to_vec()), None));
                }
                Action::StopReading => state.reads_no_more = true,
                _ => {
                    // The end of the stream is the end of the session.
                    state.stream = None;
                    current = None;
                }
            }
        }
        for id in &answered {
            state.waiting.remove(id);
        }
        own
    }
}

fn text(message: &Message) -> Vec<u8> {
    let mut text = Vec::new();
    message.write(&mut text);
    text
}

/// Writes messages as events until the sender is dropped.
async fn write(mut events: Events, mut said: UnboundedReceiver<Out>) -> Done {
    while let Some(out) = said.recv().await {
        match out {
            Out::Frame(frame) => {
                events.bytes(&[b"data: ".as_slice(), &frame, b"\n\n"].concat()).await;
            }
            Out::Flood { count, bytes } => {
                for n in 0..count {
                    let tick = text(&parity::Server::tick(n, bytes));
                    if !events.bytes(&[b"data: ".as_slice(), &tick, b"\n\n"].concat()).await {
                        return events.cut();
                    }
                }
            }
        }
    }
    events.end().await
}

/// Collects messages and sends them as one body.
async fn body(exchange: Exchange, mut said: UnboundedReceiver<Out>) -> Done {
    let mut frames = Vec::new();
    while let Some(out) = said.recv().await {
        if let Out::Frame(frame) = out {
            frames.push(frame);
        }
    }
    let body = match &frames[..] {
        [frame] => frame.clone(),
        frames => [b"[".as_slice(), &frames.join(&b','), b"]"].concat(),
    };
    exchange.answer(200, "content-type: application/json\r\n", &body).await
}
