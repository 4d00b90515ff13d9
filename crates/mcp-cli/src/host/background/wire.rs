//! The socket protocol: a JSON greeting, followed by MCP messages, one per line.

use std::{
    io,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use mcp_jsonrpc::{
    ErrorObject, Message, Notification, RawJson, Response,
    wire::{Decoded, decode},
};
use mcp_transport::{
    Inbound, Inlet, Link,
    diagnostics::{CloseReport, Diagnostics, Exit},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::UnixStream,
};

/// The maximum length of a line, as for stdio servers.
const LONGEST: usize = 64 << 20;

/// How long the host may take to answer a greeting, which may start or stop a server.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to this user's host at `socket`.
///
/// # Errors
/// Fails if no host listens there, or it belongs to another user.
pub(crate) async fn open(socket: &Path) -> io::Result<BufReader<UnixStream>> {
    use std::os::unix::fs::MetadataExt as _;
    let folder = socket.parent().unwrap_or(Path::new("."));
    let stream = UnixStream::connect(socket).await?;
    // The folder is private, so a process of another user cannot be a host that we started.
    if stream.peer_cred()?.uid() != std::fs::metadata(folder)?.uid() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the socket belongs to another user",
        ));
    }
    Ok(BufReader::new(stream))
}

/// Sends `request` and reads the response.
pub(crate) async fn ask(socket: &Path, request: &Value) -> io::Result<Value> {
    let mut stream = open(socket).await?;
    greet(&mut stream, request).await
}

/// Like [`ask`], on an open connection.
pub(super) async fn greet(
    stream: &mut BufReader<UnixStream>,
    request: &Value,
) -> io::Result<Value> {
    let answer = async {
        write_line(stream, request.to_string().into_bytes()).await?;
        read_line(stream).await
    };
    let Some(line) = tokio::time::timeout(GREETING_TIMEOUT, answer).await?? else {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the background host closed the connection",
        ));
    };
    serde_json::from_slice(&line).map_err(io::Error::other)
}

/// Reads the next line without its terminator; `None` at the end of input.
///
/// # Cancel safety
/// Not cancel safe: part of a line may be lost.
pub(super) async fn read_line(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let chunk = from.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(None);
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&chunk[..end.unwrap_or(chunk.len())]);
        let used = end.map_or(chunk.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
        if line.len() > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
        }
    }
}

pub(super) async fn write_line(
    to: &mut (impl AsyncWrite + Unpin),
    mut line: Vec<u8>,
) -> io::Result<()> {
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}

/// Reads the next message; `None` at the end of input. Invalid lines are skipped.
pub(super) async fn read_message(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<Message>> {
    while let Some(line) = read_line(from).await? {
        if let Ok(Decoded::One(message)) = decode(&line.into()) {
            return Ok(Some(message));
        }
    }
    Ok(None)
}

pub(super) async fn write_message(
    to: &mut (impl AsyncWrite + Unpin),
    message: &Message,
) -> io::Result<()> {
    let mut line = Vec::new();
    message.write(&mut line);
    write_line(to, line).await
}

/// Receives messages from a link. A request that the link lost is answered with an error.
///
/// # Errors
/// Returns how the link ended.
///
/// # Cancel safety
/// No message is lost.
pub(super) async fn receive(inlet: &mut dyn Inlet) -> Result<Vec<Message>, Box<CloseReport>> {
    let mut batch = Vec::new();
    std::future::poll_fn(|cx| inlet.poll_recv(cx, &mut batch)).await?;
    let message = |inbound: Inbound| match inbound.read() {
        Inbound::Message(message) => Some(message),
        Inbound::Lost { id, failure } => {
            let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, failure.to_string());
            Some(Message::Response(Response { id: Some(id), outcome: Err(error) }))
        }
        _ => None,
    };
    Ok(batch.into_iter().filter_map(message).collect())
}

