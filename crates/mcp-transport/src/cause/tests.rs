//! Every kind of failure, over sockets where possible.

use std::{future::poll_fn, io, time::Duration};

use mcp_jsonrpc::{Failure, FailureCause, Message, Request};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{FailedStep, of};
use crate::{
    Authorize, BoxFuture, Connect as _, Http, HttpClient, HttpOptions, Inbound, Sse, Ws, WsOptions,
    auth::{AuthFailure, Challenge, Credentials, Target},
    net::HttpClientOptions,
};

/// How a server treats a connection after the first read.
#[derive(Clone, Copy)]
enum Deed {
    Reset,
    HangUp,
    Say(&'static str),
    Nothing,
}

/// Starts a server that treats every connection this way. Returns `host:port`.
async fn server(deed: Deed) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(stream, deed));
        }
    });
    address
}

async fn serve(mut stream: TcpStream, deed: Deed) {
    // The requests of these tests arrive in one chunk.
    let _ = stream.read(&mut [0; 4096]).await;
    match deed {
        Deed::Reset => stream.set_zero_linger().unwrap(),
        Deed::HangUp => {}
        Deed::Say(words) => {
            stream.write_all(words.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            // Wait until the other side has read everything and closed, to avoid a reset.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        Deed::Nothing => std::future::pending().await,
    }
}

/// An address without a listener.
async fn nobody() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    listener.local_addr().unwrap().to_string()
}

/// A name that never resolves: its domain is reserved, and it is longer than a name may be, so that a resolver does
/// not have to query the network.
fn nowhere() -> String {
    format!("{}.invalid:80", "x".repeat(64))
}

/// A client without proxies.
fn client(change: impl FnOnce(&mut HttpClientOptions)) -> HttpClient {
    let mut options =
        HttpClientOptions { proxy_from_environment: false, ..HttpClientOptions::default() };
    change(&mut options);
    HttpClient::with_options(&options).unwrap()
}

/// Returns the failure of a request over HTTP.
async fn failure(client: HttpClient, options: HttpOptions) -> Failure {
    let mut link = Http::new(client, options).connect().await.unwrap();
    link.outlet.send(Message::Request(Request::new(1, "ping", None))).unwrap();
    let mut batch = Vec::new();
    while batch.is_empty() {
        poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.unwrap();
    }
    match batch.remove(0) {
        Inbound::Lost { failure, .. } => failure,
        other => panic!("{other:?}"),
    }
}

async fn over_http(url: String) -> FailureCause {
    lost(failure(client(|_| {}), HttpOptions::new(url)).await)
}

fn lost(failure: Failure) -> FailureCause {
    match failure {
        Failure::Lost(loss) => loss.cause,
        other => panic!("{other:?}"),
    }
}

async fn over_sse(url: String) -> FailureCause {
    let sse = Sse::new(client(|_| {}), HttpOptions::new(url));
    sse.connect().await.unwrap_err().cause()
}

async fn over_ws(options: WsOptions) -> FailureCause {
    Ws::new(options).connect().await.unwrap_err().cause()
}

/// Checks that every network transport reports the same failure for this address.
async fn everybody_says(place: &str, cause: FailureCause) {
    assert_eq!(over_http(format!("http://{place}/")).await, cause, "over HTTP");
    assert_eq!(over_sse(format!("http://{place}/")).await, cause, "over SSE");
    assert_eq!(over_ws(WsOptions::new(format!("ws://{place}/"))).await, cause, "over WebSocket");
}

#[tokio::test]
async fn closed_port_has_cause_refused() {
    everybody_says(&nobody().await, FailureCause::Refused).await;
}

#[cfg(unix)]
#[tokio::test]
async fn missing_socket_file_has_cause_refused() {
    let client = client(|options| options.unix_socket = Some("/nonexistent/socket".into()));
    let failure = failure(client, HttpOptions::new("http://localhost/")).await;
    assert_eq!(lost(failure), FailureCause::Refused);
}

#[tokio::test]
async fn a_connection_that_is_reset_or_closed_too_early_is_cut_off() {
    everybody_says(&server(Deed::Reset).await, FailureCause::CutOff).await;
    everybody_says(&server(Deed::HangUp).await, FailureCause::CutOff).await;
}

#[tokio::test]
async fn an_answer_that_is_not_complete_was_cut_off() {
    let short = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    let place = server(Deed::Say(short)).await;
    assert_eq!(over_http(format!("http://{place}/")).await, FailureCause::CutOff);
    let no_answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\n\n";
    let place = server(Deed::Say(no_answer)).await;
    assert_eq!(over_http(format!("http://{place}/")).await, FailureCause::CutOff);
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_an_unknown_host() {
    everybody_says(&nowhere(), FailureCause::UnknownHost).await;
}

#[tokio::test]
async fn plain_text_port_has_cause_tls() {
    let place = server(Deed::Say("HTTP/1.1 400 Bad Request\r\n\r\n")).await;
    assert_eq!(over_http(format!("https://{place}/")).await, FailureCause::Tls);
    assert_eq!(over_ws(WsOptions::new(format!("wss://{place}/"))).await, FailureCause::Tls);
}

#[tokio::test]
async fn missing_response_head_has_cause_timed_out() {
    let place = server(Deed::Nothing).await;
    let mut options = HttpOptions::new(format!("http://{place}/"));
    options.post_timeout = Duration::from_millis(30);
    assert_eq!(lost(failure(client(|_| {}), options).await), FailureCause::TimedOut);
    let mut options = WsOptions::new(format!("ws://{place}/"));
    options.connect_timeout = Duration::from_millis(30);
    assert_eq!(over_ws(options).await, FailureCause::TimedOut);
    // Over TLS the connection is never established.
    let hurried = client(|options| options.connect_timeout = Duration::from_millis(30));
    let options = HttpOptions::new(format!("https://{place}/"));
    assert_eq!(lost(failure(hurried, options).await), FailureCause::TimedOut);
}

#[tokio::test]
async fn a_status_is_kept_as_a_number() {
    let busy = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
    everybody_says(&server(Deed::Say(busy)).await, FailureCause::Status(503)).await;
    let away = "HTTP/1.1 307 Moved\r\nlocation: http://elsewhere.invalid/\r\n\r\n";
    everybody_says(&server(Deed::Say(away)).await, FailureCause::Status(307)).await;
    let forbidden = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
    everybody_says(&server(Deed::Say(forbidden)).await, FailureCause::Status(403)).await;
}

#[tokio::test]
async fn other_protocol_has_cause_not_mcp() {
    everybody_says(&server(Deed::Say("SSH-2.0-OpenSSH_9.6\r\n\r\n")).await, FailureCause::NotMcp)
        .await;
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi";
    let place = server(Deed::Say(page)).await;
    assert_eq!(over_http(format!("http://{place}/")).await, FailureCause::NotMcp);
    assert_eq!(over_sse(format!("http://{place}/")).await, FailureCause::NotMcp);
}

#[tokio::test]
async fn an_answer_over_the_limit_is_said_to_be_too_large() {
    let large = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n";
    let mut options = HttpOptions::new(format!("http://{}/", server(Deed::Say(large)).await));
    options.max_message = 50;
    let failure = failure(client(|_| {}), options).await;
    assert_eq!(failure, Failure::TooLarge { size: 99, limit: 50 });
}

/// An authorizer without credentials.
struct Destitute;

impl Authorize for Destitute {
    fn credentials<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async { Err(AuthFailure::transient("the vault is locked")) })
    }

    fn challenged<'a>(&'a self, _: &'a Challenge) -> BoxFuture<'a, Result<(), AuthFailure>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn missing_credentials_have_distinct_causes_for_client_and_server() {
    let login = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
    everybody_says(&server(Deed::Say(login)).await, FailureCause::Credentials).await;
    let mut options = HttpOptions::new(format!("http://{}/", nobody().await));
    options.authorizer = Some(std::sync::Arc::new(Destitute));
    assert_eq!(lost(failure(client(|_| {}), options).await), FailureCause::Credentials);
}

#[test]
fn the_network_of_this_machine_may_have_no_way_there() {
    for kind in [io::ErrorKind::NetworkUnreachable, io::ErrorKind::HostUnreachable] {
        assert_eq!(of(&io::Error::from(kind)), FailureCause::Unreachable);
        assert_eq!(of(&io::Error::other(io::Error::from(kind))), FailureCause::Unreachable);
    }
    assert_eq!(of(&io::Error::other("connection refused")), FailureCause::Other);
}

#[test]
fn the_step_that_failed_says_more_than_the_error_it_failed_with() {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let failed = FailedStep::new(FailureCause::Proxy, refused);
    assert_eq!(failed.to_string(), "connection refused");
    assert_eq!(of(&failed), FailureCause::Proxy);
}

/// Certificate errors are found among the causes, because a retry does not fix them.
#[test]
fn wrapped_error_of_a_failed_step_is_in_its_source_chain() {
    let certificate = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
    let step = FailedStep::new(FailureCause::Proxy, io::Error::other(certificate));
    assert_eq!(of(&step), FailureCause::Proxy);
    let found = |source: &dyn std::error::Error| source.to_string().contains("certificate");
    assert!(super::causes(&step).any(|source| source.is::<rustls::Error>() && found(source)));
}
