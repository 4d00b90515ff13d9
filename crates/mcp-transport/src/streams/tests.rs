//! The parity suite over streams in memory and over TCP.

use std::{io, net::SocketAddr};

use mcp_jsonrpc::{
    Message,
    wire::{Decoded, Line, LineDecoder, decode},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpSocket,
};

use super::{StreamOptions, Streams};
use crate::{
    error::ConnectError,
    link::Connect,
    testing::parity::{self, Action, MAX_MESSAGE, MAX_QUEUED, Server},
};

/// Buffered bytes count as sent, so the buffer must be smaller than the data of a scenario.
const BUFFER: usize = 64 << 10;

fn options() -> StreamOptions {
    StreamOptions::default().with_max_message(MAX_MESSAGE).with_max_queued(MAX_QUEUED)
}

fn in_memory() -> Streams {
    let open = || async {
        let (ours, theirs) = tokio::io::duplex(BUFFER);
        tokio::spawn(serve(theirs));
        Ok(ours)
    };
    Streams::with_options(open, options())
}

fn tcp() -> Streams {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(u32::try_from(BUFFER).unwrap()).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    let open = move || async move {
        let socket = TcpSocket::new_v4()?;
        socket.set_send_buffer_size(u32::try_from(BUFFER).unwrap())?;
        socket.connect(address).await
    };
    Streams::with_options(open, options())
}

/// Runs the parity server, one message per line, until the stream ends or an action ends it.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let (mut server, mut decoder) = (Server::default(), LineDecoder::new(MAX_MESSAGE));
    while stream.read_buf(decoder.buffer()).await.is_ok_and(|count| count > 0) {
        while let Some(line) = decoder.next_line() {
            let Line::Whole(line) = line else { continue };
            let Ok(Decoded::One(message)) = decode(&line) else { continue };
            for action in server.receive(message) {
                match action {
                    // Keep the stream open for reading: a reset would discard bytes in transit.
                    Action::Die => {
                        let _ = stream.shutdown().await;
                        return std::future::pending().await;
                    }
                    Action::StopReading => return std::future::pending().await,
                    action => {
                        if perform(action, &mut stream).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
    }
}

async fn perform(action: Action, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    match action {
        Action::Send(message) => stream.write_all(&line(&[message])).await,
        Action::SendTogether(messages) => stream.write_all(&line(&messages)).await,
        Action::Flood { count, bytes } => {
            for n in 0..count {
                stream.write_all(&line(&[Server::tick(n, bytes)])).await?;
            }
            Ok(())
        }
        Action::Stray(bytes) => stream.write_all(bytes).await,
        Action::CloseOutput => stream.shutdown().await,
        _ => Ok(()),
    }
}

/// Encodes one message, or several as a batch.
fn line(messages: &[Message]) -> Vec<u8> {
    let mut line = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if messages.len() > 1 {
            line.push(if index == 0 { b'[' } else { b',' });
        }
        message.write(&mut line);
    }
    line.extend_from_slice(if messages.len() > 1 { b"]\n" } else { b"\n" });
    line
}

async fn play_all(transport: &dyn Connect) {
    for scenario in parity::scenarios() {
        if let Err(violation) = scenario.run(transport).await {
            panic!("{violation}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_holds_over_a_stream_in_memory() {
    play_all(&in_memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_scenario_holds_over_tcp() {
    play_all(&tcp()).await;
}

#[tokio::test]
async fn refused_connection_is_reported_with_its_cause() {
    let closed: SocketAddr = {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap()
    };
    let streams = Streams::new(move || async move { tokio::net::TcpStream::connect(closed).await });
    let Err(error) = streams.connect().await else { panic!("nothing listens there") };
    assert!(
        matches!(
            &error,
            ConnectError::Unreachable { cause: mcp_jsonrpc::FailureCause::Refused, .. }
        ),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn connection_that_does_not_open_times_out() {
    let streams = Streams::new(std::future::pending::<io::Result<tokio::io::DuplexStream>>);
    let Err(error) = streams.connect().await else { panic!("it never opens") };
    assert_eq!(error.cause(), mcp_jsonrpc::FailureCause::TimedOut);
}
