//! The authorization code flow: where it looks, what it asks for, who it is.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use mcp_auth::{
    ClientProof, InteractError, LoginError, Logout, OAuthOptions, Paste, PreRegistered, Secret,
    Source, StaticAuth,
};
use mcp_transport::{Authorize as _, ErrorClass, Target};
use serde_json::json;

use crate::support::{
    Count, Host, ISSUER, Reply, SERVER, World, authority::Authority, browser, param,
};

const PRM: &str = "https://mcp.test/.well-known/oauth-protected-resource";
const META: &str = "https://as.test/.well-known/oauth-authorization-server";

fn world() -> Arc<World> {
    Arc::new(World::new())
}

fn scopes(world: &World) -> Vec<String> {
    let scope = |url: &String| param(url, "scope").unwrap_or_default();
    world.look(|authority| authority.authorizations.iter().map(scope).collect())
}

#[tokio::test]
async fn a_refused_request_ends_in_a_login_and_the_next_one_needs_none() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    host.call().await.unwrap();
    assert_eq!(
        world.log(),
        [
            format!("GET {PRM}/mcp"),
            format!("GET {META}"),
            "POST https://as.test/register".to_owned(),
            "GET https://as.test/authorize".to_owned(),
            "POST https://as.test/token".to_owned(),
        ]
    );
    // The same `resource` in both requests, as the metadata has it.
    world.look(|authority| {
        assert_eq!(param(&authority.authorizations[0], "resource").as_deref(), Some(SERVER));
    });
}

#[tokio::test]
async fn without_a_hint_the_well_known_places_are_tried_in_order() {
    let world = world();
    {
        let mut resource = world.resource();
        resource.challenge = "Bearer".into();
        let document = json!({ "resource": "https://mcp.test", "authorization_servers": [ISSUER] });
        resource.metadata.clear();
        resource.metadata.insert("/.well-known/oauth-protected-resource".into(), document);
    }
    world.authority(|authority| {
        authority.metadata_path = "/.well-known/openid-configuration".into();
        authority.resource = "https://mcp.test".into();
    });
    Host::new(&world).call().await.unwrap();
    let oidc = "GET https://as.test/.well-known/openid-configuration";
    let asked =
        [format!("GET {PRM}/mcp"), format!("GET {PRM}"), format!("GET {META}"), oidc.into()];
    assert_eq!(world.log()[..4], asked);
    world.look(|authority| {
        // The bare origin, without the slash that a URL type would add.
        let resource = param(&authority.authorizations[0], "resource");
        assert_eq!(resource.as_deref(), Some("https://mcp.test"));
    });
}

#[tokio::test]
async fn without_any_metadata_the_old_revision_is_followed() {
    let world = world();
    world.resource().challenge = "Bearer".into();
    world.resource().metadata.clear();
    let strict = Host::with(&world, |options| options.legacy = false);
    let failure = strict.call().await.unwrap_err();
    assert!(failure.message.contains("does not say where"), "{failure}");

    let mut old = Authority::new("https://mcp.test");
    old.metadata_path = "/nowhere".into();
    old.iss = None;
    world.authorities.lock().unwrap().insert("https://mcp.test".into(), old);
    world.resource().trusts.insert("https://mcp.test".into());
    Host::new(&world).call().await.unwrap();
    let log = world.log();
    let ends = log.len() - 3;
    assert_eq!(
        log[ends..],
        [
            "POST https://mcp.test/register",
            "GET https://mcp.test/authorize",
            "POST https://mcp.test/token"
        ]
    );
}

#[tokio::test]
async fn a_given_client_comes_first_then_a_document_then_a_registration() {
    let world = world();
    world.authority(|authority| {
        authority.metadata["client_id_metadata_document_supported"] = true.into();
        authority.clients.insert("https://host.test/client.json".into(), None);
        authority.clients.insert("given".into(), None);
    });
    let document = Some("https://host.test/client.json".to_owned());
    let given = PreRegistered::new("given", ClientProof::None);
    let host = Host::with(&world, |options| {
        options.client_metadata_url.clone_from(&document);
        options.client = Some(given);
    });
    host.call().await.unwrap();
    Host::with(&world, |options| options.client_metadata_url.clone_from(&document))
        .call()
        .await
        .unwrap();
    Host::new(&world).call().await.unwrap();
    world.look(|authority| {
        let ids = authority.authorizations.iter().map(|url| param(url, "client_id").unwrap());
        let ids: Vec<String> = ids.collect();
        assert_eq!(ids[..2], ["given", "https://host.test/client.json"]);
        assert!(ids[2].starts_with("client-"));
        let grants = &authority.registrations[0]["grant_types"];
        assert_eq!(*grants, json!(["authorization_code", "refresh_token"]));
    });
}

