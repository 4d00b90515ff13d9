//! Servers with false, broken or dangerous responses.

use std::sync::Arc;

use mcp_auth::{
    LoginError,
    guard::{Blocked, Zone},
};
use serde_json::json;

use crate::support::{Host, ISSUER, Reply, World, browser};

const PRM: &str = "GET https://mcp.test/.well-known/oauth-protected-resource/mcp";
const META: &str = "GET https://as.test/.well-known/oauth-authorization-server";
const AUTHORIZE: &str = "GET https://as.test/authorize";
const TOKEN: &str = "POST https://as.test/token";

fn world() -> Arc<World> {
    Arc::new(World::new())
}

/// Returns the error of a login that must fail.
async fn refused(world: &Arc<World>) -> LoginError {
    let host = Host::new(world);
    let error = host.auth.login(&browser(world)).await.unwrap_err();
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.starts_with("authentication failed"), "{failure}");
    error
}

#[tokio::test]
async fn metadata_of_another_issuer_is_rejected() {
    for issuer in ["https://evil.test", "https://as.test/", "HTTPS://as.test"] {
        let world = world();
        world.authority(|authority| authority.metadata["issuer"] = issuer.into());
        let error = refused(&world).await;
        assert!(matches!(error, LoginError::IssuerMismatch), "{issuer}: {error}");
        assert_eq!(world.asked(AUTHORIZE) + world.asked("POST https://as.test/register"), 0);
    }
}

#[tokio::test]
async fn metadata_of_another_resource_is_rejected() {
    let world = world();
    for document in world.resource().metadata.values_mut() {
        document["resource"] = "https://other.test/mcp".into();
    }
    assert!(matches!(refused(&world).await, LoginError::ResourceMismatch));
    assert_eq!(world.asked(META), 0);
}

#[tokio::test]
async fn login_without_pkce_is_rejected() {
    for methods in [json!(null), json!(["plain"]), json!([])] {
        let world = world();
        world.authority(|authority| {
            authority.metadata["code_challenge_methods_supported"] = methods.clone();
        });
        assert!(matches!(refused(&world).await, LoginError::NoPkce), "{methods}");
        assert_eq!(world.asked(AUTHORIZE) + world.asked("POST https://as.test/register"), 0);
    }
}

#[tokio::test]
async fn server_without_registration_requires_a_configured_client_id() {
    let world = world();
    world.authority(|authority| authority.metadata["registration_endpoint"] = json!(null));
    let error = refused(&world).await;
    assert!(matches!(error, LoginError::NoClientId), "{error}");
    assert!(error.to_string().ends_with("no client id is configured"), "{error}");
    assert_eq!(world.asked(AUTHORIZE), 0, "the browser was opened");
}

#[tokio::test]
async fn wrong_iss_stops_the_login_before_the_code_is_sent() {
    let cases = [
        (true, None),
        (true, Some("https://evil.test")),
        (false, Some("https://evil.test")),
        (true, Some("https://as.test/")),
    ];
    for (advertised, iss) in cases {
        let world = world();
        world.authority(|authority| {
            let name = "authorization_response_iss_parameter_supported";
            authority.metadata[name] = advertised.into();
            authority.iss = iss.map(str::to_owned);
        });
        let error = refused(&world).await;
        assert!(matches!(error, LoginError::WrongIssuer), "{advertised} {iss:?}: {error}");
        assert!(world.asked(AUTHORIZE) > 0);
        assert_eq!(world.asked(TOKEN), 0);
    }
    let silent = world();
    silent.authority(|authority| {
        authority.metadata["authorization_response_iss_parameter_supported"] = json!(null);
        authority.iss = None;
    });
    Host::new(&silent).call().await.unwrap();
}

#[tokio::test]
async fn redirect_with_a_wrong_state_is_rejected() {
    let world = world();
    let location = "http://127.0.0.1:33418/callback?code=c&state=wrong&iss=https%3A%2F%2Fas.test";
    world.script(AUTHORIZE, Reply::status(302).with("location", location));
    assert!(matches!(refused(&world).await, LoginError::WrongState));
    assert_eq!(world.asked(TOKEN), 0);
}

#[tokio::test]
async fn replayed_code_is_reported_as_refused() {
    let world = world();
    world.script(TOKEN, Reply::json(400, &json!({ "error": "invalid_grant" })));
    let error = refused(&world).await;
    assert!(
        matches!(&error, LoginError::Refused { refusal, .. } if refusal.code == "invalid_grant")
    );
}

