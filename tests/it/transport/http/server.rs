//! A server that a test scripts byte by byte: hand-written HTTP/1.1, so that it can send invalid responses.
//!
//! The script is a function from an [`Exchange`] to [`Done`], which only the answering methods return. All requests
//! are recorded.

use std::{
    future::Future,
    io,
    path::Path,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcp_tests::soon;
use serde_json::Value;
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::{TcpListener, UnixListener},
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// A connection of any kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type Wire = BufReader<Box<dyn Stream>>;
type Script = dyn Fn(Exchange) -> Pin<Box<dyn Future<Output = Done> + Send>> + Send + Sync;

/// A server on a free port, until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    log: Arc<Log>,
    /// Tasks that end when the server is dropped.
    tasks: JoinSet<()>,
}

#[derive(Default)]
struct Log {
    seen: Mutex<Vec<Seen>>,
    count: watch::Sender<usize>,
    accepted: AtomicUsize,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `POST`, `GET` or `DELETE`.
    pub(crate) verb: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// One request that waits for its response.
pub(crate) struct Exchange {
    pub(crate) seen: Seen,
    wire: Wire,
}

/// A finished exchange. The connection is reused if it is still given.
pub(crate) struct Done(Option<Wire>);

/// A response that is written event by event.
pub(crate) struct Events(Wire);

impl Server {
    pub(crate) async fn start<F>(script: impl Fn(Exchange) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Done> + Send + 'static,
    {
        Self::at("127.0.0.1:0", script).await
    }

    /// Starts on the port of an earlier server.
    pub(crate) async fn at<F>(
        address: &str,
        script: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Done> + Send + 'static,
    {
        Self::tcp("http", address, None, script).await
    }

    pub(crate) async fn tls<F>(
        tls: TlsAcceptor,
        script: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Done> + Send + 'static,
    {
        Self::tcp("https", "127.0.0.1:0", Some(tls), script).await
    }

    async fn tcp<F>(
        scheme: &str,
        address: &str,
        tls: Option<TlsAcceptor>,
        script: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("{scheme}://{}/mcp", listener.local_addr().unwrap());
        let (streams, accepted) = mpsc::channel(1);
        let mut server = Self::over(url, accepted, script);
        server.tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let stream: Box<dyn Stream> = match &tls {
                    None => Box::new(stream),
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) => Box::new(stream),
                        // The client rejected our certificate.
                        Err(_) => continue,
                    },
                };
                let _ = streams.send(stream).await;
            }
        });
        server
    }

    pub(crate) fn unix<F>(
        path: &Path,
        script: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let listener = UnixListener::bind(path).unwrap();
        let (streams, accepted) = mpsc::channel(1);
        let mut server = Self::over("http://localhost/mcp".into(), accepted, script);
        server.tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = streams.send(Box::new(stream) as Box<dyn Stream>).await;
            }
        });
        server
    }

    /// Serves a stream of connections of any kind.
    pub(crate) fn over<F>(
        url: String,
        mut accepted: mpsc::Receiver<Box<dyn Stream>>,
        script: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let log = Arc::new(Log::default());
        let script: Arc<Script> = Arc::new(move |exchange| Box::pin(script(exchange)));
        let mut tasks = JoinSet::new();
        let shared = log.clone();
        tasks.spawn(async move {
            // Dropped with this task.
            let mut connections = JoinSet::new();
            while let Some(stream) = accepted.recv().await {
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve(stream, shared.clone(), script.clone()));
            }
        });
        Self { url, log, tasks }
    }

    /// Ends as a process does: the port is closed when this returns.
    pub(crate) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }

    /// How many connections have been made.
    pub(crate) fn accepted(&self) -> usize {
        self.log.accepted.load(Ordering::SeqCst)
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.seen.lock().unwrap().clone()
    }

    /// All requests as words: the method of a message, or the HTTP method.
    pub(crate) fn words(&self) -> Vec<String> {
        self.seen().iter().map(Seen::word).collect()
    }

    /// The requests with this MCP or HTTP method.
    pub(crate) fn all(&self, word: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.word() == word).collect()
    }

    /// The only request with this MCP or HTTP method.
    pub(crate) fn only(&self, word: &str) -> Seen {
        let [seen] = &self.all(word)[..] else { panic!("{word}: {:?}", self.words()) };
        seen.clone()
    }

    /// Waits until `times` of these requests have arrived.
    pub(crate) async fn sees(&self, word: &str, times: usize) -> Seen {
        let mut count = self.log.count.subscribe();
        soon(word, async {
            loop {
                if let Some(seen) = self.all(word).into_iter().nth(times - 1) {
                    return seen;
                }
                count.changed().await.unwrap();
            }
        })
        .await
    }
}

impl Log {
    fn write_down(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen);
        self.count.send_modify(|count| *count += 1);
    }
}

async fn serve(stream: Box<dyn Stream>, log: Arc<Log>, script: Arc<Script>) {
    let mut wire = BufReader::new(stream);
    while let Ok(Some(seen)) = read(&mut wire).await {
        log.write_down(seen.clone());
        let Done(Some(free)) = script(Exchange { seen, wire }).await else { return };
        wire = free;
    }
}

