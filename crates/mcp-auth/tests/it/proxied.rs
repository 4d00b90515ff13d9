//! Requests through a proxy, which resolves names itself: a response does not prove the address of the server.

use std::{
    env,
    net::SocketAddr,
    process::Stdio,
    sync::{Arc, Mutex},
};

use mcp_auth::{
    guard::{Blocked, Guard, Resolve},
    http::{HttpClient as _, HttpError, HttpRequest},
};
use mcp_transport::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::sockets::{http_client, serve_tls};

/// The variable with the port and the root certificate for [`worker`].
const PORT_AND_ROOT: &str = "MCP_AUTH_PROXIED";

/// A local resolver with false private addresses, as the owner of a name can publish them. Other names are unknown.
struct Inside;

impl Resolve for Inside {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            match host {
                "mcp.test" => Ok(vec![SocketAddr::from(([10, 0, 0, 1], port))]),
                "neighbour.test" => Ok(vec![SocketAddr::from(([10, 0, 0, 2], port))]),
                _ => Err(std::io::ErrorKind::NotFound.into()),
            }
        })
    }
}

/// Forwards every connection to `port` of this machine, and records the requested targets.
async fn proxy(port: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (at, asked) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap();
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let target = head.split(' ').nth(1).unwrap_or_default();
                seen.lock().unwrap().push(target.to_owned());
                let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    (at, asked)
}

/// The process whose environment names the proxy. Does nothing unless another test starts it.
#[tokio::test]
async fn worker() {
    let Ok(setup) = env::var(PORT_AND_ROOT) else {
        println!("run by `response_through_a_proxy_does_not_prove_a_private_address`");
        return;
    };
    let (port, root) = setup.split_once(' ').unwrap();
    let root = std::fs::read(root).unwrap();
    let client = http_client(&[root]).unwrap().with_resolver(Arc::new(Inside));
    let send = |url: &str, server: &str| {
        client.send(HttpRequest::new("GET", url, Guard::for_server(server)))
    };
    // The server has a valid certificate, but the local resolver returns a false address for it.
    let server = format!("https://mcp.test:{port}/mcp");
    let refused = send("https://neighbour.test/x", &server).await;
    assert!(matches!(refused, Err(HttpError::Blocked(Blocked::Unproven))), "{refused:?}");
    // A name that only the proxy can resolve is allowed. The response has a wrong certificate.
    let refused = send("https://as.test/x", "https://unknown.test/mcp").await;
    assert!(matches!(refused, Err(HttpError::Unreachable(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn response_through_a_proxy_does_not_prove_a_private_address() {
    let (port, root) = serve_tls("mcp.test").await;
    let (at, asked) = proxy(port).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("root.pem");
    std::fs::write(&path, root).unwrap();
    let worker = tokio::process::Command::new(env::current_exe().unwrap())
        .args(["--exact", "proxied::worker"])
        .env(PORT_AND_ROOT, format!("{port} {}", path.display()))
        .env("HTTPS_PROXY", format!("http://127.0.0.1:{at}"))
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = worker.wait_with_output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    let asked = asked.lock().unwrap();
    let expected = [format!("mcp.test:{port}"), "as.test:443".to_owned()];
    assert_eq!(*asked, expected, "the neighbour was not requested");
}