#[tokio::test]
async fn oversized_metadata_is_not_read() {
    for url in [PRM, META] {
        let world = world();
        let body = "x".repeat(50 << 20);
        world.script(url, Reply { status: 200, body, ..Reply::default() });
        let error = refused(&world).await;
        assert!(matches!(error, LoginError::Http { .. }), "{error}");
    }
}

#[tokio::test]
async fn redirects_of_documents_are_limited_and_token_requests_follow_none() {
    let world = world();
    let here = META.trim_start_matches("GET ");
    world.script(META, Reply::status(302).with("location", here));
    assert!(matches!(refused(&world).await, LoginError::BadDocument { .. }));
    assert!(world.asked(META) <= 8);

    let world = self::world();
    world.script(TOKEN, Reply::status(307).with("location", "https://evil.test/token"));
    assert!(matches!(refused(&world).await, LoginError::BadDocument { .. }));
    assert_eq!(world.asked("POST https://evil.test/token"), 0);
}

#[tokio::test]
async fn documents_at_blocked_urls_are_rejected_before_a_request() {
    let targets = [
        ("http://169.254.169.254/latest", Blocked::NotEncrypted),
        ("https://as.test@10.0.0.1/", Blocked::Userinfo),
        ("http://as.test/plain", Blocked::NotEncrypted),
        ("file:///etc/passwd", Blocked::NotAUrl),
    ];
    for (target, expected) in targets {
        let world = world();
        world.resource().challenge = format!(r#"Bearer resource_metadata="{target}""#);
        let error = refused(&world).await;
        assert!(
            matches!(error, LoginError::Blocked { why, .. } if why == expected),
            "{target}: {error}"
        );
        assert!(world.log().is_empty(), "{target}: {:?}", world.log());
    }
    let steps = ["authorization_endpoint", "token_endpoint", "registration_endpoint"];
    for step in steps {
        let world = world();
        world.authority(|authority| {
            authority.metadata[step] = "http://192.168.0.1/inside".into();
        });
        let error = refused(&world).await;
        let is_refused =
            matches!(error, LoginError::Blocked { .. } | LoginError::BadDocument { .. });
        assert!(is_refused, "{step}: {error}");
        assert!(world.log().iter().all(|line| !line.contains("192.168")), "{step}");
    }
    let world = world();
    world.script(META, Reply::status(302).with("location", "http://10.0.0.1/"));
    assert!(matches!(refused(&world).await, LoginError::Blocked { .. }));
    let zone = Blocked::Address(Zone::Private).to_string();
    assert!(zone.contains("not public"));
}

#[tokio::test]
async fn html_response_of_an_authorization_server_is_rejected() {
    let html = || Reply { status: 200, body: "<html>login</html>".into(), ..Reply::default() };
    for url in [PRM, META, "POST https://as.test/register", TOKEN] {
        let world = world();
        world.script(url, html());
        let error = refused(&world).await;
        assert!(matches!(error, LoginError::BadDocument { .. }), "{url}: {error}");
        assert!(!format!("{error:?}").contains("html"));
    }
}

#[tokio::test]
async fn unavailable_server_is_not_treated_as_one_without_metadata() {
    for reply in [Reply::status(503), Reply::status(0)] {
        let world = world();
        world.script(PRM, reply);
        let error = refused(&world).await;
        assert_eq!(error.class(), mcp_transport::ErrorClass::Transient, "{error}");
        assert_eq!(world.asked("GET https://mcp.test/.well-known/oauth-authorization-server"), 0);
    }
}

#[tokio::test]
async fn login_pages_with_unsafe_urls_are_not_opened() {
    for page in ["javascript:alert(1)", "data:text/html,x", "http://as.test/authorize", "x"] {
        let world = world();
        world.authority(|authority| authority.metadata["authorization_endpoint"] = page.into());
        assert!(matches!(refused(&world).await, LoginError::BadDocument { .. }), "{page}");
    }
}

#[tokio::test]
async fn token_with_a_line_break_is_rejected() {
    let world = world();
    let body = json!({ "access_token": "a\r\nx: y", "token_type": "Bearer" });
    world.script(TOKEN, Reply::json(200, &body));
    assert!(matches!(refused(&world).await, LoginError::BadDocument { .. }));
}

#[tokio::test]
async fn cancelled_login_is_not_repeated_immediately() {
    let world = world();
    world.script(AUTHORIZE, Reply::status(200));
    let host = Host::new(&world);
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.contains("was not completed"), "{failure}");
    assert_eq!(world.asked(AUTHORIZE), 1);
    assert!(failure.message.contains("mcp login docs") && !failure.message.contains(ISSUER));
}
