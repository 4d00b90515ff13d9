//! The HTTP server with unauthorized or greedy clients, over real sockets.

use std::time::{Duration, Instant};

use mcp_server::http::HttpServeOptions;
use mcp_tests::{served, soon};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

use super::{
    http::{BOTH, HELLO, send, session_of, status},
    listen,
};

fn address(url: &str) -> &str {
    url.strip_prefix("http://").unwrap().split('/').next().unwrap()
}

/// Connects from this local address.
async fn connect_from(local: &str, url: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{local}:0").parse().unwrap()).unwrap();
    socket.connect(address(url).parse().unwrap()).await.unwrap()
}

/// Waits until the server closes the connection; returns whether it did.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    // A reset also ends the connection.
    let _ = soon("the end of a connection", stream.read_to_end(&mut bytes)).await;
    bytes.is_empty()
}

#[tokio::test]
async fn half_open_heads_do_not_delay_other_clients() {
    let options = HttpServeOptions::default();
    let head_timeout = options.head_timeout;
    assert_eq!(head_timeout, Duration::from_secs(5));
    let url = listen(&served::everything(), options).await;
    let mut half_open = Vec::new();
    for _ in 0..600 {
        let mut stream = TcpStream::connect(address(&url)).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: local").await.unwrap();
        half_open.push(stream);
    }
    let begun = Instant::now();
    assert_eq!(status(&send(&url, "POST", BOTH, HELLO).await), "200");
    assert!(begun.elapsed() < head_timeout, "took {:?}", begun.elapsed());
    assert!(is_closed(&mut half_open[0]).await, "the oldest made room");
}

#[tokio::test]
async fn connection_without_a_head_is_closed_after_the_head_timeout() {
    let mut options = HttpServeOptions::default();
    options.head_timeout = Duration::from_millis(50);
    let url = listen(&served::everything(), options).await;
    let mut silent = TcpStream::connect(address(&url)).await.unwrap();
    assert!(is_closed(&mut silent).await);
    let mut slow = TcpStream::connect(address(&url)).await.unwrap();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: local").await.unwrap();
    assert!(is_closed(&mut slow).await);
}

#[tokio::test]
async fn kept_connection_outlives_the_head_timeout() {
    let mut options = HttpServeOptions::default();
    options.head_timeout = Duration::from_millis(50);
    let url = listen(&served::everything(), options).await;
    let mut stream = TcpStream::connect(address(&url)).await.unwrap();
    let request =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{BOTH}\r\nContent-Length: 2\r\n\r\n{{}}");
    let mut silent = TcpStream::connect(address(&url)).await.unwrap();
    for _ in 0..2 {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let read = soon("an answer", stream.read(&mut answer)).await.unwrap();
        assert!(answer[..read].starts_with(b"HTTP/1.1 400"));
        // Closed by the timeout, which has therefore elapsed for both.
        assert!(is_closed(&mut silent).await);
    }
}

#[tokio::test]
async fn one_address_cannot_take_every_connection() {
    let mut options = HttpServeOptions::default();
    options.max_connections = 8;
    options.max_connections_per_peer = 4;
    let url = listen(&served::everything(), options).await;
    let opened = send(&url, "POST", BOTH, HELLO).await;
    let session = session_of(&opened).to_owned();
    // Four event streams: these connections are in use and cannot be closed to make room.
    let mut streams = Vec::new();
    for _ in 0..4 {
        let hello = send(&url, "POST", BOTH, HELLO).await;
        let mut stream = connect_from("127.0.0.2", &url).await;
        let get = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n",
            session_of(&hello)
        );
        stream.write_all(get.as_bytes()).await.unwrap();
        let mut head = [0; 15];
        soon("a stream", stream.read_exact(&mut head)).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200 OK");
        streams.push(stream);
    }
    assert!(is_closed(&mut connect_from("127.0.0.2", &url).await).await, "the fifth of one peer");
    let headers = format!("{BOTH}\r\nMcp-Session-Id: {session}");
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(status(&send(&url, "POST", &headers, ping).await), "200", "another peer");
}

