//! The client on reqwest against real sockets: limits, redirects, and addresses that are refused before a
//! connection is made.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_auth::{
    Blocked, Guard, HttpClient as _, HttpError, HttpRequest, HttpResponse, LoginError, OAuth,
    OAuthOptions, OnEvent, Paste, ReqwestClient, Resolve, Vault, Zone,
};
use mcp_transport::{Authorize as _, BoxFuture, Challenge};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// Names that lead where a test says.
struct Names(Vec<(&'static str, IpAddr)>);

impl Resolve for Names {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, std::io::Result<Vec<SocketAddr>>> {
        let found = self.0.iter().filter(|(name, _)| *name == host);
        let found = found.map(|(_, address)| SocketAddr::new(*address, port)).collect();
        Box::pin(async move { Ok(found) })
    }
}

/// Every connection that was about to be made.
type Connections = Arc<Mutex<Vec<String>>>;

fn client(names: Vec<(&'static str, IpAddr)>) -> (ReqwestClient, Connections) {
    let connections = Connections::default();
    let seen = connections.clone();
    let client = ReqwestClient::new().unwrap().with_resolver(Arc::new(Names(names))).on_connect(
        Arc::new(move |host, addresses| seen.lock().unwrap().push(format!("{host} {addresses:?}"))),
    );
    (client, connections)
}

/// Serves one connection with `answer`, and returns where.
async fn serve(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&answer).await;
        }
    });
    format!("http://{address}/")
}

fn get(url: &str, server: &str) -> HttpRequest {
    HttpRequest::new("GET", url, Guard::for_server(server))
}

#[tokio::test]
async fn an_answer_is_read_whole_and_a_redirect_is_not_followed() {
    let url = serve(
        b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 2\r\n\r\nhi"
            .to_vec(),
    )
    .await;
    let (client, connections) = client(Vec::new());
    let response: HttpResponse = client.send(get(&url, "http://localhost/mcp")).await.unwrap();
    assert_eq!((response.status, response.body.as_slice()), (302, &b"hi"[..]));
    assert_eq!(response.header("location"), Some("http://169.254.169.254/"));
    assert_eq!(connections.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 52428800\r\n\r\n".to_vec();
    answer.extend(vec![b'x'; 2 << 20]);
    let url = serve(answer).await;
    let (client, _) = client(Vec::new());
    let refused = client.send(get(&url, "http://localhost/mcp")).await;
    assert!(matches!(refused, Err(HttpError::TooLarge(_))), "{refused:?}");
}

#[tokio::test]
async fn silence_has_a_limit() {
    let url = serve(b"HTTP/1.1 200 OK\r\n".to_vec()).await;
    let (client, _) = client(Vec::new());
    let mut request = get(&url, "http://localhost/mcp");
    request.time_limit = Duration::from_millis(50);
    let refused = client.send(request).await;
    assert!(matches!(refused, Err(HttpError::TimedOut(_) | HttpError::Unreachable(_))));
}

#[tokio::test]
async fn names_that_lead_inside_are_refused_before_a_connection_is_made() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let cases = [
        ("169.254.169.254", Zone::Special),
        ("10.0.0.1", Zone::Private),
        ("127.0.0.1", Zone::Loopback),
        ("::ffff:192.168.0.1", Zone::Private),
        ("fe80::1", Zone::Special),
    ];
    for (inside, zone) in cases {
        let names = vec![("mcp.test", ip("8.8.8.8")), ("as.test", ip(inside))];
        let (client, connections) = client(names);
        let refused = client.send(get("https://as.test/x", "https://mcp.test/mcp")).await;
        let Err(HttpError::Blocked(why)) = refused else { panic!("{inside}: {refused:?}") };
        assert_eq!(why, Blocked::Address(zone), "{inside}");
        assert!(connections.lock().unwrap().is_empty(), "{inside}");
    }
    // One bad address among good ones is enough.
    let names =
        vec![("mcp.test", ip("8.8.8.8")), ("as.test", ip("8.8.4.4")), ("as.test", ip("10.0.0.1"))];
    let (client, connections) = client(names);
    let refused = client.send(get("https://as.test/x", "https://mcp.test/mcp")).await;
    assert!(matches!(refused, Err(HttpError::Blocked(_))));
    assert!(connections.lock().unwrap().is_empty());
}

/// A server on this machine with a certificate for `name`: its port, and what makes a client trust it.
pub(crate) async fn serve_tls(name: &str) -> (u16, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().clone(), made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.try_into().unwrap())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, made.cert.pem().into_bytes())
}

