//! Behind a proxy, which looks names up by itself: what it brings proves nothing about where it was.

use std::{
    env,
    net::SocketAddr,
    process::Stdio,
    sync::{Arc, Mutex},
};

use mcp_auth::{Blocked, Guard, HttpClient as _, HttpError, HttpRequest, ReqwestClient, Resolve};
use mcp_transport::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use crate::sockets::serve_tls;

const PLACE: &str = "MCP_AUTH_PROXIED";

/// What the name server of this machine says: an owner of names can have it say anything. Others it does
/// not know.
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

/// Leads every connection to `port` of this machine, and remembers where they were meant to go.
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

/// The process whose environment names the proxy. Without one there is nothing to see, and it says so.
#[tokio::test]
async fn worker() {
    let Ok(place) = env::var(PLACE) else {
        println!("run by `what_a_proxy_brings_proves_nothing_about_where_it_was`");
        return;
    };
    let (port, root) = place.split_once(' ').unwrap();
    let root = std::fs::read(root).unwrap();
    let client = ReqwestClient::trusting(&[root]).unwrap().with_resolver(Arc::new(Inside));
    let ask = |url: &str, server: &str| {
        client.send(HttpRequest::new("GET", url, Guard::for_server(server)))
    };
    // The server answers with its own certificate, but the name server here lied about where it is.
    let server = format!("https://mcp.test:{port}/mcp");
    let refused = ask("https://neighbour.test/x", &server).await;
    assert!(matches!(refused, Err(HttpError::Blocked(Blocked::Unproven))), "{refused:?}");
    // Names that only the proxy knows are its business. This one is answered with a wrong certificate.
    let refused = ask("https://as.test/x", "https://unknown.test/mcp").await;
    assert!(matches!(refused, Err(HttpError::Unreachable(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_proxy_brings_proves_nothing_about_where_it_was() {
    let (port, root) = serve_tls("mcp.test").await;
    let (at, asked) = proxy(port).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("root.pem");
    std::fs::write(&path, root).unwrap();
    let worker = tokio::process::Command::new(env::current_exe().unwrap())
        .args(["--exact", "proxied::worker"])
        .env(PLACE, format!("{port} {}", path.display()))
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
    assert_eq!(*asked, [format!("mcp.test:{port}"), "as.test:443".to_owned()], "and no neighbour");
}
