//! Where running gateways tell their status and the output of their servers: a private socket for each, which does
//! nothing else.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use mcp_safe::fs::private_folder;
use mcp_server::http::{Listen as _, UnixSocket};
use serde_json::{Value, json};
use tokio::io::BufReader;

use super::wire;

/// How long a client may take to ask.
const PATIENCE: Duration = Duration::from_secs(1);
/// A socket without a listener is removed when it is older: a younger one may be about to listen.
const STARTING: Duration = Duration::from_secs(10);

fn folder(state: &Path) -> PathBuf {
    state.join("gateways")
}

/// The socket of this process. A client of another user is refused.
///
/// # Errors
/// When it cannot be created.
pub(crate) fn register(state: &Path) -> io::Result<UnixSocket> {
    let folder = folder(state);
    private_folder(&folder)?;
    UnixSocket::bind(&folder.join(format!("{}.sock", std::process::id())))
}

/// Answers questions until the socket fails. `answer` returns nothing for a question that a gateway does not answer.
pub(crate) async fn answer(mut socket: UnixSocket, answer: impl Fn(&Value) -> Option<Value>) {
    while let Ok(connection) = socket.accept().await {
        let mut stream = BufReader::new(connection.stream);
        let exchange = async {
            let line = wire::read_line(&mut stream).await.ok().flatten()?;
            let request: Value = serde_json::from_slice(&line).ok()?;
            let answer = answer(&request).unwrap_or_else(|| json!({"error": READ_ONLY}));
            wire::write_line(&mut stream, answer.to_string().into_bytes()).await.ok()
        };
        // Not an error: a client may go away, or never ask.
        let _ = tokio::time::timeout(PATIENCE, exchange).await;
    }
}

const READ_ONLY: &str =
    "a gateway shows its status and the output of its servers, and nothing else";

/// Asks every gateway for the output of a server. The first gateway for this configuration that has connected it
/// answers.
pub(crate) async fn logs(state: &Path, configuration: &str, server: &str) -> Option<Value> {
    let question = json!({"logs": server, "configuration": configuration});
    for socket in sockets(&folder(state)) {
        if let Ok(answer) = wire::ask(&socket, &question).await
            && answer["server"] == server
        {
            return Some(answer);
        }
    }
    None
}

/// What each running gateway of this user says of itself. The sockets of gateways that were killed are removed.
pub(crate) async fn running(state: &Path) -> Vec<Value> {
    running_or_starting(state, STARTING).await
}

async fn running_or_starting(state: &Path, starting: Duration) -> Vec<Value> {
    let mut gateways = Vec::new();
    for socket in sockets(&folder(state)) {
        match wire::ask(&socket, &json!({"status": true})).await {
            Ok(status) => gateways.push(status),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                remove_older(&socket, starting);
            }
            Err(_) => {}
        }
    }
    gateways
}

fn sockets(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sockets: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .collect();
    sockets.sort();
    sockets
}

fn remove_older(socket: &Path, limit: Duration) {
    let created = fs::symlink_metadata(socket).and_then(|about| about.modified());
    if created.is_ok_and(|created| created.elapsed().is_ok_and(|age| age >= limit)) {
        let _ = fs::remove_file(socket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gateway_answers_what_it_knows_and_nothing_else() {
        let state = tempfile::tempdir().unwrap();
        let socket = register(state.path()).unwrap();
        let known = |request: &Value| {
            let of_this = request["configuration"] == "this" && request["logs"] == "x";
            let status = (request["status"] == true).then(|| json!({"pid": 7}));
            status.or_else(|| of_this.then(|| json!({"server": "x", "stderr": ["y"]})))
        };
        let serving = tokio::spawn(answer(socket, known));
        assert_eq!(running(state.path()).await, [json!({"pid": 7})]);
        let path = &sockets(&folder(state.path()))[0];
        for request in [json!({"stop": true}), json!({"attach": "x"}), json!({"logs": "x"})] {
            let answer = wire::ask(path, &request).await.unwrap();
            assert_eq!(answer, json!({"error": READ_ONLY}), "{request}");
        }
        let of = async |configuration, server| logs(state.path(), configuration, server).await;
        assert_eq!(of("this", "x").await.unwrap()["stderr"], json!(["y"]));
        assert_eq!((of("other", "x").await, of("this", "y").await), (None, None));
        serving.abort();
        let _ = serving.await;
        assert!(sockets(&folder(state.path())).is_empty(), "it is removed at the end");
    }

    #[tokio::test]
    async fn sockets_of_killed_gateways_are_removed() {
        let state = tempfile::tempdir().unwrap();
        private_folder(&folder(state.path())).unwrap();
        let path = folder(state.path()).join("1.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(running(state.path()).await.is_empty());
        assert!(path.exists(), "it may be about to listen");
        assert!(running_or_starting(state.path(), Duration::ZERO).await.is_empty());
        assert!(!path.exists());
    }
}
