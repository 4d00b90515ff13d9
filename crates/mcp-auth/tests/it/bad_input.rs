//! Servers that lie, break, or lead somewhere they should not.

use std::sync::Arc;

use mcp_auth::{Blocked, LoginError, Zone};
use serde_json::json;

use crate::support::{Host, ISSUER, Reply, World, browser};

const PRM: &str = "GET https://mcp.test/.well-known/oauth-protected-resource/mcp";
const META: &str = "GET https://as.test/.well-known/oauth-authorization-server";
const AUTHORIZE: &str = "GET https://as.test/authorize";
const TOKEN: &str = "POST https://as.test/token";

fn world() -> Arc<World> {
    Arc::new(World::new())
}

/// Tries to log in, and returns why it failed.
async fn refused(world: &Arc<World>) -> LoginError {
    let host = Host::new(world);
    let error = host.auth.login(&browser(world)).await.unwrap_err();
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.starts_with("authentication failed"), "{failure}");
    error
}

#[tokio::test]
async fn a_mismatched_issuer_is_not_used() {
    for issuer in ["https://evil.test", "https://as.test/", "HTTPS://as.test"] {
        let world = world();
        world.authority(|authority| authority.metadata["issuer"] = issuer.into());
        let error = refused(&world).await;
        assert!(matches!(error, LoginError::IssuerMismatch), "{issuer}: {error}");
        assert_eq!(world.asked(AUTHORIZE) + world.asked("POST https://as.test/register"), 0);
    }
}

#[tokio::test]
async fn a_resource_that_is_somebody_else_is_not_logged_in_to() {
    let world = world();
    for document in world.resource().metadata.values_mut() {
        document["resource"] = "https://other.test/mcp".into();
    }
    assert!(matches!(refused(&world).await, LoginError::ResourceMismatch));
    assert_eq!(world.asked(META), 0);
}

#[tokio::test]
async fn no_pkce_no_login() {
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
async fn a_server_that_registers_nobody_says_what_has_to_be_configured() {
    let world = world();
    world.authority(|authority| authority.metadata["registration_endpoint"] = json!(null));
    let error = refused(&world).await;
    assert!(matches!(error, LoginError::NoClientId), "{error}");
    assert!(error.to_string().ends_with("no client id is configured"), "{error}");
    assert_eq!(world.asked(AUTHORIZE), 0, "nobody is sent to a page in vain");
}

#[tokio::test]
async fn a_wrong_iss_stops_the_login_before_the_code_is_spent() {
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
async fn a_wrong_state_is_not_ours() {
    let world = world();
    let location = "http://127.0.0.1:33418/callback?code=c&state=wrong&iss=https%3A%2F%2Fas.test";
    world.script(AUTHORIZE, Reply::status(302).with("location", location));
    assert!(matches!(refused(&world).await, LoginError::WrongState));
    assert_eq!(world.asked(TOKEN), 0);
}

#[tokio::test]
async fn a_replayed_code_is_refused_by_the_server_and_told() {
    let world = world();
    world.script(TOKEN, Reply::json(400, &json!({ "error": "invalid_grant" })));
    let error = refused(&world).await;
    assert!(
        matches!(&error, LoginError::Refused { refusal, .. } if refusal.code == "invalid_grant")
    );
}

#[tokio::test]
async fn metadata_of_fifty_megabytes_is_not_read() {
    for url in [PRM, META] {
        let world = world();
        let body = "x".repeat(50 << 20);
        world.script(url, Reply { status: 200, body, ..Reply::default() });
        let error = refused(&world).await;
        assert!(matches!(error, LoginError::Http { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_loop_has_an_end_and_a_token_request_follows_nothing() {
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
async fn documents_that_lead_inside_are_refused_before_anything_is_sent() {
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
async fn an_authorization_server_that_answers_html_is_not_understood() {
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
async fn a_server_that_is_down_is_not_taken_for_an_old_one() {
    for reply in [Reply::status(503), Reply::status(0)] {
        let world = world();
        world.script(PRM, reply);
        let error = refused(&world).await;
        assert_eq!(error.class(), mcp_transport::ErrorClass::Transient, "{error}");
        assert_eq!(world.asked("GET https://mcp.test/.well-known/oauth-authorization-server"), 0);
    }
}

#[tokio::test]
async fn login_pages_that_are_no_pages_are_not_opened() {
    for page in ["javascript:alert(1)", "data:text/html,x", "http://as.test/authorize", "x"] {
        let world = world();
        world.authority(|authority| authority.metadata["authorization_endpoint"] = page.into());
        assert!(matches!(refused(&world).await, LoginError::BadDocument { .. }), "{page}");
    }
}

#[tokio::test]
async fn a_token_that_would_break_a_header_is_refused() {
    let world = world();
    let body = json!({ "access_token": "a\r\nx: y", "token_type": "Bearer" });
    world.script(TOKEN, Reply::json(200, &body));
    assert!(matches!(refused(&world).await, LoginError::BadDocument { .. }));
}

#[tokio::test]
async fn a_person_who_gives_up_is_not_asked_again_at_once() {
    let world = world();
    world.script(AUTHORIZE, Reply::status(200));
    let host = Host::new(&world);
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.contains("was not completed"), "{failure}");
    assert_eq!(world.asked(AUTHORIZE), 1);
    assert!(failure.message.contains("mcp login docs") && !failure.message.contains(ISSUER));
}
