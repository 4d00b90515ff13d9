//! The default client on real sockets: limits, redirects, and addresses that are rejected before a connection.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use mcp_auth::{
    LoginError, OAuth, OAuthOptions, OnEvent,
    guard::{Blocked, Guard, GuardedClient, Resolve, Zone},
    http::{HttpClient as _, HttpError, HttpRequest, HttpResponse},
    interact::Paste,
    store::Vault,
};
use mcp_transport::{Authorize as _, BoxFuture, ConnectError, auth::Challenge, net::TlsOptions};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// Returns the default client, which trusts these certificate authorities in addition to those of the system.
pub(crate) fn http_client(extra_roots: &[Vec<u8>]) -> Result<GuardedClient, ConnectError> {
    let mut tls = TlsOptions::default();
    tls.extra_roots = extra_roots.to_vec();
    GuardedClient::new(&tls)
}

/// A resolver with fixed addresses.
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

/// The attempted connections.
type Connections = Arc<Mutex<Vec<String>>>;

fn client(names: Vec<(&'static str, IpAddr)>) -> (GuardedClient, Connections) {
    let connections = Connections::default();
    let seen = connections.clone();
    let client = http_client(&[]).unwrap().with_resolver(Arc::new(Names(names))).on_connect(
        Arc::new(move |host, addresses| seen.lock().unwrap().push(format!("{host} {addresses:?}"))),
    );
    (client, connections)
}

/// Responds to every connection with `response`, and returns the URL.
pub(crate) async fn serve(response: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&response).await;
        }
    });
    format!("http://{address}/")
}

pub(crate) fn get(url: &str, server: &str) -> HttpRequest {
    HttpRequest::new("GET", url, Guard::for_server(server))
}

#[tokio::test]
async fn whole_response_is_read_and_a_redirect_is_not_followed() {
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
async fn oversized_response_is_rejected() {
    let mut response = b"HTTP/1.1 200 OK\r\ncontent-length: 52428800\r\n\r\n".to_vec();
    response.extend(vec![b'x'; 2 << 20]);
    let url = serve(response).await;
    let (client, _) = client(Vec::new());
    let refused = client.send(get(&url, "http://localhost/mcp")).await;
    assert!(matches!(refused, Err(HttpError::TooLarge(_))), "{refused:?}");
}

#[tokio::test]
async fn incomplete_response_times_out() {
    let url = serve(b"HTTP/1.1 200 OK\r\n".to_vec()).await;
    let (client, _) = client(Vec::new());
    let mut request = get(&url, "http://localhost/mcp");
    request.time_limit = Duration::from_millis(50);
    let refused = client.send(request).await;
    assert!(matches!(refused, Err(HttpError::TimedOut(_) | HttpError::Unreachable(_))));
}

#[tokio::test]
async fn names_with_private_addresses_are_rejected_before_a_connection() {
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
    // One private address among public ones is enough.
    let names =
        vec![("mcp.test", ip("8.8.8.8")), ("as.test", ip("8.8.4.4")), ("as.test", ip("10.0.0.1"))];
    let (client, connections) = client(names);
    let refused = client.send(get("https://as.test/x", "https://mcp.test/mcp")).await;
    assert!(matches!(refused, Err(HttpError::Blocked(_))));
    assert!(connections.lock().unwrap().is_empty());
}

/// Starts a server on this machine with a certificate for `name`. Returns its port and the root certificate.
pub(crate) async fn serve_tls(name: &str) -> (u16, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().clone(), made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
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
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
            let _ = stream.write_all(response).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, made.cert.pem().into_bytes())
}

