//! Logins to a real HTTP server, with a simulated authorization server.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_auth::{
    InteractError, Secret,
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
    interact::{DeviceCode, Interact, LoopbackBrowser, Redirect, RedirectUri, Visit},
    store::StoreMode,
};
use mcp_bridge::{
    Bridge, BridgeOptions, CallContext, Logins, LoginsOptions, ServerConfig, ServerState, Tool,
    ToolOutcome, ToolSpec, tool::BoxFuture,
};
use mcp_config::{
    Remote, SecretText, Transport,
    model::{AuthKind, OAuth},
};
use mcp_server::{ServeOptions, ToolServer, http::HttpServeOptions};
use serde_json::json;

use crate::support::{args, names};

const TOKEN: &str = "canary-access-token";
const REDIRECT: &str = "http://127.0.0.1:9/callback";

struct Hello(ToolSpec);

impl Tool for Hello {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: mcp_bridge::RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async { ToolOutcome::text("hello") })
    }
}

/// An MCP server that requires [`TOKEN`]. Returns its URL.
async fn server() -> String {
    let server = ToolServer::new(ServeOptions::new("s", "1"));
    server.add_tool(Arc::new(Hello(ToolSpec::new("hello", "Says hello."))));
    let mut options = HttpServeOptions::default();
    options.bearer = Some(TOKEN.parse().unwrap());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { server.http(options).serve(listener).await });
    url
}

/// The simulated authorization server, and the user who logs in there.
#[derive(Clone, Debug, Default)]
struct World(Arc<State>);

#[derive(Debug, Default)]
struct State {
    logins: AtomicUsize,
    tokens: AtomicUsize,
    revoked: Mutex<Vec<String>>,
    /// The requests of logins with their bodies, and the pages that were opened.
    asked: Mutex<Vec<String>>,
}

impl World {
    fn answer(&self, request: &HttpRequest) -> (u16, serde_json::Value) {
        let (base, path) = request.url.split_at(request.url.find("/mcp").unwrap_or_else(|| {
            request.url.match_indices('/').nth(2).map_or(request.url.len(), |(at, _)| at)
        }));
        let (base, path) = match base.find("/.well-known") {
            Some(at) => request.url.split_at(at),
            None => (base, path),
        };
        match path {
            "/mcp" => (401, json!({})),
            "/.well-known/oauth-protected-resource/mcp" => {
                (200, json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
            }
            "/.well-known/oauth-authorization-server" => (
                200,
                json!({
                    "issuer": base,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"),
                    "registration_endpoint": format!("{base}/register"),
                    "revocation_endpoint": format!("{base}/revoke"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                }),
            ),
            "/register" => (201, json!({"client_id": "us", "redirect_uris": [REDIRECT]})),
            "/token" => {
                let nth = self.0.tokens.fetch_add(1, Ordering::Relaxed);
                let refresh = format!("canary-refresh-{nth}");
                (
                    200,
                    json!({"access_token": TOKEN, "token_type": "Bearer", "refresh_token": refresh, "expires_in": 3600}),
                )
            }
            "/revoke" => {
                self.0.revoked.lock().unwrap().push(request.body.expose().to_owned());
                (200, json!({}))
            }
            _ => (404, json!({})),
        }
    }

    fn tokens(&self) -> usize {
        self.0.tokens.load(Ordering::Relaxed)
    }

    /// Takes the recorded requests, one per line.
    fn asked(&self) -> String {
        std::mem::take(&mut *self.0.asked.lock().unwrap()).join("\n")
    }

    fn logins(&self) -> usize {
        self.0.logins.load(Ordering::Relaxed)
    }

    /// The logins of one host, standing in for a separate process.
    fn host(&self, folder: &Path) -> Logins {
        let mut options = LoginsOptions::in_folder(folder);
        options.store = StoreMode::File;
        options.http = Some(Arc::new(self.clone()));
        let person = Arc::new(self.clone());
        options.interact = Some(Arc::new(move |_| person.clone()));
        Logins::new(options)
    }
}

impl HttpClient for World {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        let asked = format!("{} {} {}", request.method, request.url, request.body.expose());
        self.0.asked.lock().unwrap().push(asked);
        let (status, body) = self.answer(&request);
        let kind = ("content-type".to_owned(), "application/json".to_owned());
        let response = HttpResponse::new(status, vec![kind], body.to_string().into_bytes());
        Box::pin(async { Ok(response) })
    }
}

impl Interact for World {
    fn prepare<'a>(
        &'a self,
        fixed: Option<&'a RedirectUri>,
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, InteractError>> {
        self.0.logins.fetch_add(1, Ordering::Relaxed);
        let uri = fixed.map_or(REDIRECT, RedirectUri::as_str).to_owned();
        let agrees = Agrees { uri, world: self.clone() };
        Box::pin(async { Ok(Box::new(agrees) as Box<dyn Redirect>) })
    }