/// Reads one request. `None` is the end of the connection.
async fn read(wire: &mut Wire) -> io::Result<Option<Seen>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if wire.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut words = lines[0].split(' ').map(str::to_owned);
    let (verb, path) = (words.next().unwrap(), words.next().unwrap());
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    wire.read_exact(&mut body).await?;
    Ok(Some(Seen { verb, path, headers, body }))
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn message(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The method of the message, `answer` for a response, or the HTTP method if there is no message.
    pub(crate) fn word(&self) -> String {
        let message = self.message();
        match message["method"].as_str() {
            Some(method) => method.to_owned(),
            None if message.is_object() => "answer".into(),
            None => self.verb.clone(),
        }
    }
}

impl Exchange {
    pub(crate) fn word(&self) -> String {
        self.seen.word()
    }

    /// The id of the request, as JSON.
    pub(crate) fn id(&self) -> Value {
        self.seen.message()["id"].clone()
    }

    pub(crate) fn params(&self) -> Value {
        self.seen.message()["params"].clone()
    }

    /// Answers with a result.
    pub(crate) async fn result(self, result: Value) -> Done {
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": self.id(), "result": result });
        self.json(200, answer).await
    }

    /// Answers with an error and a status.
    pub(crate) async fn error(self, status: u16, error: Value) -> Done {
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": self.id(), "error": error });
        self.json(status, answer).await
    }

    pub(crate) async fn json(self, status: u16, body: Value) -> Done {
        let head = "content-type: application/json\r\n";
        self.answer(status, head, body.to_string().as_bytes()).await
    }

    /// Answers with a status alone.
    pub(crate) async fn status(self, status: u16) -> Done {
        self.answer(status, "", b"").await
    }

    /// Sends a complete response. `head` consists of whole lines.
    pub(crate) async fn answer(mut self, status: u16, head: &str, body: &[u8]) -> Done {
        let length = body.len();
        let head = format!("HTTP/1.1 {status} Whatever\r\n{head}content-length: {length}\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        let sent = self.wire.write_all(&bytes).await;
        Done(sent.ok().map(|()| self.wire))
    }

    /// Sends `mib` MiB between a head and a tail, and closes. Stops early if the client closes.
    pub(crate) async fn repeated(mut self, head: &str, mib: usize, tail: &str) -> Done {
        let piece = vec![b'x'; 1 << 20];
        let _ = self.wire.write_all(head.as_bytes()).await;
        for _ in 0..mib {
            if self.wire.write_all(&piece).await.is_err() {
                break;
            }
        }
        let _ = self.wire.write_all(tail.as_bytes()).await;
        Done(None)
    }

    /// Sends a part of a response.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let _ = self.wire.write_all(bytes).await;
    }

    /// Sends exactly these bytes, which are a complete response.
    pub(crate) async fn bytes(mut self, bytes: &[u8]) -> Done {
        let sent = self.wire.write_all(bytes).await;
        Done(sent.ok().map(|()| self.wire))
    }

    /// Sends exactly these bytes and closes.
    pub(crate) async fn raw(mut self, bytes: &[u8]) -> Done {
        let _ = self.wire.write_all(bytes).await;
        let _ = self.wire.shutdown().await;
        Done(None)
    }

    /// Sends exactly these bytes and waits until the client closes.
    pub(crate) async fn stall(mut self, bytes: &[u8]) -> Done {
        let _ = self.wire.write_all(bytes).await;
        Events(self.wire).gone().await
    }

    /// Begins a response that is an event stream. `head` consists of whole lines.
    pub(crate) async fn events_with(mut self, head: &str) -> Events {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{head}transfer-encoding: chunked\r\n\r\n"
        );
        let _ = self.wire.write_all(head.as_bytes()).await;
        Events(self.wire)
    }

    pub(crate) async fn events(self) -> Events {
        self.events_with("").await
    }
}

impl Events {
    /// Sends text verbatim. Returns whether the client is still connected.
    pub(crate) async fn text(&mut self, text: &str) -> bool {
        self.bytes(text.as_bytes()).await
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) -> bool {
        let size = format!("{:x}\r\n", bytes.len());
        let chunk = [size.as_bytes(), bytes, b"\r\n"].concat();
        self.0.write_all(&chunk).await.is_ok()
    }

    pub(crate) async fn message(&mut self, message: &Value) -> bool {
        self.text(&format!("data: {message}\n\n")).await
    }

    /// Ends the stream properly.
    pub(crate) async fn end(mut self) -> Done {
        let sent = self.0.write_all(b"0\r\n\r\n").await;
        Done(sent.ok().map(|()| self.0))
    }

    /// Sends text and ends the stream, in one write.
    pub(crate) async fn end_with(mut self, text: &str) -> Done {
        let chunk = format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
        let sent = self.0.write_all(chunk.as_bytes()).await;
        Done(sent.ok().map(|()| self.0))
    }

    /// Closes the connection without ending the stream.
    pub(crate) fn cut(self) -> Done {
        drop(self.0);
        Done(None)
    }

    /// Waits until the client closes the connection.
    pub(crate) async fn gone(mut self) -> Done {
        let _ = self.0.read(&mut [0]).await;
        Done(None)
    }
}