#[tokio::test]
async fn private_address_is_allowed_if_the_mcp_server_is_proven_to_be_there() {
    let (port, root) = serve_tls("mcp.test").await;
    let here: IpAddr = "127.0.0.1".parse().unwrap();
    let names = || vec![("mcp.test", here), ("as.test", here)];
    let (stranger, seen) = client(names());
    let request = || {
        let mut request = get("https://as.test:1/x", &format!("https://mcp.test:{port}/mcp"));
        request.time_limit = Duration::from_secs(60);
        request
    };
    // Anyone can point a name to a private address. Only the server's own certificate proves that it is there.
    let refused = stranger.send(request()).await;
    assert!(matches!(refused, Err(HttpError::Blocked(Blocked::Unproven))), "{refused:?}");
    let home = format!("mcp.test [127.0.0.1:{port}]");
    assert_eq!(*seen.lock().unwrap(), [home.as_str()], "no connection to the neighbour");

    let connections = Connections::default();
    let seen = connections.clone();
    let known = http_client(&[root]).unwrap();
    let known = known.with_resolver(Arc::new(Names(names()))).on_connect(Arc::new(
        move |host, addresses| seen.lock().unwrap().push(format!("{host} {addresses:?}")),
    ));
    let refused = known.send(request()).await;
    // Nothing listens there, but the connection was allowed.
    assert!(matches!(refused, Err(HttpError::Unreachable(_))), "{refused:?}");
    assert_eq!(*connections.lock().unwrap(), [home.as_str(), "as.test [127.0.0.1:1]"]);
}

#[tokio::test]
async fn login_with_private_urls_fails_before_a_connection() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    // The MCP server is on this machine; its challenge points to the cloud's metadata service and to private
    // addresses.
    for target in ["https://169.254.169.254/", "https://10.1.2.3/", "https://inside.test/"] {
        let challenge = format!(
            "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer \
             resource_metadata=\"{target}\"\r\ncontent-length: 0\r\n\r\n"
        );
        let server = serve(challenge.into_bytes()).await;
        let (client, connections) = client(vec![("inside.test", ip("192.168.7.7"))]);
        let vault = Arc::new(Vault::in_memory(OnEvent::default()));
        let auth = OAuth::new(OAuthOptions::new(&server, vault, Arc::new(client)));
        let no_user = Paste::new(Arc::new(|_| panic!("the user was prompted")));
        let error = auth.login(&no_user).await.unwrap_err();
        assert!(matches!(error, LoginError::Blocked { .. }), "{target}: {error}");
        // Only the MCP server was connected to.
        assert_eq!(connections.lock().unwrap().len(), 1, "{target}");
    }
}

#[tokio::test]
async fn certificates_are_checked_and_extra_roots_are_trusted() {
    let (port, root) = serve_tls("localhost").await;
    let here = || vec![("localhost", "127.0.0.1".parse::<IpAddr>().unwrap())];
    let url = format!("https://localhost:{port}/");
    let (stranger, _) = client(here());
    let refused = stranger.send(get(&url, &url)).await;
    assert!(matches!(refused, Err(HttpError::Unreachable(_))), "{refused:?}");

    let trusting = http_client(&[root]).unwrap();
    let trusting = trusting.with_resolver(Arc::new(Names(here())));
    let response = trusting.send(get(&url, &url)).await.unwrap();
    assert_eq!(response.body.as_slice(), b"hi");
    assert!(http_client(&[b"-----BEGIN CERTIFICATE-----\nx".to_vec()]).is_err());
}

#[tokio::test]
async fn rebound_server_name_does_not_reach_this_machine() {
    // The name was public when the transport connected, and its owner has changed it since (DNS rebinding).
    let (client, connections) = client(vec![("evil.test", "127.0.0.1".parse().unwrap())]);
    let vault = Arc::new(Vault::in_memory(OnEvent::default()));
    let mut options = OAuthOptions::new("https://evil.test/mcp", vault, Arc::new(client));
    options.interact = Some(Arc::new(Paste::new(Arc::new(|_| panic!("the user was prompted")))));
    let auth = OAuth::new(options);
    for target in ["http://127.0.0.1:9/admin", "http://localhost:9/", "https://[::1]:9/"] {
        let mut challenge = Challenge::new(401, "https://evil.test/mcp");
        challenge.read(&format!("Bearer resource_metadata=\"{target}\""));
        let told = auth.challenged(&challenge).await.unwrap_err();
        assert!(told.message.contains("was not sent"), "{target}: {told}");
    }
    assert!(connections.lock().unwrap().is_empty());
}
