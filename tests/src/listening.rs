//! Starts servers that listen on a port, and waits until they accept connections.

use std::{net::TcpListener, process::Stdio as Pipe, time::Duration};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, Command},
};

/// Time limit for a server to listen.
const START: Duration = Duration::from_secs(60);

/// Starts one of our scripts. It chooses a port and prints its URL when it listens.
///
/// # Errors
/// The failure, as the end of a sentence that begins with the server's name.
pub async fn script(mut command: Command) -> Result<(Child, String), String> {
    command.stdin(Pipe::piped()).stdout(Pipe::piped()).kill_on_drop(true);
    let mut process = command.spawn().map_err(|error| format!("does not start: {error}"))?;
    let stdout = process.stdout.take().ok_or("has no stdout")?;
    let url = line(stdout, |line| line.contains("://")).await?;
    Ok((process, url))
}

/// Starts a published server. It gets a port that was free a moment before, and logs to stderr.
///
/// # Errors
/// The failure, as the end of a sentence that begins with the server's name.
pub async fn published(mut command: Command, path: &str) -> Result<(Child, String), String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.map_err(|error| format!("no port: {error}"))?.port();
    command.env("PORT", port.to_string()).kill_on_drop(true);
    command.stdin(Pipe::piped()).stderr(Pipe::piped()).stdout(Pipe::null());
    let mut process = command.spawn().map_err(|error| format!("does not start: {error}"))?;
    let stderr = process.stderr.take().ok_or("has no stderr")?;
    line(stderr, |line| line.contains("on port")).await?;
    Ok((process, format!("http://127.0.0.1:{port}/{path}")))
}

/// The first matching line. Later lines are read and discarded, so that the server never blocks on a full pipe.
async fn line(
    output: impl AsyncRead + Unpin + Send + 'static,
    is_it: impl Fn(&str) -> bool,
) -> Result<String, String> {
    let mut lines = BufReader::new(output).lines();
    let found = async {
        while let Ok(Some(line)) = lines.next_line().await {
            if is_it(&line) {
                return Ok(line);
            }
        }
        Err("ended before it listened".to_owned())
    };
    let line = tokio::time::timeout(START, found).await;
    let line = line.map_err(|_| format!("does not listen within {START:?}"))??;
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok(line)
}
