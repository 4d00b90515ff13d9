//! The authorization code flow: discovery, registration, scopes and client authentication.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use mcp_auth::{
    ClientProof, InteractError, LoginError, Logout, OAuthOptions, PreRegistered, Secret, Source,
    StaticAuth, interact::Paste,
};
use mcp_transport::{Authorize as _, ErrorClass, auth::Target};
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
async fn rejected_request_leads_to_a_login_that_later_requests_use() {
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
    // Both requests have the `resource` of the metadata.
    world.look(|authority| {
        assert_eq!(param(&authority.authorizations[0], "resource").as_deref(), Some(SERVER));
    });
}

#[tokio::test]
async fn well_known_urls_are_tried_in_order_without_a_challenge_parameter() {
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
async fn server_without_metadata_is_handled_as_revision_2025_03_26() {
    let world = world();
    world.resource().challenge = "Bearer".into();
    world.resource().metadata.clear();
    let strict = Host::with(&world, |options| options.legacy = false);
    let failure = strict.call().await.unwrap_err();
    assert!(failure.message.contains("does not name its authorization server"), "{failure}");

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
async fn configured_client_precedes_a_metadata_document_and_a_registration() {
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
async fn client_authentication_uses_the_method_that_the_server_offers() {
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
async fn registration_is_shared_by_servers_of_one_issuer_and_one_redirect_url() {
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
async fn scopes_come_from_the_challenge_or_else_from_the_resource() {
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
    assert!(!sent, "an empty `scope` was sent");
}

#[tokio::test]
async fn step_up_requests_the_old_and_the_new_scopes() {
    let world = world();
    world.resource().challenge.push_str(r#", scope="basic""#);
    world.resource().needs.insert("write", "write");
    let host = Host::new(&world);
    host.call().await.unwrap();
    // The challenge of the 403 names only the missing scope.
    {
        let mut resource = world.resource();
        resource.challenge = resource.challenge.replace(r#", scope="basic""#, "");
    }
    host.call_method("write").await.unwrap();
    host.call().await.unwrap();
    assert_eq!(scopes(&world), ["basic", "basic write"]);
}

#[tokio::test]
async fn scope_that_is_never_granted_is_requested_a_limited_number_of_times() {
    let world = world();
    world.resource().needs.insert("write", "write");
    world.authority(|authority| authority.grants_scope = false);
    let host = Host::new(&world);
    for _ in 0..3 {
        let failure = host.call_method("write").await.unwrap_err();
        assert_eq!(failure.class, ErrorClass::Auth);
        assert!(failure.message.contains("requested but not granted"), "{failure}");
    }
    let asked = world.look(|authority| authority.authorizations.len());
    assert!((1..=3).contains(&asked), "{asked} authorizations");
}

#[tokio::test]
async fn server_that_rejects_every_token_leads_to_a_limited_number_of_logins() {
    let world = world();
    world.authority(|authority| authority.gives_refresh = false);
    let host = Host::new(&world);
    world.resource().trusts.clear();
    for _ in 0..3 {
        let failure = host.call().await.unwrap_err();
        assert!(failure.message.contains("just issued"), "{failure}");
    }
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.contains("too many login attempts"), "{failure}");
    assert_eq!(world.look(|authority| authority.authorizations.len()), 3);
}

#[tokio::test]
async fn changed_issuer_leads_to_a_new_registration() {
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
    assert_eq!(of_old_login, 0, "the login of the old issuer is deleted: {keys:?}");
}

#[tokio::test]
async fn configured_client_is_not_used_with_another_issuer() {
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
async fn failure_names_the_next_step_if_the_user_cannot_be_prompted() {
    let world = world();
    let host = Host::with(&world, |options| options.interact = None);
    let failure = host.call().await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::Auth);
    let expected = "authentication failed: this server requires a login; run `mcp login docs`";
    assert_eq!(failure.message, expected);
    // From now on the server is not contacted.
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
async fn login_without_a_challenge_probes_the_server_first() {
    let world = world();
    world.resource().challenge.push_str(r#", scope="x""#);
    let host = Host::with(&world, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();
    assert_eq!(scopes(&world), ["x"]);
    host.call().await.unwrap();
}

#[tokio::test]
async fn logout_revokes_and_deletes_the_login() {
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
async fn logout_succeeds_if_revocation_fails() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    world.script("POST https://as.test/revoke", Reply::status(0));
    assert_eq!(host.auth.logout().await.unwrap(), Logout::Forgotten);
    assert!(!host.auth.is_logged_in().await.unwrap());
}

#[tokio::test]
async fn registration_unknown_to_the_server_is_deleted() {
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
async fn denied_authorization_is_reported() {
    let world = world();
    world.authority(|authority| authority.denies = Some("access_denied"));
    let host = Host::new(&world);
    let error = host.auth.login(&browser(&world)).await.unwrap_err();
    let LoginError::Denied(refusal) = &error else { panic!("{error}") };
    assert_eq!(refusal.code, "access_denied");
    assert_eq!(world.asked("POST https://as.test/token"), 0);
}

#[tokio::test]
async fn step_up_that_is_not_possible_keeps_the_token() {
    let world = world();
    world.resource().needs.insert("write", "w");
    let first = Host::with(&world, |options| options.interact = None);
    first.auth.login(&browser(&world)).await.unwrap();
    let host = first.twin(|options| options.interact = None);
    host.call().await.unwrap();
    let told = host.call_method("write").await.unwrap_err();
    assert!(told.message.contains("requires a login"), "{told}");
    host.call().await.unwrap();
    host.call_method("write").await.unwrap_err();
    assert!(!host.vault.needs_auth().is_marked("https://mcp.test/mcp").await);
    first.twin(|options| options.interact = None).call().await.unwrap();
}

#[tokio::test]
async fn cancelled_step_up_can_be_repeated() {
    let world = world();
    world.resource().needs.insert("write", "w");
    world.authority(|authority| authority.gives_refresh = false);
    let asked = Arc::new(Count::default());
    let (inside, count) = (world.clone(), asked.clone());
    // The user closes the second window.
    let user = Paste::new(Arc::new(move |url| {
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
    let host = Host::with(&world, |options| options.interact = Some(Arc::new(user)));
    host.call().await.unwrap();
    host.call_method("write").await.unwrap_err();
    host.call().await.unwrap();
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1, "the token still works");
    host.call_method("write").await.unwrap();
    assert_eq!(asked.next(), 4);
}

#[tokio::test]
async fn marked_server_is_contacted_if_a_login_is_stored() {
    let world = world();
    let first = Host::with(&world, |options| options.interact = None);
    first.auth.login(&browser(&world)).await.unwrap();
    let host = first.twin(|options| options.interact = None);
    // Its first renewal fails, and another process without a login marks the server.
    world.script("POST https://as.test/token", Reply::status(503));
    host.call().await.unwrap_err();
    world.unscript("POST https://as.test/token");
    host.vault.needs_auth().mark("https://mcp.test/mcp").await;
    host.call().await.unwrap();
}

#[tokio::test]
async fn login_works_for_a_web_socket_server() {
    let world = world();
    let socket = "wss://mcp.test/mcp";
    let host = Host::with(&world, |options| options.server = socket.to_owned());
    host.auth.login(&browser(&world)).await.unwrap();
    let sent = host.auth.credentials(Target::new("GET", socket)).await.unwrap();
    assert_eq!(sent.headers.len(), 1);
    // The HTTP URL shares the login; another server does not.
    host.twin(|options| options.interact = None).call().await.unwrap();
    let elsewhere = host.auth.credentials(Target::new("GET", "wss://other.test/mcp")).await;
    assert!(elsewhere.unwrap().headers.is_empty());
    let fixed = StaticAuth::bearer(socket, Source::Value(Secret::new("t")));
    assert_eq!(fixed.credentials(Target::new("GET", socket)).await.unwrap().headers.len(), 1);
}

#[tokio::test]
async fn denied_login_fails_all_waiting_calls() {
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
async fn offline_access_in_a_challenge_does_not_lead_to_a_second_login() {
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
async fn logout_deletes_a_login_that_cannot_be_loaded() {
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
    // Only the issuer of the configured client is kept.
    assert_eq!(host.vault.store().list().await.unwrap().len(), 1);
}