#[tokio::test]
async fn each_method_of_client_authentication_is_used_as_it_is_offered() {
    for method in ["none", "client_secret_basic", "client_secret_post"] {
        let world = world();
        world.authority(|authority| {
            authority.metadata["token_endpoint_auth_methods_supported"] = json!([method]);
            authority.auth_method = method;
        });
        Host::new(&world).call().await.unwrap();

        if method != "none" {
            world.authority(|authority| {
                authority.clients.insert("given".into(), Some("s e:c%".into()));
            });
            let proof = ClientProof::Secret(Source::Value(Secret::new("s e:c%")));
            let given = Some(PreRegistered::new("given", proof));
            Host::with(&world, |options| options.client = given).call().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_registration_serves_every_server_of_its_issuer_and_only_its_redirect() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    host.auth.logout().await.unwrap();
    host.twin(|_| {}).call().await.unwrap();
    assert_eq!(world.look(|authority| authority.registrations.len()), 1);
    let elsewhere = Arc::new(browser(&world).with_redirect("http://127.0.0.1:1/other"));
    host.auth.logout().await.unwrap();
    host.twin(|options| options.interact = Some(elsewhere)).call().await.unwrap();
    assert_eq!(world.look(|authority| authority.registrations.len()), 2);
}

#[tokio::test]
async fn scopes_come_from_the_challenge_then_from_the_resource_then_from_nowhere() {
    let world = world();
    Host::new(&world).call().await.unwrap();
    for document in world.resource().metadata.values_mut() {
        document["scopes_supported"] = json!(["a", "b"]);
    }
    Host::new(&world).call().await.unwrap();
    world.resource().challenge.push_str(r#", scope="x""#);
    Host::new(&world).call().await.unwrap();
    world.authority(|authority| authority.metadata["scopes_supported"] = json!(["offline_access"]));
    Host::new(&world).call().await.unwrap();
    assert_eq!(scopes(&world), ["", "a b", "x", "x offline_access"]);
    let sent = world.look(|authority| authority.authorizations[0].contains("scope="));
    assert!(!sent, "nothing to ask for is not the same as asking for nothing");
}

#[tokio::test]
async fn a_step_up_asks_for_the_old_and_the_new() {
    let world = world();
    world.resource().challenge.push_str(r#", scope="basic""#);
    world.resource().needs.insert("write", "write");
    let host = Host::new(&world);
    host.call().await.unwrap();
    // The challenge of the 403 names only what is missing.
    {
        let mut resource = world.resource();
        resource.challenge = resource.challenge.replace(r#", scope="basic""#, "");
    }
    host.call_method("write").await.unwrap();
    host.call().await.unwrap();
    assert_eq!(scopes(&world), ["basic", "basic write"]);
}

#[tokio::test]
async fn a_permission_that_is_never_given_is_not_asked_for_for_ever() {
    let world = world();
    world.resource().needs.insert("write", "write");
    world.authority(|authority| authority.grants_scope = false);
    let host = Host::new(&world);
    for _ in 0..3 {
        let failure = host.call_method("write").await.unwrap_err();
        assert_eq!(failure.class, ErrorClass::Auth);
        assert!(failure.message.contains("asked for and not given"), "{failure}");
    }
    let asked = world.look(|authority| authority.authorizations.len());
    assert!((1..=3).contains(&asked), "{asked} authorizations");
}

#[tokio::test]
async fn a_server_that_refuses_every_token_is_given_up() {
    let world = world();
    world.authority(|authority| authority.gives_refresh = false);
    let host = Host::new(&world);
    world.resource().trusts.clear();
    for _ in 0..4 {
        let failure = host.call().await.unwrap_err();
        assert!(failure.message.contains("tried too often"), "{failure}");
    }
    assert_eq!(world.look(|authority| authority.authorizations.len()), 3);
}

#[tokio::test]
async fn a_server_that_moves_is_followed_with_a_new_registration() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    let first = world.look(|authority| param(&authority.authorizations[0], "client_id").unwrap());

    let next = "https://next.test";
    world.authorities.lock().unwrap().insert(next.into(), Authority::new(next));
    world.resource().trusts = HashSet::from([next.to_owned()]);
    for document in world.resource().metadata.values_mut() {
        document["authorization_servers"] = json!([next]);
    }
    host.call().await.unwrap();
    {
        let authorities = world.authorities.lock().unwrap();
        assert_eq!(authorities[next].registrations.len(), 1);
        let seen = param(&authorities[next].authorizations[0], "client_id").unwrap();
        assert_ne!(seen, first);
        assert!(authorities[next].token_requests.iter().all(|body| !body.contains(&first)));
    }
    let keys = host.vault.store().list().await.unwrap();
    let of_old_login =
        keys.iter().filter(|key| key.issuer == ISSUER && !key.server.is_empty()).count();
    assert_eq!(of_old_login, 0, "nothing of the old issuer's login is kept: {keys:?}");
}

#[tokio::test]
async fn a_given_client_is_not_shown_to_another_issuer() {
    let world = world();
    world.authority(|authority| {
        authority.clients.insert("given".into(), None);
    });
    let given = Some(PreRegistered::new("given", ClientProof::None));
    let host = Host::with(&world, |options| options.client = given);
    host.call().await.unwrap();
    let next = "https://next.test";
    world.authorities.lock().unwrap().insert(next.into(), Authority::new(next));
    world.resource().trusts.clear();
    for document in world.resource().metadata.values_mut() {
        document["authorization_servers"] = json!([next]);
    }
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.contains("changed its authorization server"), "{failure}");
    assert!(world.authorities.lock().unwrap()[next].authorizations.is_empty());
}

#[tokio::test]
async fn without_anybody_to_ask_the_failure_says_what_to_do() {
    let world = world();
    let host = Host::with(&world, |options| options.interact = None);
    let failure = host.call().await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::Auth);
    let expected = "authentication failed: this server wants a login; run `mcp login docs`";
    assert_eq!(failure.message, expected);
    // From now on the server is not even asked.
    world.script(&format!("POST {SERVER}"), Reply::status(500));
    assert_eq!(host.call().await.unwrap_err().message, expected);
    assert_eq!(
        host.twin(|options| options.interact = None).call().await.unwrap_err().message,
        expected
    );
    world.unscript(&format!("POST {SERVER}"));

    host.auth.login(&browser(&world)).await.unwrap();
    host.call().await.unwrap();
    assert!(host.auth.is_logged_in().await.unwrap());
}

#[tokio::test]
async fn a_login_before_any_challenge_asks_the_server_first() {
    let world = world();
    world.resource().challenge.push_str(r#", scope="x""#);
    let host = Host::with(&world, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();
    assert_eq!(scopes(&world), ["x"]);
    host.call().await.unwrap();
}

#[tokio::test]
async fn a_logout_revokes_and_forgets() {
    let world = world();
    let host = Host::new(&world);
    assert_eq!(host.auth.logout().await.unwrap(), Logout::NotLoggedIn);
    host.call().await.unwrap();
    assert_eq!(host.auth.logout().await.unwrap(), Logout::Revoked);
    world.look(|authority| {
        assert_eq!(authority.revoked, ["refresh_token", "access_token"]);
        assert!(authority.tokens.is_empty() && authority.refresh.is_empty());
    });
    assert!(!host.auth.is_logged_in().await.unwrap());
    let keys = host.vault.store().list().await.unwrap();
    assert!(keys.iter().all(|key| key.server.is_empty()), "only the registration: {keys:?}");
}

#[tokio::test]
async fn a_logout_works_when_revocation_does_not() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    world.script("POST https://as.test/revoke", Reply::status(0));
    assert_eq!(host.auth.logout().await.unwrap(), Logout::Forgotten);
    assert!(!host.auth.is_logged_in().await.unwrap());
}

#[tokio::test]
async fn a_registration_that_was_forgotten_there_is_forgotten_here() {
    let world = world();
    let host = Host::new(&world);
    world.script(
        "POST https://as.test/token",
        Reply::json(401, &json!({"error": "invalid_client"})),
    );
    assert!(host.call().await.is_err());
    world.unscript("POST https://as.test/token");
    host.auth.login(&browser(&world)).await.unwrap();
    assert_eq!(world.look(|authority| authority.registrations.len()), 2);
}

#[tokio::test]
async fn refusals_in_the_browser_are_told() {
    let world = world();
    world.authority(|authority| authority.denies = Some("access_denied"));
    let host = Host::new(&world);
    let error = host.auth.login(&browser(&world)).await.unwrap_err();
    let LoginError::Denied(refusal) = &error else { panic!("{error}") };
    assert_eq!(refusal.code, "access_denied");
    assert_eq!(world.asked("POST https://as.test/token"), 0);
}

#[tokio::test]
async fn a_permission_that_nobody_can_give_now_costs_nothing_else() {
    let world = world();
    world.resource().needs.insert("write", "w");
    let first = Host::with(&world, |options| options.interact = None);
    first.auth.login(&browser(&world)).await.unwrap();
    let host = first.twin(|options| options.interact = None);
    host.call().await.unwrap();
    let told = host.call_method("write").await.unwrap_err();
    assert!(told.message.contains("wants a login"), "{told}");
    host.call().await.unwrap();
    host.call_method("write").await.unwrap_err();
    assert!(!host.vault.needs_auth().is_marked("https://mcp.test/mcp").await);
    first.twin(|options| options.interact = None).call().await.unwrap();
}

#[tokio::test]
async fn a_step_up_that_was_cancelled_can_be_tried_again() {
    let world = world();
    world.resource().needs.insert("write", "w");
    world.authority(|authority| authority.gives_refresh = false);
    let asked = Arc::new(Count::default());
    let (inside, count) = (world.clone(), asked.clone());
    // The person closes the second window.
    let person = Paste::new(Arc::new(move |url| {
        let (world, nth) = (inside.clone(), count.next());
        Box::pin(async move {
            if nth == 2 {
                return Err(InteractError::Cancelled);
            }
            let reply = world.handle("GET", &url, &HashMap::new(), "");
            let (_, to) = reply.headers.iter().find(|(name, _)| name == "location").unwrap();
            Ok(Secret::new(to.as_str()))
        })
    }));
    let host = Host::with(&world, |options| options.interact = Some(Arc::new(person)));
    host.call().await.unwrap();
    host.call_method("write").await.unwrap_err();
    host.call().await.unwrap();
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1, "the token still works");
    host.call_method("write").await.unwrap();
    assert_eq!(asked.next(), 4);
}

#[tokio::test]
async fn a_server_that_is_known_to_want_a_login_is_asked_with_the_one_there_is() {
    let world = world();
    let first = Host::with(&world, |options| options.interact = None);
    first.auth.login(&browser(&world)).await.unwrap();
    let host = first.twin(|options| options.interact = None);
    // Its first renewal fails, and somebody without a login is told to log in.
    world.script("POST https://as.test/token", Reply::status(503));
    host.call().await.unwrap_err();
    world.unscript("POST https://as.test/token");
    host.vault.needs_auth().mark("https://mcp.test/mcp").await;
    host.call().await.unwrap();
}

#[tokio::test]
async fn a_web_socket_server_gets_its_login_too() {
    let world = world();
    let socket = "wss://mcp.test/mcp";
    let host = Host::with(&world, |options| options.server = socket.to_owned());
    host.auth.login(&browser(&world)).await.unwrap();
    let sent = host.auth.credentials(Target::new("GET", socket)).await.unwrap();
    assert_eq!(sent.headers.len(), 1);
    // The same login, and not another server's.
    host.twin(|options| options.interact = None).call().await.unwrap();
    let elsewhere = host.auth.credentials(Target::new("GET", "wss://other.test/mcp")).await;
    assert!(elsewhere.unwrap().headers.is_empty());
    let fixed = StaticAuth::bearer(socket, Source::Value(Secret::new("t")));
    assert_eq!(fixed.credentials(Target::new("GET", socket)).await.unwrap().headers.len(), 1);
}

#[tokio::test]
async fn one_no_is_an_answer_to_everybody_who_waits() {
    let world = world();
    world.authority(|authority| authority.denies = Some("access_denied"));
    let host = Arc::new(Host::new(&world));
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { host.call().await })
        })
        .collect();
    for call in calls {
        let told = call.await.unwrap().unwrap_err();
        assert!(told.message.contains("`access_denied`"), "{told}");
    }
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1);
    world.authority(|authority| authority.denies = None);
    host.call().await.unwrap();
}

