//! A listener that counts connections, as the target of forbidden URLs.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::net::{TcpListener, TcpStream};

use super::FORBIDDEN;

/// Counts the connections it accepts.
pub(super) struct Trap {
    pub(super) port: u16,
    visitors: Arc<Mutex<Vec<SocketAddr>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Trap {
    pub(super) async fn set() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let visitors = Arc::<Mutex<Vec<SocketAddr>>>::default();
        let noted = visitors.clone();
        let task = tokio::spawn(async move {
            while let Ok((_, visitor)) = listener.accept().await {
                noted.lock().unwrap().push(visitor);
            }
        });
        Self { port, visitors, task }
    }

    /// The number of connections. Connects once more first, so that earlier connections have been accepted.
    pub(super) async fn visits(self) -> usize {
        let ours = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let us = ours.local_addr().unwrap();
        mcp_tests::soon("our own visit", async {
            while !self.visitors.lock().unwrap().contains(&us) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        self.task.abort();
        self.visitors.lock().unwrap().iter().filter(|visitor| **visitor != us).count()
    }
}

/// The forbidden targets for both schemes, because the servers of these tests use plain HTTP.
pub(super) fn targets(trap: &Trap) -> Vec<String> {
    let port = trap.port.to_string();
    let secure = FORBIDDEN.iter().map(|target| target.replace("PORT", &port));
    let plain = secure.clone().map(|target| target.replace("https://", "http://"));
    let other = [format!("http://127.0.0.1:{port}/mcp"), format!("//127.0.0.1:{port}/mcp")];
    // An empty target is the server's own URL and is allowed.
    secure.chain(plain).chain(other).filter(|target| !target.is_empty()).collect()
}

#[tokio::test]
async fn trap_counts_connections() {
    let trap = Trap::set().await;
    let visitor = TcpStream::connect(("127.0.0.1", trap.port)).await.unwrap();
    assert_eq!(trap.visits().await, 1);
    drop(visitor);
    assert_eq!(Trap::set().await.visits().await, 0);
}