    fn show_code<'a>(&'a self, _: &'a DeviceCode) -> BoxFuture<'a, Result<(), InteractError>> {
        Box::pin(async { Ok(()) })
    }
}

/// A user who confirms every page.
struct Agrees {
    uri: String,
    world: World,
}

impl Redirect for Agrees {
    fn uri(&self) -> &str {
        &self.uri
    }

    fn visit(self: Box<Self>, visit: Visit<'_>) -> BoxFuture<'_, Result<Secret, InteractError>> {
        let state = visit.url.split(['?', '&']).find_map(|pair| pair.strip_prefix("state="));
        let back = format!("{}?code=c0de&state={}", self.uri, state.unwrap());
        self.world.0.asked.lock().unwrap().push(format!("OPEN {}", visit.url));
        Box::pin(async move { Ok(Secret::new(back)) })
    }
}

fn config(url: &str) -> ServerConfig {
    let mut config = ServerConfig::new("docs".parse().unwrap(), Transport::Http(Remote::new(url)));
    config.trust = true;
    config
}

async fn bridge(logins: &Logins, config: ServerConfig) -> Bridge {
    let bridge = Bridge::new(BridgeOptions::with_logins(logins));
    bridge.add_server_as_written(config);
    bridge.start().await;
    bridge
}

fn state(bridge: &Bridge) -> ServerState {
    bridge.status()[0].state
}

async fn connected(bridge: &Bridge) {
    let up = bridge.wait_for("docs", |status| status.state.is_connected());
    tokio::time::timeout(Duration::from_secs(60), up).await.unwrap().unwrap();
}

#[tokio::test]
async fn login_is_shared_by_hosts_until_logout() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let (here, there) = (world.host(folder.path()), world.host(folder.path()));
    let one = bridge(&here, config(&url)).await;
    assert_eq!(state(&one), ServerState::NeedsLogin);
    assert_eq!(names(&one), ["mcp__docs__authenticate"]);

    // A second host knows at once, without running a task or sending a request.
    let two = Bridge::new(BridgeOptions::with_logins(&there));
    two.add_server_as_written(config(&url));
    assert_eq!(state(&two), ServerState::NeedsLogin);
    assert_eq!(names(&two), ["mcp__docs__authenticate"]);

    let outcome = one.call("mcp__docs__authenticate", args(&json!({})), CallContext::default());
    let text = outcome.await.text_content();
    assert_eq!(text, "logged in to docs; its tools: mcp__docs__hello");
    let outcome = one.call("mcp__docs__hello", args(&json!({})), CallContext::default()).await;
    assert_eq!(outcome.text_content(), "hello");
    assert_eq!((world.logins(), world.tokens()), (1, 1));

    // The login is shared, so a third host needs no login.
    let three = bridge(&world.host(folder.path()), config(&url)).await;
    assert_eq!(state(&three), ServerState::Connected);
    two.reconnect("docs").unwrap();
    connected(&two).await;
    assert_eq!(world.logins(), 1);

    one.logout("docs").await.unwrap();
    let out = one.wait_for("docs", |status| status.state.needs_login()).await;
    assert!(out.is_some());
    assert_eq!(names(&one), ["mcp__docs__authenticate"]);
    let revoked = world.0.revoked.lock().unwrap().join(" ");
    assert!(revoked.contains("canary-refresh"), "{revoked}");
    assert!(!here.oauth(&config(&url)).unwrap().is_logged_in().await.unwrap());
}

#[tokio::test]
async fn token_is_reused_after_a_reconnect() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let logins = world.host(folder.path());
    let bridge = bridge(&logins, config(&url)).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    bridge.login("docs", Arc::new(move |text| tell.lock().unwrap().push(text))).await.unwrap();
    connected(&bridge).await;
    for _ in 0..5 {
        let before = bridge.status()[0].clone();
        bridge.reconnect("docs").unwrap();
        let gone = bridge.wait_for("docs", |status| status.state != before.state);
        tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap().unwrap();
        connected(&bridge).await;
    }
    assert_eq!(world.tokens(), 1, "a reconnect does not use a refresh token");
}

