//! Every kind of trouble, over sockets where it can be made there.

use std::{future::poll_fn, io, time::Duration};

use mcp_jsonrpc::{Failure, Message, Request, Trouble};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{FailedStep, of};
use crate::{
    AuthFailure, Authorize, BoxFuture, Challenge, Connect as _, Credentials, Http, HttpClient,
    HttpClientOptions, HttpOptions, Inbound, Sse, Target, Ws, WsOptions,
};

/// What a server does to whoever connects, once it has heard something.
#[derive(Clone, Copy)]
enum Deed {
    Reset,
    HangUp,
    Say(&'static str),
    Nothing,
}

/// A server that does this to everybody, as `host:port`.
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
    // The whole of what our tests send comes in one piece.
    let _ = stream.read(&mut [0; 4096]).await;
    match deed {
        Deed::Reset => stream.set_zero_linger().unwrap(),
        Deed::HangUp => {}
        Deed::Say(words) => {
            stream.write_all(words.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            // Until the other side has read it all and hangs up too, or it would be cut off.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        Deed::Nothing => std::future::pending().await,
    }
}

/// Where nobody listens.
async fn nobody() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    listener.local_addr().unwrap().to_string()
}

/// A name that no resolver has an address for: reserved for that, and longer than a name may be, so that none
/// has to ask the network either.
fn nowhere() -> String {
    format!("{}.invalid:80", "x".repeat(64))
}

/// A client that goes straight there, and does not wait long.
fn client(change: impl FnOnce(&mut HttpClientOptions)) -> HttpClient {
    let mut options =
        HttpClientOptions { proxy_from_environment: false, ..HttpClientOptions::default() };
    change(&mut options);
    HttpClient::with_options(&options).unwrap()
}

/// How a request fails that is sent over HTTP.
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

async fn over_http(url: String) -> Trouble {
    lost(failure(client(|_| {}), HttpOptions::new(url)).await)
}

fn lost(failure: Failure) -> Trouble {
    match failure {
        Failure::Lost(loss) => loss.trouble,
        other => panic!("{other:?}"),
    }
}

async fn over_sse(url: String) -> Trouble {
    let sse = Sse::new(client(|_| {}), HttpOptions::new(url));
    sse.connect().await.unwrap_err().trouble()
}

async fn over_ws(options: WsOptions) -> Trouble {
    Ws::new(options).connect().await.unwrap_err().trouble()
}

/// Every transport that goes over a network says the same of this place.
async fn everybody_says(place: &str, trouble: Trouble) {
    assert_eq!(over_http(format!("http://{place}/")).await, trouble, "over HTTP");
    assert_eq!(over_sse(format!("http://{place}/")).await, trouble, "over SSE");
    assert_eq!(over_ws(WsOptions::new(format!("ws://{place}/"))).await, trouble, "over WebSocket");
}

#[tokio::test]
async fn where_nobody_listens_a_connection_is_refused() {
    everybody_says(&nobody().await, Trouble::Refused).await;
}

#[cfg(unix)]
#[tokio::test]
async fn behind_a_socket_file_that_is_not_there_nobody_listens() {
    let client = client(|options| options.unix_socket = Some("/nonexistent/socket".into()));
    let failure = failure(client, HttpOptions::new("http://localhost/")).await;
    assert_eq!(lost(failure), Trouble::Refused);
}

#[tokio::test]
async fn a_connection_that_is_reset_or_closed_too_early_is_cut_off() {
    everybody_says(&server(Deed::Reset).await, Trouble::CutOff).await;
    everybody_says(&server(Deed::HangUp).await, Trouble::CutOff).await;
}

#[tokio::test]
async fn an_answer_that_is_not_complete_was_cut_off() {
    let short = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    let place = server(Deed::Say(short)).await;
    assert_eq!(over_http(format!("http://{place}/")).await, Trouble::CutOff);
    let no_answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\n\n";
    let place = server(Deed::Say(no_answer)).await;
    assert_eq!(over_http(format!("http://{place}/")).await, Trouble::CutOff);
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_an_unknown_host() {
    everybody_says(&nowhere(), Trouble::UnknownHost).await;
}

#[tokio::test]
async fn a_port_that_speaks_no_tls_is_trouble_with_tls() {
    let place = server(Deed::Say("HTTP/1.1 400 Bad Request\r\n\r\n")).await;
    assert_eq!(over_http(format!("https://{place}/")).await, Trouble::Tls);
    assert_eq!(over_ws(WsOptions::new(format!("wss://{place}/"))).await, Trouble::Tls);
}

#[tokio::test]
async fn whoever_does_not_begin_to_answer_takes_too_long() {
    let place = server(Deed::Nothing).await;
    let mut options = HttpOptions::new(format!("http://{place}/"));
    options.post_timeout = Duration::from_millis(30);
    assert_eq!(lost(failure(client(|_| {}), options).await), Trouble::TimedOut);
    let mut options = WsOptions::new(format!("ws://{place}/"));
    options.connect_timeout = Duration::from_millis(30);
    assert_eq!(over_ws(options).await, Trouble::TimedOut);
    // Over TLS it is the connection that does not come about.
    let hurried = client(|options| options.connect_timeout = Duration::from_millis(30));
    let options = HttpOptions::new(format!("https://{place}/"));
    assert_eq!(lost(failure(hurried, options).await), Trouble::TimedOut);
}

#[tokio::test]
async fn a_status_is_kept_as_a_number() {
    let busy = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
    everybody_says(&server(Deed::Say(busy)).await, Trouble::Status(503)).await;
    let away = "HTTP/1.1 307 Moved\r\nlocation: http://elsewhere.invalid/\r\n\r\n";
    everybody_says(&server(Deed::Say(away)).await, Trouble::Status(307)).await;
    let forbidden = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
    everybody_says(&server(Deed::Say(forbidden)).await, Trouble::Status(403)).await;
}

#[tokio::test]
async fn what_speaks_another_protocol_is_no_mcp() {
    everybody_says(&server(Deed::Say("SSH-2.0-OpenSSH_9.6\r\n\r\n")).await, Trouble::NotMcp).await;
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi";
    let place = server(Deed::Say(page)).await;
    assert_eq!(over_http(format!("http://{place}/")).await, Trouble::NotMcp);
    assert_eq!(over_sse(format!("http://{place}/")).await, Trouble::NotMcp);
}

#[tokio::test]
async fn an_answer_over_the_limit_is_said_to_be_too_large() {
    let large = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n";
    let mut options = HttpOptions::new(format!("http://{}/", server(Deed::Say(large)).await));
    options.max_message = 50;
    let failure = failure(client(|_| {}), options).await;
    assert_eq!(failure, Failure::TooLarge { size: 99, limit: 50 });
}

/// Has nothing to offer.
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
async fn missing_credentials_are_trouble_of_their_own_on_either_side() {
    let login = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
    everybody_says(&server(Deed::Say(login)).await, Trouble::Credentials).await;
    let mut options = HttpOptions::new(format!("http://{}/", nobody().await));
    options.authorizer = Some(std::sync::Arc::new(Destitute));
    assert_eq!(lost(failure(client(|_| {}), options).await), Trouble::Credentials);
}

#[test]
fn the_network_of_this_machine_may_have_no_way_there() {
    for kind in [io::ErrorKind::NetworkUnreachable, io::ErrorKind::HostUnreachable] {
        assert_eq!(of(&io::Error::from(kind)), Trouble::Unreachable);
        assert_eq!(of(&io::Error::other(io::Error::from(kind))), Trouble::Unreachable);
    }
    assert_eq!(of(&io::Error::other("connection refused")), Trouble::Other);
}

#[test]
fn the_step_that_failed_says_more_than_the_error_it_failed_with() {
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    let failed = FailedStep::new(Trouble::Proxy, refused);
    assert_eq!(failed.to_string(), "connection refused");
    assert_eq!(of(&failed), Trouble::Proxy);
}

/// A certificate is looked for among the causes, to tell what no waiting will mend.
#[test]
fn what_a_failed_step_holds_is_among_its_causes() {
    let certificate = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
    let step = FailedStep::new(Trouble::Proxy, io::Error::other(certificate));
    assert_eq!(of(&step), Trouble::Proxy);
    let found = |cause: &dyn std::error::Error| cause.to_string().contains("certificate");
    assert!(super::causes(&step).any(|cause| cause.is::<rustls::Error>() && found(cause)));
}
