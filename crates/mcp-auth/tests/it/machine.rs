//! Logins without a browser: client credentials, an identity provider, workload identity and device codes.

use std::{sync::Arc, time::Duration};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use mcp_auth::{
    ClientProof, Enterprise, Grant, OAuthOptions, PreRegistered, Secret, SigningKey, Source,
};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use serde_json::{Value, json};

use crate::support::{Host, ISSUER, World, authority::Authority, param};

const TOKEN: &str = "POST https://as.test/token";

fn value(text: &str) -> Source {
    Source::Value(Secret::new(text))
}

fn with_secret(options: &mut OAuthOptions) {
    let proof = ClientProof::Secret(value("CANARY-client-secret"));
    options.client = Some(PreRegistered::new("given", proof));
    options.interact = None;
}

/// A world with the client `given`, which authenticates with this method.
fn world(method: &'static str) -> Arc<World> {
    let world = Arc::new(World::new());
    world.authority(|authority| {
        authority.clients.insert("given".into(), Some("CANARY-client-secret".into()));
        authority.metadata["token_endpoint_auth_methods_supported"] = json!([method]);
        authority.auth_method = method;
    });
    world
}

fn jwt(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2ln", part(&json!({ "alg": "ES256" })), part(claims))
}

#[tokio::test(start_paused = true)]
async fn token_for_client_credentials_is_requested_again_when_it_expires() {
    for method in ["client_secret_basic", "client_secret_post"] {
        let world = world(method);
        let host = Host::with(&world, |options| {
            with_secret(options);
            options.grant = Grant::ClientCredentials;
        });
        host.call().await.unwrap();
        tokio::time::advance(Duration::from_secs(3600)).await;
        host.call().await.unwrap();
        assert_eq!(world.asked(TOKEN), 2);
        world.look(|authority| {
            assert!(authority.authorizations.is_empty() && authority.registrations.is_empty());
        });
    }
}

#[tokio::test]
async fn client_assertion_has_the_issuer_as_audience() {
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    let body = STANDARD.encode(der.unwrap().as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let key = SigningKey::from_pem(&Secret::new(pem)).unwrap();
    let world = world("private_key_jwt");
    let host = Host::with(&world, |options| {
        options.grant = Grant::ClientCredentials;
        options.client = Some(PreRegistered::new("given", ClientProof::Key(key)));
        options.interact = None;
    });
    host.call().await.unwrap();
    world.look(|authority| {
        let body = &authority.token_requests[0];
        assert_eq!(param(body, "grant_type").as_deref(), Some("client_credentials"));
        assert_eq!(param(body, "client_id"), None);
    });
}

#[tokio::test]
async fn enterprise_grant_exchanges_the_identity_of_the_user() {
    let idp = "https://idp.test";
    let world = world("client_secret_basic");
    let mut provider = Authority::new(idp);
    provider.clients.insert("at-idp".into(), None);
    world.authorities.lock().unwrap().insert(idp.into(), provider);
    let host = Host::with(&world, |options| {
        with_secret(options);
        let subject = value(&jwt(&json!({ "sub": "CANARY-user" })));
        options.grant =
            Grant::Enterprise(Enterprise::new(format!("{idp}/token"), "at-idp", subject));
    });
    host.call().await.unwrap();
    let authorities = world.authorities.lock().unwrap();
    let exchange = &authorities[idp].token_requests[0];
    assert_eq!(param(exchange, "audience").as_deref(), Some(ISSUER));
    assert_eq!(
        param(exchange, "requested_token_type").as_deref(),
        Some("urn:ietf:params:oauth:token-type:id-jag")
    );
    let redeemed = &authorities[ISSUER].token_requests[0];
    assert!(param(redeemed, "assertion").is_some());
    assert!(authorities[ISSUER].authorizations.is_empty());
}

#[tokio::test]
async fn workload_assertion_is_sent_once_and_not_retried() {
    let bare = |assertion: String| {
        move |options: &mut OAuthOptions| {
            options.grant = Grant::Workload(value(&assertion));
            options.client = Some(PreRegistered::new("given", ClientProof::None));
            options.interact = None;
        }
    };
    let world = world("none");
    world.authority(|authority| {
        authority.clients.insert("given".into(), None);
    });
    Host::with(&world, bare(jwt(&json!({ "aud": ISSUER })))).call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 1);

    let refused = Host::with(&world, bare(format!("{}bad", jwt(&json!({ "aud": ISSUER })))));
    let failure = refused.call().await.unwrap_err();
    assert!(failure.message.contains("`invalid_grant`"), "{failure}");
    assert_eq!(world.asked(TOKEN), 2, "neither a retry nor another grant");

    for (unfit, why) in
        [(jwt(&json!({ "exp": 1000 })), "has expired"), ("CANARY-no-jwt".to_owned(), "not a JWT")]
    {
        let failure = Host::with(&world, bare(unfit)).call().await.unwrap_err();
        assert!(failure.message.contains(why), "{failure}");
    }
    assert_eq!(world.asked(TOKEN), 2, "an invalid assertion is not sent");
}