#[tokio::test]
async fn sessions_that_were_never_initialized_make_room() {
    let url = listen(&served::everything(), HttpServeOptions::default()).await;
    let opened = send(&url, "POST", BOTH, HELLO).await;
    let headers = format!("{BOTH}\r\nMcp-Session-Id: {}", session_of(&opened));
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(status(&send(&url, "POST", &headers, initialized).await), "202");
    let first = send(&url, "POST", BOTH, HELLO).await;
    for _ in 0..256 {
        assert_eq!(status(&send(&url, "POST", BOTH, HELLO).await), "200");
    }
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    assert_eq!(status(&send(&url, "POST", &headers, ping).await), "200", "it was initialized");
    let gone = format!("{BOTH}\r\nMcp-Session-Id: {}", session_of(&first));
    assert_eq!(status(&send(&url, "POST", &gone, ping).await), "404");
}

#[tokio::test]
async fn two_host_headers_are_refused() {
    let url = listen(&served::everything(), HttpServeOptions::default()).await;
    for hosts in ["Host: localhost\r\nHost: localhost", "Host: localhost\r\nHost: evil.example.com"]
    {
        let response = send(&url, "POST", &format!("{hosts}\r\n{BOTH}"), HELLO).await;
        assert_eq!(status(&response), "400", "{response}");
    }
}

#[tokio::test]
async fn answer_to_a_wrong_token_is_delayed_and_to_the_right_one_is_not() {
    let mut options = HttpServeOptions::default();
    options.bearer = Some("0123456789abcdef".parse().unwrap());
    options.wrong_token_delay = Duration::from_secs(3600);
    let url = listen(&served::everything(), options).await;
    assert_eq!(status(&send(&url, "POST", BOTH, HELLO).await), "401", "no token, no delay");
    let with = |token: &str| format!("Authorization: Bearer {token}\r\n{BOTH}");
    let wrong = with("0123456789abcdee");
    let guess = tokio::spawn({
        let url = url.clone();
        async move { send(&url, "POST", &wrong, HELLO).await }
    });
    let right = send(&url, "POST", &with("0123456789abcdef"), HELLO).await;
    assert_eq!(status(&right), "200");
    assert!(!guess.is_finished());
    guess.abort();
}

#[cfg(unix)]
mod unix {
    use std::{
        os::unix::{
            fs::{MetadataExt as _, PermissionsExt as _},
            process::CommandExt as _,
        },
        path::{Path, PathBuf},
        process::Command,
    };

    use mcp_server::http::UnixSocket;
    use tokio::net::UnixStream;

    use super::*;

    /// Prints the response to one `initialize`.
    const CLIENT: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(sys.argv[2].encode())
    print(s.recv(15).decode())
except OSError:
    print('')
";

    fn serve(path: &Path) {
        let http = served::everything().http(HttpServeOptions::default());
        let socket = UnixSocket::bind(path).unwrap();
        tokio::spawn(async move { http.serve(socket).await });
    }

    fn request() -> String {
        let length = HELLO.len();
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{BOTH}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{HELLO}"
        )
    }

    #[tokio::test]
    async fn same_user_is_served_over_a_unix_socket() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run/gateway.sock");
        serve(&path);
        let mut stream = UnixStream::connect(&path).await.unwrap();
        stream.write_all(request().as_bytes()).await.unwrap();
        let mut response = String::new();
        soon("a response", stream.read_to_string(&mut response)).await.unwrap();
        assert_eq!(status(&response), "200", "{response}");
    }

    /// The response to a process of `uid`: its output, or its error.
    async fn ask_as(uid: u32, path: PathBuf) -> String {
        let asking = tokio::task::spawn_blocking(move || {
            let mut command = Command::new("/usr/bin/env");
            command.args(["python3", "-c", CLIENT]).arg(path).arg(request());
            command.current_dir("/").uid(uid).gid(uid).output().unwrap()
        });
        let output = soon("a client", asking).await.unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// Needs root, to act as two users.
    #[tokio::test(flavor = "multi_thread")]
    async fn another_user_is_not_served_over_a_unix_socket() {
        let place = tempfile::tempdir().unwrap();
        if place.path().metadata().unwrap().uid() != 0 {
            return mcp_skip::skip("only root can run a process as another user", "run as root");
        }
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(place.path(), open.clone()).unwrap();
        let path = place.path().join("run/gateway.sock");
        serve(&path);
        assert_eq!(ask_as(0, path.clone()).await, "HTTP/1.1 200 OK");
        let refused = ask_as(65534, path.clone()).await;
        assert!(refused.contains("PermissionError"), "by the modes: {refused}");
        // The peer credentials decide even on file systems that do not keep modes.
        std::fs::set_permissions(path.parent().unwrap(), open).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(ask_as(0, path.clone()).await, "HTTP/1.1 200 OK");
        assert_eq!(ask_as(65534, path).await, "", "by the credentials");
    }
}
