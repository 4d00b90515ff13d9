//! Policy is checked against the expanded entry before every connection, with real processes and sockets.

use std::{
    fs,
    path::Path,
    sync::{
        Arc, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcp_bridge::{
    Bridge, BridgeOptions, Logins, LoginsOptions, ServerState, connect::DefaultConnector,
};
use mcp_config::{
    Environment, Layers, ReadOptions, Resolution, Scope, ServerConfig, approval::Admissions, read,
    resolve,
};
use mcp_server::{ServeOptions, ToolServer, http::HttpServeOptions};
use tokio::net::TcpListener;

use super::reached;

/// Resolves the text of a user configuration file.
fn resolved(text: &str, project: &Path) -> (Layers, Resolution) {
    let mut layers = Layers::new();
    layers.push(Scope::User, read(text.as_bytes(), &ReadOptions::new("mcp.json")));
    layers.env = Environment::current().in_workspace(project);
    project.clone_into(&mut layers.project);
    let resolution = resolve(&layers);
    (layers, resolution)
}

/// A bridge with the policy of `text`.
fn bridge(text: &str, project: &Path) -> (Bridge, Resolution) {
    let (layers, resolution) = resolved(text, project);
    let admissions = Arc::new(RwLock::new(Admissions::new(&layers, &resolution)));
    let logins = Logins::new(LoginsOptions::default());
    let connector = DefaultConnector::new()
        .in_workspace(project)
        .identify(Arc::new(logins))
        .admitting(admissions);
    let mut options = BridgeOptions::default();
    options.connector = Arc::new(connector);
    (Bridge::new(options), resolution)
}

/// The entry `srv`, also if it was rejected.
fn entry(resolution: &Resolution) -> ServerConfig {
    let is_meant = |name: &str| name == "srv";
    let mut all = resolution.candidates.iter().map(|candidate| &candidate.entry.config);
    all.find(|config| is_meant(config.name.as_str())).unwrap().clone()
}

/// Counts connections and never answers.
async fn trap() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok(connection) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(connection);
        }
    });
    (port, count)
}

async fn good_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = ToolServer::new(ServeOptions::new("good", "1"));
    tokio::spawn(async move { server.http(HttpServeOptions::default()).serve(listener).await });
    port
}

#[tokio::test]
async fn reconnect_to_a_url_denied_by_policy_opens_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    let ((denied, count), good) = (trap().await, good_server().await);
    let place = folder.path().join("place");
    fs::write(&place, format!("127.0.0.1:{good}")).unwrap();
    let text = format!(
        r#"{{"mcpServers": {{"srv": {{"type": "http", "url": "http://${{file:{}}}/mcp"}}}},
            "policy": {{"deny": [{{"url": "http://127.0.0.1:{denied}/*"}}]}}}}"#,
        place.display()
    );
    let (bridge, resolution) = bridge(&text, folder.path());
    bridge.add_server_as_written(entry(&resolution));
    mcp_tests::soon("the start", bridge.start()).await;
    reached(&bridge, "srv", ServerState::is_connected).await;
    fs::write(&place, format!("127.0.0.1:{denied}")).unwrap();
    bridge.reconnect("srv").unwrap();
    reached(&bridge, "srv", ServerState::is_failed).await;
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn program_denied_by_policy_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("started");
    let text = format!(
        r#"{{"mcpServers": {{"srv": {{"command": "touch", "args": ["{}"]}}}},
            "policy": {{"allow": [{{"command": ["good-server"]}}]}}}}"#,
        mark.display()
    );
    let (bridge, resolution) = bridge(&text, folder.path());
    bridge.add_server_as_written(entry(&resolution));
    mcp_tests::soon("the start", bridge.start()).await;
    reached(&bridge, "srv", ServerState::is_failed).await;
    let problem = bridge.status()[0].problem.clone().unwrap();
    assert!(problem.contains("allowed"), "{problem}");
    assert!(!mark.exists());
}

#[tokio::test]
async fn helper_denied_by_policy_is_not_run_and_its_server_not_contacted() {
    let folder = tempfile::tempdir().unwrap();
    let (mark, (port, count)) = (folder.path().join("helped"), trap().await);
    let text = format!(
        r#"{{"mcpServers": {{"srv": {{"type": "http", "url": "http://127.0.0.1:{port}/mcp",
                "headersHelper": "touch {}"}}}},
            "policy": {{"allow": [{{"url": "http://127.0.0.1:{port}/*"}}]}}}}"#,
        mark.display()
    );
    let (bridge, resolution) = bridge(&text, folder.path());
    bridge.add_server_as_written(entry(&resolution));
    mcp_tests::soon("the start", bridge.start()).await;
    reached(&bridge, "srv", ServerState::is_failed).await;
    assert!(!mark.exists());
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn killed_http_server_is_disconnected_without_a_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = ToolServer::new(ServeOptions::new("mortal", "1"));
    let serving =
        tokio::spawn(async move { server.http(HttpServeOptions::default()).serve(listener).await });
    let mut options = BridgeOptions::default();
    options.ping_remote_every = Some(std::time::Duration::from_millis(50));
    let bridge = Bridge::new(options);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let remote = mcp_config::Transport::Http(mcp_config::Remote::new(url.as_str()));
    bridge.add_server_as_written(ServerConfig::new("srv".parse().unwrap(), remote));
    mcp_tests::soon("the start", bridge.start()).await;
    reached(&bridge, "srv", ServerState::is_connected).await;
    let mut events = bridge.events();
    serving.abort();
    reached(&bridge, "srv", ServerState::is_pending).await;
    let told: Vec<_> = std::iter::from_fn(|| events.try_next()).map(|event| event.name()).collect();
    assert!(told.contains(&"server.disconnected"), "{told:?}");
    assert!(bridge.snapshot().tools().is_empty());
}