#[tokio::test]
async fn a_scope_that_is_never_asked_for_opens_no_second_window() {
    let world = world();
    {
        let mut resource = world.resource();
        resource.challenge = format!("{}, scope=\"read offline_access\"", resource.challenge);
    }
    let host = Host::new(&world);
    host.call().await.unwrap();
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    assert_eq!(scopes(&world), ["read"]);
}

#[tokio::test]
async fn a_logout_forgets_a_login_that_cannot_be_read() {
    let world = world();
    world.authority(|authority| {
        authority.clients.insert("given".into(), Some("s".into()));
        authority.auth_method = "client_secret_post";
        authority.metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    });
    let given = |secret: Source| {
        move |options: &mut OAuthOptions| {
            options.client = Some(PreRegistered::new("given", ClientProof::Secret(secret)));
        }
    };
    let host = Host::with(&world, given(Source::Value(Secret::new("s"))));
    host.call().await.unwrap();
    assert_eq!(host.vault.store().list().await.unwrap().len(), 2);
    let other = host.twin(given(Source::Env("MCP_AUTH_TEST_NEVER_SET".into())));
    assert_eq!(other.auth.logout().await.unwrap(), Logout::Forgotten);
    // The issuer of a configured client is all that is left.
    assert_eq!(host.vault.store().list().await.unwrap().len(), 1);
}
