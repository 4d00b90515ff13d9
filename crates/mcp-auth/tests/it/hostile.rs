//! A malicious authorization server: it refers to other servers, changes the registered values, and sends terminal
//! control characters.

use std::sync::Arc;

use mcp_auth::{LoginError, OAuthOptions};
use serde_json::{Value, json};

use crate::support::{Host, Reply, World, authority::Authority, browser, param};

const REGISTER: &str = "POST https://as.test/register";
const TOKEN: &str = "POST https://as.test/token";
const DEVICE: &str = "POST https://as.test/device";
const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\n\u{9b}31m\u{202e}";

fn world() -> Arc<World> {
    Arc::new(World::new())
}

/// The error and its causes, as a user reads them.
fn chain(error: &LoginError) -> String {
    let (mut text, mut cause) = (error.to_string(), std::error::Error::source(error));
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn is_clean(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
}

#[tokio::test]
async fn code_of_one_issuer_is_not_sent_to_another() {
    let world = world();
    // The MCP server names its own issuer, which sends users to the authorization page of the honest one and asks
    // for the code at its own token endpoint.
    let mut evil = Authority::new("https://evil.test");
    evil.metadata["authorization_endpoint"] = "https://as.test/authorize".into();
    world.authorities.lock().unwrap().insert("https://evil.test".into(), evil);
    for document in world.resource().metadata.values_mut() {
        document["authorization_servers"] = json!(["https://evil.test"]);
    }
    // It has registered a client there beforehand.
    world.authority(|honest| {
        honest.clients.insert("planted".into(), None);
    });
    let planted = json!({ "client_id": "planted", "token_endpoint_auth_method": "none" });
    world.script("POST https://evil.test/register", Reply::json(201, &planted));
    let host = Host::new(&world);
    let error = host.auth.login(&browser(&world)).await.unwrap_err();
    assert!(matches!(error, LoginError::WrongIssuer), "{error}");
    assert_eq!(world.asked("GET https://as.test/authorize"), 1, "the user did consent");
    assert_eq!(world.asked("POST https://evil.test/token"), 0);
}

#[tokio::test]
async fn registration_response_does_not_change_redirects_or_endpoints() {
    let world = world();
    world.authority(|authority| {
        authority.clients.insert("changed".into(), None);
    });
    let changed = json!({
        "client_id": "changed", "token_endpoint_auth_method": "none",
        "redirect_uris": ["https://evil.test/callback"],
        "grant_types": ["implicit"], "response_types": ["token"],
        "token_endpoint": "https://evil.test/token",
        "authorization_endpoint": "https://evil.test/authorize",
        "scope": "everything",
    });
    world.script(REGISTER, Reply::json(201, &changed));
    Host::new(&world).call().await.unwrap();
    let (asked, redeemed) = world.look(|authority| {
        (authority.authorizations[0].clone(), authority.token_requests[0].clone())
    });
    for text in [&asked, &redeemed] {
        let redirect = param(text, "redirect_uri").unwrap();
        assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
    }
    assert_eq!(param(&asked, "response_type").as_deref(), Some("code"));
    assert_ne!(param(&asked, "scope").as_deref(), Some("everything"));
    assert!(world.log().iter().all(|line| !line.contains("evil.test")), "{:?}", world.log());
}

#[tokio::test]
async fn text_of_an_authorization_server_is_shown_without_control_characters() {
    let refusal = json!({
        "error": format!("invalid_grant{ESCAPES}"), "error_description": ESCAPES,
        "error_uri": ESCAPES,
    });
    let token = json!({ "access_token": format!("t{ESCAPES}"), "token_type": ESCAPES });
    let client = json!({ "client_id": format!("c{ESCAPES}"), "client_name": ESCAPES });
    let cases: Vec<(&str, u16, Value)> = vec![
        (TOKEN, 400, refusal.clone()),
        (TOKEN, 200, refusal.clone()),
        (TOKEN, 200, token),
        (REGISTER, 400, refusal.clone()),
        (REGISTER, 201, client),
        (DEVICE, 400, refusal.clone()),
        (
            DEVICE,
            200,
            json!({ "user_code": ESCAPES, "verification_uri": ESCAPES, "device_code": "d" }),
        ),
    ];
    for (request, status, body) in cases {
        let world = world();
        world.script(request, Reply::json(status, &body));
        // The server accepts the client id that it issued.
        world.authority(|authority| {
            authority.clients.insert(format!("c{ESCAPES}"), None);
        });
        let host = Host::with(&world, |options: &mut OAuthOptions| {
            if request == DEVICE {
                options.grant = mcp_auth::Grant::DeviceCode;
            }
        });
        // A client id is sent only to the server that issued it.
        if let Err(error) = host.auth.login(&browser(&world)).await {
            assert!(is_clean(&chain(&error)), "{request} {status}: {:?}", chain(&error));
            if let LoginError::Refused { refusal, .. } | LoginError::Denied(refusal) = &error {
                assert!(is_clean(refusal.description.as_deref().unwrap_or_default()));
            }
        }
        if let Err(failure) = host.call().await {
            assert!(is_clean(&failure.message), "{request} {status}: {failure}");
        }
    }
    let documents = ["issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"];
    for name in documents {
        let world = world();
        world.authority(|authority| {
            authority.metadata[name] = format!("https://as.test/{ESCAPES}").into();
        });
        if let Err(error) = Host::new(&world).auth.login(&browser(&world)).await {
            assert!(is_clean(&chain(&error)), "{name}: {:?}", chain(&error));
        }
    }
}

#[tokio::test]
async fn number_of_issuers_tried_is_limited() {
    let world = world();
    let many: Vec<String> = (0..5_000).map(|n| format!("https://as{n}.test")).collect();
    for document in world.resource().metadata.values_mut() {
        document["authorization_servers"] = json!(many);
    }
    let error = Host::new(&world).auth.login(&browser(&world)).await.unwrap_err();
    assert!(matches!(error, LoginError::NoAuthorizationServer), "{error}");
    assert!(world.log().len() < 20, "{}", world.log().len());
}
