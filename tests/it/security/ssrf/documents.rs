//! URLs in the metadata documents of a login, each replaced by a forbidden target.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex},
};

use mcp_auth::{
    OAuth, OAuthOptions, OnEvent, Secret,
    guard::{Blocked, Guard},
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
    interact::Paste,
    store::Vault,
};
use mcp_transport::BoxFuture;
use serde_json::{Value, json};

use super::FORBIDDEN;

/// The resolver: all names not listed here are on the internet.
fn addresses(name: &str) -> Vec<IpAddr> {
    let all: &[&str] = match name.trim_matches(['[', ']']) {
        "here.test" => &["127.0.0.1"],
        "inside.test" => &["10.0.0.1"],
        "both.test" => &["1.1.1.1", "10.0.0.1"],
        "metadata.test" => &["169.254.169.254"],
        "localhost" => &["127.0.0.1", "::1"],
        literal => match literal.parse() {
            Ok(address) => return vec![address],
            Err(_) => &["1.1.1.1"],
        },
    };
    all.iter().map(|address| address.parse().unwrap()).collect()
}

/// Checks requests as the real client does, records allowed connections, and answers from a script.
#[derive(Debug, Default)]
struct Judge {
    answers: HashMap<String, Value>,
    moved: HashMap<String, String>,
    connected: Mutex<Vec<String>>,
}

impl Judge {
    fn check(guard: &Guard, url: &str) -> Result<(), Blocked> {
        let url = guard.check_url(url)?;
        let host = url.host_str().unwrap_or_default();
        let home: Vec<IpAddr> = guard.home().map(|(name, _)| addresses(name)).unwrap_or_default();
        if guard.home().is_some_and(|(name, _)| name == host) {
            return guard.check_home(&home);
        }
        addresses(host).into_iter().try_for_each(|address| guard.check_address(address, &home))
    }
}

impl HttpClient for Judge {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        Box::pin(async move {
            Self::check(&request.guard, &request.url).map_err(HttpError::Blocked)?;
            self.connected.lock().unwrap().push(request.url.clone());
            let header = |name: &str, value: String| vec![(name.to_owned(), value)];
            if let Some(to) = self.moved.get(&request.url) {
                return Ok(HttpResponse::new(302, header("location", to.clone()), Vec::new()));
            }
            if request.url == SERVER {
                let challenge = self.answers.get("challenge").and_then(Value::as_str);
                let challenge = challenge.unwrap_or("Bearer").to_owned();
                return Ok(HttpResponse::new(401, header("www-authenticate", challenge), vec![]));
            }
            Ok(match self.answers.get(&request.url) {
                Some(answer) => HttpResponse::new(200, vec![], answer.to_string().into_bytes()),
                None => HttpResponse::new(404, vec![], vec![]),
            })
        })
    }
}

const SERVER: &str = "https://mcp.test/mcp";
const PRM: &str = "https://mcp.test/.well-known/oauth-protected-resource/mcp";
const META: &str = "https://as.test/.well-known/oauth-authorization-server";

/// The field that names the URL.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Named {
    ResourceMetadata,
    MovedResourceMetadata,
    AuthorizationServer,
    MovedServerMetadata,
    Registration,
    Token,
    Login,
}

const ALL: [Named; 7] = [
    Named::ResourceMetadata,
    Named::MovedResourceMetadata,
    Named::AuthorizationServer,
    Named::MovedServerMetadata,
    Named::Registration,
    Named::Token,
    Named::Login,
];

/// A login in which all documents are correct except for one URL.
fn world(named: Named, target: &str) -> Judge {
    let mut judge = Judge::default();
    let mut server = json!({
        "issuer": "https://as.test",
        "authorization_endpoint": "https://as.test/authorize",
        "token_endpoint": "https://as.test/token",
        "registration_endpoint": "https://as.test/register",
        "code_challenge_methods_supported": ["S256"],
    });
    let mut issuer = "https://as.test";
    match named {
        Named::ResourceMetadata => {
            let challenge = format!("Bearer resource_metadata=\"{target}\"");
            judge.answers.insert("challenge".into(), challenge.into());
        }
        Named::MovedResourceMetadata => {
            judge.moved.insert(PRM.into(), target.into());
        }
        Named::AuthorizationServer => issuer = target,
        Named::MovedServerMetadata => {
            judge.moved.insert(META.into(), target.into());
        }
        Named::Registration => server["registration_endpoint"] = target.into(),
        Named::Token => server["token_endpoint"] = target.into(),
        Named::Login => server["authorization_endpoint"] = target.into(),
    }
    let resource = json!({ "resource": SERVER, "authorization_servers": [issuer] });
    judge.answers.insert(PRM.into(), resource);
    judge.answers.insert(META.into(), server);
    let client = json!({ "client_id": "us", "token_endpoint_auth_method": "none" });
    judge.answers.insert("https://as.test/register".into(), client);
    judge
}

/// Logs in. Returns the recorded connections and the URLs shown to the user.
async fn log_in(judge: Judge) -> (Vec<String>, Vec<String>) {
    let (judge, shown) = (Arc::new(judge), Arc::new(Mutex::new(Vec::new())));
    let vault = Arc::new(Vault::in_memory(OnEvent::default()));
    let auth = OAuth::new(OAuthOptions::new(SERVER, vault, judge.clone()));
    let pages = shown.clone();
    let person = Paste::new(Arc::new(move |url: String| {
        pages.lock().unwrap().push(url.clone());
        Box::pin(async move {
            let state = url.split(['?', '&']).find(|pair| pair.starts_with("state="));
            let redirect = "http://127.0.0.1:33418/callback";
            Ok(Secret::new(format!("{redirect}?code=c&{}", state.unwrap_or_default())))
        })
    }));
    // No token is ever issued in this setup.
    mcp_tests::soon("the login", auth.login(&person)).await.unwrap_err();
    let connected = judge.connected.lock().unwrap().clone();
    let shown = shown.lock().unwrap().clone();
    (connected, shown)
}

#[tokio::test]
async fn login_documents_do_not_lead_to_forbidden_targets() {
    for named in ALL {
        let right = log_in(world(named, "https://third.test/x")).await;
        match named {
            Named::Login => assert!(right.1[0].starts_with("https://third.test/x?"), "{right:?}"),
            // A public address over TLS, as in every login.
            _ => assert!(
                right.0.iter().any(|url| url.starts_with("https://third.test/")),
                "{named:?}: {right:?}"
            ),
        }
        for target in FORBIDDEN {
            let target = target.replace("PORT", "8443");
            let (connected, shown) = log_in(world(named, &target)).await;
            let ours = ["https://mcp.test/", "https://as.test/"];
            let strange = connected.iter().find(|url| !ours.iter().any(|us| url.starts_with(us)));
            assert_eq!(strange, None, "{named:?} {target}");
            // The user's browser may be sent to any address, but not over plain HTTP.
            let is_page = |page: &&String| named == Named::Login && page.starts_with("https://");
            let is_local = |page: &&String| page.starts_with("http://127.0.0.1:");
            let strange = shown.iter().find(|page| {
                !page.starts_with("https://as.test/authorize?") && !is_page(page) && !is_local(page)
            });
            assert_eq!(strange, None, "{named:?} {target}");
        }
    }
}