#[tokio::test]
async fn configured_headers_replace_oauth_unless_requested() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let logins = world.host(folder.path());
    let with = |value: &str| {
        let mut remote = Remote::new(url.as_str());
        remote.headers.insert("Authorization", SecretText::parse(value));
        let mut config = config(&url);
        config.transport = Transport::Http(remote);
        config
    };
    assert!(logins.oauth(&with("Bearer x")).is_none());
    let right = bridge(&logins, with(&format!("Bearer {TOKEN}"))).await;
    assert_eq!(state(&right), ServerState::Connected);
    let wrong = bridge(&logins, with("Bearer canary-wrong")).await;
    assert_eq!(state(&wrong), ServerState::NeedsLogin);
    let problem = wrong.login("docs", Arc::new(|_| {})).await.unwrap_err();
    let problem = problem.report();
    assert!(problem.contains("set its credentials in the configuration"), "{problem}");
    assert!(!format!("{:?} {:?}", wrong.status(), wrong.explain("docs")).contains("canary"));
    // A refusal of a configured header is not remembered, so a corrected entry works at once.
    let fixed = bridge(&logins, with(&format!("Bearer {TOKEN}"))).await;
    assert_eq!(state(&fixed), ServerState::Connected);
    let mut both = with("Bearer old");
    both.auth = Some(AuthKind::OAuth);
    assert!(logins.oauth(&both).is_some());
    let both = bridge(&logins, both).await;
    both.login("docs", Arc::new(|_| {})).await.unwrap();
    connected(&both).await;
}

#[cfg(unix)]
#[tokio::test]
async fn headers_helper_provides_headers() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let script = folder.path().join("headers.json");
    std::fs::write(&script, json!({"Authorization": format!("Bearer {TOKEN}")}).to_string())
        .unwrap();
    let mut remote = Remote::new(url.as_str());
    remote.headers_helper = Some(format!("cat {}", script.display()).as_str().into());
    let mut config = config(&url);
    config.transport = Transport::Http(remote);
    let bridge = bridge(&world.host(folder.path()), config).await;
    assert_eq!(state(&bridge), ServerState::Connected);
}

/// Cargo sets `CARGO_*` for every test. The helper sees only the variables that its entry names, and runs in
/// the project.
#[cfg(unix)]
#[tokio::test]
async fn headers_helper_gets_only_named_variables_and_runs_in_the_project() {
    use std::os::unix::fs::PermissionsExt as _;

    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let project = folder.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let helper = project.join("helper");
    let script = format!(
        "#!/bin/sh\n[ -z \"$CARGO_MANIFEST_DIR\" ] && [ -n \"$CARGO_PKG_NAME\" ] && [ \"$GIVEN\" = 1 ] &&\n\
         [ -x ./helper ] && echo '{{\"Authorization\":\"Bearer {TOKEN}\"}}'\n"
    );
    std::fs::write(&helper, script).unwrap();
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut remote = Remote::new(url.as_str());
    remote.headers_helper = Some("./helper".into());
    remote.env = [("GIVEN", "1".into())].into_iter().collect();
    remote.env_pass = vec!["CARGO_PKG_NAME".into()];
    let mut config = config(&url);
    config.transport = Transport::Http(remote);
    let mut options = LoginsOptions::in_folder(folder.path());
    options.store = StoreMode::File;
    options.http = Some(Arc::new(world));
    options.project = Some(project);
    let bridge = bridge(&Logins::new(options), config).await;
    assert_eq!(state(&bridge), ServerState::Connected);
}

/// A configuration with these OAuth settings.
fn with_oauth(url: &str, change: impl FnOnce(&mut OAuth)) -> ServerConfig {
    let mut oauth = OAuth::default();
    oauth.client_id = Some("known".into());
    change(&mut oauth);
    let mut remote = Remote::new(url);
    remote.oauth = Some(Box::new(oauth));
    let mut config = config(url);
    config.transport = Transport::Http(remote);
    config
}

