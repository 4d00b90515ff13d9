//! Logs in through the login and consent pages of oidc-provider with Chromium.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use mcp_auth::{
    Logout, OAuth, OAuthOptions, OnEvent,
    guard::GuardedClient,
    interact::{LoopbackBrowser, OpenPage},
    store::{StoreMode, Vault},
};
use mcp_client::{Client, ClientOptions};
use mcp_tests::{call, soon};
use mcp_transport::{ErrorClass, Http, HttpClient, HttpOptions, net::TlsOptions};
use serde_json::{Value, json};
use tempfile::tempdir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

/// Time limit for a browser that starts for the first time on this machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/oidc");

/// The folder of the packages, or `None` (a recorded skip) if they or the browser are missing.
pub(crate) fn packages() -> Option<PathBuf> {
    let folder = mcp_skip::kit("MCP_OIDC")?;
    let chromium = chromium();
    if !chromium.exists() {
        let reason = format!("browser not found: {}", chromium.display());
        mcp_skip::skip(&reason, "install `chromium`");
        return None;
    }
    Some(folder)
}

fn chromium() -> PathBuf {
    env::var_os("CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from)
}

fn node(script: &str, packages: &Path) -> Command {
    let mut node = Command::new("node");
    node.arg(format!("{SCRIPTS}/{script}")).arg(packages).kill_on_drop(true);
    node
}

/// Starts the authorization server and the MCP server behind it; both live as long as the child.
pub(crate) async fn servers(packages: &Path) -> (Child, String) {
    let mut node = node("server.mjs", packages);
    let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = soon("the servers", lines.next_line()).await.unwrap().unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    (child, told["resource"].as_str().unwrap().to_owned())
}

/// A user who signs in with Chromium; a picture of the last page is kept. The browser is returned because it may
/// still be running when the login is done.
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

/// A host process with its state in `folder` and no user interaction.
pub(crate) async fn host(server: &str, folder: &Path) -> OAuth {
    let vault = Vault::open(StoreMode::File, folder, OnEvent::default()).await.unwrap();
    let http = Arc::new(GuardedClient::new(&TlsOptions::default()).unwrap());
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
async fn browser_login_allows_a_tool_call() {
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

    // Another process renews the stored login, which invalidates the old refresh token.
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