#[tokio::test]
async fn workload_assertion_is_read_from_its_file_each_time() {
    let world = world("none");
    world.authority(|authority| {
        authority.clients.insert("given".into(), None);
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, format!("{}\n", jwt(&json!({ "aud": ISSUER, "n": 1 })))).unwrap();
    let host = Host::with(&world, |options| {
        options.grant = Grant::Workload(Source::File(path.clone()));
        options.client = Some(PreRegistered::new("given", ClientProof::None));
        options.interact = None;
    });
    host.call().await.unwrap();
    std::fs::write(&path, jwt(&json!({ "aud": ISSUER, "n": 2 }))).unwrap();
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    world.look(|authority| {
        let sent: Vec<_> =
            authority.token_requests.iter().map(|body| param(body, "assertion")).collect();
        assert_ne!(sent[0], sent[1]);
    });
}

#[tokio::test(start_paused = true)]
async fn device_code_is_polled_until_it_is_entered() {
    let world = Arc::new(World::new());
    world.authority(|authority| authority.pending = 4);
    let host = Host::with(&world, |options| options.grant = Grant::DeviceCode);
    let began = tokio::time::Instant::now();
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 5);
    // One second at first, and five more after each `slow_down`.
    assert!(began.elapsed() >= Duration::from_secs(1 + 6 + 6 + 11 + 11), "{:?}", began.elapsed());
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    assert_eq!(world.asked("POST https://as.test/device"), 1, "renewed without a new login");
}

#[tokio::test(start_paused = true)]
async fn device_code_that_is_not_entered_expires() {
    let world = Arc::new(World::new());
    world.authority(|authority| authority.pending = usize::MAX);
    let host = Host::with(&world, |options| options.grant = Grant::DeviceCode);
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.contains("`expired_token`"), "{failure}");
}

/// Makes the MCP server name another authorization server, which accepts every client.
fn change_issuer(world: &World, issuer: &str, method: &'static str) {
    let mut authority = Authority::new(issuer);
    authority.auth_method = method;
    authority.metadata["token_endpoint_auth_methods_supported"] = json!([method]);
    world.authorities.lock().unwrap().insert(issuer.into(), authority);
    world.authority(|authority| authority.tokens.clear());
    for metadata in world.resource().metadata.values_mut() {
        metadata["authorization_servers"] = json!([issuer]);
    }
}

#[tokio::test]
async fn client_secret_is_sent_only_to_the_issuer_of_its_first_use() {
    let world = world("client_secret_post");
    let grant = |options: &mut OAuthOptions| {
        with_secret(options);
        options.grant = Grant::ClientCredentials;
    };
    let host = Host::with(&world, grant);
    host.call().await.unwrap();
    let evil = "https://evil.test";
    change_issuer(&world, evil, "client_secret_post");
    // This process, a restarted one, and one after a logout.
    let restarted = host.twin(grant);
    for host in [&host, &restarted] {
        let told = host.call().await.unwrap_err();
        assert!(told.message.contains("changed its authorization server"), "{told}");
    }
    host.auth.logout().await.unwrap();
    host.twin(grant).call().await.unwrap_err();
    assert!(world.authorities.lock().unwrap()[evil].token_requests.is_empty());
}

#[tokio::test]
async fn workload_assertion_is_not_sent_to_another_issuer() {
    let world = world("none");
    let evil = "https://evil.test";
    change_issuer(&world, evil, "none");
    let assertion = jwt(&json!({ "aud": ISSUER, "sub": "workload" }));
    let host = Host::with(&world, |options| {
        options.grant = Grant::Workload(value(&assertion));
        options.client = Some(PreRegistered::new("given", ClientProof::None));
        options.interact = None;
    });
    let told = host.call().await.unwrap_err();
    assert!(told.message.contains("another authorization server"), "{told}");
    assert!(world.authorities.lock().unwrap()[evil].token_requests.is_empty());
}