#[tokio::test]
async fn all_oauth_settings_take_effect() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let base = url.trim_end_matches("/mcp").to_owned();
    let text = |path: &str| Some(format!("{base}{path}").as_str().into());
    let described = with_oauth(&url, |oauth| {
        oauth.metadata_url = text("/.well-known/oauth-authorization-server");
        oauth.scopes = vec!["read".into()];
        oauth.resource = Some("api://known".into());
        oauth.redirect_uri = Some("https://example.com/shows-its-address".into());
    });
    let fixed = with_oauth(&url, |oauth| {
        oauth.authorization_url = text("/authorize");
        oauth.token_url = text("/token");
        oauth.redirect_uri = Some("http://localhost:1455/back".into());
    });
    for (config, said, silent) in [
        (
            described,
            vec![
                "client_id=known",
                "scope=read",
                "resource=api%3A%2F%2Fknown",
                "redirect_uri=https%3A%2F%2Fexample.com%2Fshows-its-address",
            ],
            vec!["/register"],
        ),
        (
            fixed,
            vec!["client_id=known", "redirect_uri=http%3A%2F%2Flocalhost%3A1455%2Fback"],
            vec!["/register", "/.well-known"],
        ),
    ] {
        let bridge = bridge(&world.host(folder.path()), config).await;
        bridge.login("docs", Arc::new(|_| {})).await.unwrap();
        connected(&bridge).await;
        let asked = world.asked();
        let page = asked.lines().find(|line| line.starts_with("OPEN ")).unwrap();
        for said in said {
            assert!(page.contains(said), "{said}: {page}");
        }
        for silent in silent {
            assert!(!asked.contains(silent), "{silent}: {asked}");
        }
    }
}

#[tokio::test]
async fn client_credentials_login_needs_no_user() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let token = url.replace("/mcp", "/token");
    let config = with_oauth(&url, |oauth| {
        oauth.client_secret = Some(SecretText::parse("canary-secret"));
        oauth.token_url = Some(token.as_str().into());
    });
    let bridge = bridge(&world.host(folder.path()), config).await;
    connected(&bridge).await;
    assert_eq!((world.logins(), world.tokens()), (0, 1), "no user interaction");
    assert!(world.asked().contains("grant_type=client_credentials"));
}

#[tokio::test]
async fn unusable_oauth_setting_is_named_in_the_error() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let logins = world.host(folder.path());
    let page = with_oauth(&url, |oauth| oauth.authorization_url = Some("javascript:x".into()));
    let bridge = bridge(&logins, page).await;
    let told = bridge.login("docs", Arc::new(|_| {})).await.unwrap_err().report();
    assert!(told.contains("the configured authorization URL"), "{told}");
    let away = |oauth: &mut OAuth| oauth.redirect_uri = Some("https://example.com/x".into());
    let login = logins.oauth(&with_oauth(&url, away)).unwrap();
    let told = login.login(&LoopbackBrowser::new()).await.unwrap_err();
    let why = std::error::Error::source(&told).unwrap().to_string();
    assert!(why.contains("paste the"), "{why}");
}

#[tokio::test]
async fn refused_header_is_remembered_by_all_hosts_until_it_changes() {
    let (world, folder, url) = (World::default(), tempfile::tempdir().unwrap(), server().await);
    let with_key = |key: &str| {
        let mut remote = Remote::new(url.as_str());
        let value = SecretText::parse(&format!("Bearer {key}"));
        remote.headers.insert("Authorization", value);
        let mut config = config(&url);
        config.transport = Transport::Http(remote);
        config
    };
    let one = bridge(&world.host(folder.path()), with_key("wrong")).await;
    assert_eq!(state(&one), ServerState::NeedsLogin);
    assert!(names(&one).is_empty(), "a login tool would always fail");
    let step = one.explain("docs").unwrap().next_step;
    assert_eq!(step, "set the header `Authorization` in its configuration entry");

    // A second host knows at once, without a request.
    let two = Bridge::new(BridgeOptions::with_logins(&world.host(folder.path())));
    two.add_server_as_written(with_key("wrong"));
    assert_eq!(state(&two), ServerState::NeedsLogin);
    let called = two.call("mcp__docs__hello", args(&json!({})), CallContext::default()).await;
    assert!(called.is_error);

    let three = bridge(&world.host(folder.path()), with_key(TOKEN)).await;
    assert_eq!(state(&three), ServerState::Connected);
}