/// How a server's process ended, as the host tells its clients before it disconnects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ServerEnd {
    exit: Option<Exit>,
    stderr: Vec<String>,
}

impl ServerEnd {
    const METHOD: &str = "notifications/mcp-host/ended";

    pub(super) fn of(diagnostics: &Diagnostics) -> Self {
        Self { exit: diagnostics.exit, stderr: diagnostics.stderr.clone() }
    }

    pub(super) fn apply(self, diagnostics: &mut Diagnostics) {
        diagnostics.exit = self.exit;
        diagnostics.stderr = self.stderr;
    }

    pub(super) fn to_message(&self) -> Message {
        let (code, signal) = match self.exit {
            Some(Exit::Code(code)) => (Some(code), None),
            Some(Exit::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        let params = json!({"code": code, "signal": signal, "stderr": self.stderr});
        Message::Notification(Notification::new(Self::METHOD, RawJson::encode(&params).ok()))
    }

    fn from_message(message: &Message) -> Option<Self> {
        let Message::Notification(note) = message else { return None };
        if note.method != Self::METHOD {
            return None;
        }
        let params: Value = note.params.as_ref()?.decode().ok()?;
        let number = |name: &str| params[name].as_i64().and_then(|n| i32::try_from(n).ok());
        let lines = params["stderr"].as_array().into_iter().flatten();
        Some(Self {
            exit: number("code").map(Exit::Code).or(number("signal").map(Exit::Signal)),
            stderr: lines.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }
}

/// Forwards messages between a link and the socket until either ends. Stores how the server ended in `end`.
pub(super) async fn carry(
    mut link: Link,
    stream: BufReader<UnixStream>,
    end: &Mutex<Option<ServerEnd>>,
) {
    let (mut read, mut write) = tokio::io::split(stream);
    let mut read = BufReader::new(&mut read);
    let outlet = link.outlet.clone();
    let inbound = async {
        while let Ok(Some(message)) = read_message(&mut read).await {
            if let Some(told) = ServerEnd::from_message(&message) {
                *end.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
            } else if outlet.send(message).is_err() {
                return;
            }
        }
    };
    let outbound = async {
        while let Ok(messages) = receive(&mut *link.inlet).await {
            for message in &messages {
                if write_message(&mut write, message).await.is_err() {
                    // The host has disconnected. Keep reading: it reported how the server ended before that.
                    return std::future::pending().await;
                }
            }
        }
    };
    tokio::select! {
        () = inbound => {}
        () = outbound => {}
    }
    outlet.close();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mcp_transport::{Connect as _, InProcess};

    use super::*;

    #[test]
    fn server_end_survives_the_socket() {
        let end =
            ServerEnd { exit: Some(Exit::Signal(9)), stderr: vec!["a".into(), "b \"c\"".into()] };
        assert_eq!(ServerEnd::from_message(&end.to_message()), Some(end));
    }

    /// Sending to a host that has disconnected fails, but its last report must still be read. `select!` polls in random
    /// order, so a single round would not prove it.
    #[tokio::test]
    async fn server_end_is_read_after_a_failed_send() {
        for round in 0..32 {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let told = ServerEnd { exit: Some(Exit::Code(3)), stderr: vec!["no disk".into()] };
            write_message(&mut theirs, &told.to_message()).await.unwrap();
            drop(theirs);
            let end = Arc::new(Mutex::default());
            let stream = Mutex::new(Some((BufReader::new(ours), end.clone())));
            let served = InProcess::new(move |link| {
                let (stream, end) = stream.lock().unwrap().take().unwrap();
                Box::pin(async move { carry(link, stream, &end).await })
            });
            let mut link = served.connect().await.unwrap();
            let message = Message::Notification(Notification::new("notifications/x", None));
            link.outlet.send(message).unwrap();
            while receive(&mut *link.inlet).await.is_ok() {}
            assert_eq!(*end.lock().unwrap(), Some(told), "round {round}");
        }
    }
}
