//! oidc-provider's own login and consent pages, clicked through by Chromium.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use mcp_auth::{
    Logout, LoopbackBrowser, OAuth, OAuthOptions, OnEvent, OpenPage, ReqwestClient, StoreMode,
    Vault,
};
use mcp_client::{Client, ClientOptions};
use mcp_tests::{call, soon};
use mcp_transport::{ErrorClass, Http, HttpClient, HttpOptions};
use serde_json::{Value, json};
use tempfile::tempdir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

/// A browser that was never started on this machine takes its time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/oidc");

/// Where the packages are, or `None` (said on stderr) where they or the browser are missing.
pub(crate) fn packages() -> Option<PathBuf> {
    let Some(folder) = env::var_os("MCP_OIDC") else {
        eprintln!("skipped: MCP_OIDC is not set; `cargo xtask test` sets it");
        return None;
    };
    let chromium = chromium();
    if !chromium.exists() {
        eprintln!("SKIPPED: there is no browser at {}; install `chromium`", chromium.display());
        return None;
    }
    Some(folder.into())
}

fn chromium() -> PathBuf {
    env::var_os("CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from)
}

fn node(script: &str, packages: &Path) -> Command {
    let mut node = Command::new("node");
    node.arg(format!("{SCRIPTS}/{script}")).arg(packages).kill_on_drop(true);
    node
}

/// The authorization server and the MCP server behind it, for as long as the child lives.
pub(crate) async fn servers(packages: &Path) -> (Child, String) {
    let mut node = node("server.mjs", packages);
    let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = soon("the servers", lines.next_line()).await.unwrap().unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    (child, told["resource"].as_str().unwrap().to_owned())
}

/// A person who signs in with Chromium, and whose last page is kept as a picture. The browser is
/// still at it when the login is done, so it is handed out to be waited for.
pub(crate) fn person(
    packages: &Path,
    picture: &Path,
) -> (LoopbackBrowser, mpsc::UnboundedReceiver<Child>) {
    let (packages, picture) = (packages.to_owned(), picture.to_owned());
    let (opened, browsers) = mpsc::unbounded_channel();
    let open: OpenPage = Arc::new(move |page| {
        let mut browser = node("browser.mjs", &packages);
        let _ = opened.send(browser.arg(page).arg(&picture).stdin(Stdio::null()).spawn()?);
        Ok(())
    });
    (LoopbackBrowser::new().with_opener(open), browsers)
}

/// A process of a host: its state is in `folder`, and it bothers nobody.
pub(crate) async fn host(server: &str, folder: &Path) -> OAuth {
    let vault = Vault::open(StoreMode::File, folder, OnEvent::default()).await.unwrap();
    let http = Arc::new(ReqwestClient::new().unwrap());
    let mut options = OAuthOptions::new(server, Arc::new(vault), http);
    options.hint = "run `mcp login docs`".to_owned();
    OAuth::new(options)
}

async fn connect(server: &str, auth: &OAuth) -> Result<Client, String> {
    let mut options = HttpOptions::new(server);
    options.authorizer = Some(Arc::new(auth.clone()));
    let http = Http::new(HttpClient::new().unwrap(), options);
    let connected = soon("the handshake", Client::connect(&http, ClientOptions::default())).await;
    connected.map_err(|error| {
        assert_eq!(error.class(), ErrorClass::Auth, "{error}");
        let mut told = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            told = format!("{told}: {error}");
            cause = error.source();
        }
        told
    })
}

#[tokio::test]
async fn a_login_in_a_browser_ends_in_a_tool_call() {
    let Some(packages) = packages() else { return };
    let (_servers, server) = servers(&packages).await;
    let state = tempdir().unwrap();
    let pictures = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser-login");
    std::fs::create_dir_all(&pictures).unwrap();
    let picture = pictures.join("done.png");
    let _ = std::fs::remove_file(&picture);

    let auth = host(&server, state.path()).await;
    let told = connect(&server, &auth).await.map(|_| ()).unwrap_err();
    assert!(told.contains("authentication failed") && told.contains("mcp login docs"), "{told}");

    let (person, mut browsers) = person(&packages, &picture);
    timeout(PATIENCE, auth.login(&person)).await.expect("the login took too long").unwrap();
    let mut browser = browsers.try_recv().expect("no page was opened");
    let closed = timeout(PATIENCE, browser.wait()).await.expect("the browser stays open").unwrap();
    assert!(closed.success(), "{closed}");
    let client = connect(&server, &auth).await.unwrap();
    let said = call(&client, "whoami", json!({})).await.text();
    assert!(said.starts_with("ada with mcp:tools"), "{said}");
    assert!(said.contains(r#""tokens":1,"refreshes":0"#), "{said}");
    soon("the end", client.close()).await;

    // Another process renews the login that is stored, and the old refresh token is spent.
    let again = host(&server, state.path()).await;
    let client = connect(&server, &again).await.unwrap();
    let said = call(&client, "whoami", json!({})).await.text();
    assert!(said.contains(r#""tokens":2,"refreshes":1"#), "{said}");
    soon("the end", client.close()).await;

    assert_eq!(again.logout().await.unwrap(), Logout::Revoked);
    let told = connect(&server, &again).await.map(|_| ()).unwrap_err();
    assert!(told.contains("mcp login docs"), "{told}");
    let size = std::fs::metadata(&picture).unwrap().len();
    assert!(size > 1000, "the picture has {size} bytes");
}
