//! Uses tungstenite directly: one message in each direction, without parsing. Callers are served in the
//! order of their requests.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard},
};

use futures_util::{SinkExt, StreamExt};
use tokio::{
    net::TcpStream,
    sync::{Notify, oneshot},
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Bytes, Message, client::IntoClientRequest, http::HeaderValue},
};

use crate::requests::Requests;

pub(crate) struct Socket(tokio::sync::Mutex<WebSocketStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(url: &str, requests: &'static Requests) -> Self {
        let mut upgrade = url.into_client_request().expect("a URL");
        let address = upgrade.uri().authority().expect("an address").to_string();
        upgrade.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("mcp"));
        let stream = TcpStream::connect(address).await.expect("the server listens");
        stream.set_nodelay(true).expect("a socket of ours");
        let (socket, _) = client_async(upgrade, stream).await.expect("the server upgrades");
        let socket = Self(tokio::sync::Mutex::new(socket));
        socket.ask(requests.open).await;
        if !requests.opened.is_empty() {
            let sent = socket.0.lock().await.send(Message::text(requests.opened)).await;
            sent.expect("the server reads");
        }
        socket
    }

    pub(crate) async fn ask(&self, request: &'static str) -> Bytes {
        let mut socket = self.0.lock().await;
        socket.send(Message::text(request)).await.expect("the server reads");
        let answer = socket.next().await.expect("the server is there");
        answer.expect("the server writes").into_data()
    }

    /// Callers in separate tasks, as for the other contenders, but matched by order instead of id.
    pub(crate) async fn ask_many(&self, request: &'static str, depth: usize, calls: usize) {
        let desk = Arc::new(Desk::default());
        let callers: Vec<_> = (0..depth)
            .map(|caller| {
                let desk = Arc::clone(&desk);
                let share = calls / depth + usize::from(caller < calls % depth);
                tokio::spawn(async move {
                    for _ in 0..share {
                        let (sender, answered) = oneshot::channel();
                        desk.waiting().new.push(sender);
                        desk.has_requests.notify_one();
                        answered.await.expect("the desk is served until all is answered");
                    }
                })
            })
            .collect();
        let mut socket = self.0.lock().await;
        let mut answered = 0;
        while answered < calls {
            tokio::select! {
                () = desk.has_requests.notified() => {
                    let new = mem::take(&mut desk.waiting().new);
                    for _ in &new {
                        socket.feed(Message::text(request)).await.expect("the server reads");
                    }
                    desk.waiting().sent.extend(new);
                    socket.flush().await.expect("the server reads");
                }
                answer = socket.next() => {
                    answer.expect("the server is there").expect("the server writes");
                    answered += 1;
                    let caller = desk.waiting().sent.pop_front().expect("a caller waits");
                    caller.send(()).expect("a caller waits");
                }
            }
        }
        for caller in callers {
            caller.await.expect("a caller panicked");
        }
    }

    pub(crate) async fn close(self) {
        self.0.into_inner().close(None).await.expect("the server reads");
    }
}

/// The queue of callers.
#[derive(Default)]
struct Desk {
    waiting: Mutex<Waiting>,
    has_requests: Notify,
}

#[derive(Default)]
struct Waiting {
    new: Vec<oneshot::Sender<()>>,
    sent: VecDeque<oneshot::Sender<()>>,
}

impl Desk {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("nobody panics with it in hand")
    }
}