#[tokio::test]
async fn a_server_on_the_inside_may_lead_to_its_neighbours() {
    let (port, root) = serve_tls("mcp.test").await;
    let here: IpAddr = "127.0.0.1".parse().unwrap();
    let names = || vec![("mcp.test", here), ("as.test", here)];
    let (stranger, seen) = client(names());
    let request = || {
        let mut request = get("https://as.test:1/x", &format!("https://mcp.test:{port}/mcp"));
        request.time_limit = Duration::from_secs(60);
        request
    };
    // Its name points inside, and so would that of anybody who wants to see what is there. Only the
    // server's own certificate tells the difference.
    let refused = stranger.send(request()).await;
    assert!(matches!(refused, Err(HttpError::Blocked(Blocked::Unproven))), "{refused:?}");
    let home = format!("mcp.test [127.0.0.1:{port}]");
    assert_eq!(*seen.lock().unwrap(), [home.as_str()], "the neighbour was left alone");

    let connections = Connections::default();
    let seen = connections.clone();
    let known = ReqwestClient::trusting(&[root]).unwrap();
    let known = known.with_resolver(Arc::new(Names(names()))).on_connect(Arc::new(
        move |host, addresses| seen.lock().unwrap().push(format!("{host} {addresses:?}")),
    ));
    let refused = known.send(request()).await;
    // Nobody listens there, but it was allowed to look.
    assert!(matches!(refused, Err(HttpError::Unreachable(_))), "{refused:?}");
    assert_eq!(*connections.lock().unwrap(), [home.as_str(), "as.test [127.0.0.1:1]"]);
}

#[tokio::test]
async fn a_login_that_leads_inside_ends_before_a_connection_is_made() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    // The MCP server is on this machine; its metadata points at the cloud's metadata service and at a
    // neighbour of the machine.
    for target in ["https://169.254.169.254/", "https://10.1.2.3/", "https://inside.test/"] {
        let challenge = format!(
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer \
             resource_metadata=\"{target}\"\r\ncontent-length: 0\r\n\r\n"
        );
        let server = serve(challenge.into_bytes()).await;
        let (client, connections) = client(vec![("inside.test", ip("192.168.7.7"))]);
        let vault = Arc::new(Vault::in_memory(OnEvent::default()));
        let auth = OAuth::new(OAuthOptions::new(&server, vault, Arc::new(client)));
        let nobody = Paste::new(Arc::new(|_| panic!("nobody should be asked")));
        let error = auth.login(&nobody).await.unwrap_err();
        assert!(matches!(error, LoginError::Blocked { .. }), "{target}: {error}");
        // Only the server itself was connected to.
        assert_eq!(connections.lock().unwrap().len(), 1, "{target}");
    }
}

#[tokio::test]
async fn a_certificate_is_checked_and_a_company_can_add_its_own() {
    let (port, root) = serve_tls("localhost").await;
    let here = || vec![("localhost", "127.0.0.1".parse::<IpAddr>().unwrap())];
    let url = format!("https://localhost:{port}/");
    let (stranger, _) = client(here());
    let refused = stranger.send(get(&url, &url)).await;
    assert!(matches!(refused, Err(HttpError::Unreachable(_))), "{refused:?}");

    let trusting = ReqwestClient::trusting(&[root]).unwrap();
    let trusting = trusting.with_resolver(Arc::new(Names(here())));
    let answer = trusting.send(get(&url, &url)).await.unwrap();
    assert_eq!(answer.body.as_slice(), b"hi");
    assert!(ReqwestClient::trusting(&[b"-----BEGIN CERTIFICATE-----\nx".to_vec()]).is_err());
}

#[tokio::test]
async fn a_server_whose_name_moves_to_this_machine_reaches_nothing_on_it() {
    // The name was public when the transport spoke to it. Its owner has changed that since.
    let (client, connections) = client(vec![("evil.test", "127.0.0.1".parse().unwrap())]);
    let vault = Arc::new(Vault::in_memory(OnEvent::default()));
    let mut options = OAuthOptions::new("https://evil.test/mcp", vault, Arc::new(client));
    options.interact = Some(Arc::new(Paste::new(Arc::new(|_| panic!("nobody should be asked")))));
    let auth = OAuth::new(options);
    for target in ["http://127.0.0.1:9/admin", "http://localhost:9/", "https://[::1]:9/"] {
        let mut challenge = Challenge::new(401, "https://evil.test/mcp");
        challenge.read(&format!("Bearer resource_metadata=\"{target}\""));
        let told = auth.challenged(&challenge).await.unwrap_err();
        assert!(told.message.contains("was not asked"), "{target}: {told}");
    }
    assert!(connections.lock().unwrap().is_empty());
}
