//! Tokens bound to a key (`DPoP`).

use std::sync::Arc;

use mcp_auth::{ClientProof, Dpop, Grant, PreRegistered, Secret, Source};
use mcp_transport::{
    Authorize as _,
    auth::{Challenge, Target},
};
use serde_json::json;

use crate::support::{Host, Reply, SERVER, World, browser};

fn world() -> Arc<World> {
    let world = Arc::new(World::new());
    {
        let mut resource = world.resource();
        resource.challenge = resource.challenge.replace("Bearer", "DPoP");
        resource.wants_dpop = true;
    }
    world
}

#[tokio::test]
async fn every_request_has_a_unique_proof_and_the_key_survives_a_restart() {
    // The scripted server checks the proofs and rejects one that it has seen.
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    host.call().await.unwrap();
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    host.twin(|options| options.interact = None).call().await.unwrap();
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1);
}

#[tokio::test]
async fn nonces_of_both_servers_are_used() {
    let world = world();
    world.authority(|authority| authority.wants_nonce = Some("as-1".into()));
    world.resource().nonce = Some("rs-1".into());
    let host = Host::new(&world);
    host.call().await.unwrap();
    world.resource().nonce = Some("rs-2".into());
    host.call().await.unwrap();
    world.authority(|authority| {
        authority.wants_nonce = Some("as-2".into());
        authority.tokens.clear();
    });
    host.call().await.unwrap();
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1);
}

#[tokio::test]
async fn dpop_setting_decides_whether_tokens_are_bound() {
    let world = Arc::new(World::new());
    let proofs = |world: &World| world.look(|authority| authority.proofs.len());
    Host::new(&world).call().await.unwrap();
    assert_eq!(proofs(&world), 0, "the challenge does not ask for it");

    let bound = self::world();
    let never = Host::with(&bound, |options| options.dpop = Dpop::Never);
    never.auth.login(&browser(&bound)).await.unwrap();
    assert_eq!(proofs(&bound), 0);

    let always = Host::with(&world, |options| options.dpop = Dpop::Always);
    always.auth.login(&browser(&world)).await.unwrap();
    assert_eq!(proofs(&world), 1);
    world.authority(|authority| {
        authority.metadata["dpop_signing_alg_values_supported"] = json!(null);
    });
    let refused = Host::with(&world, |options| options.dpop = Dpop::Always);
    let error = refused.auth.login(&browser(&world)).await.unwrap_err();
    assert!(error.to_string().contains("bound to a key"), "{error}");
}

#[tokio::test]
async fn tokens_for_client_credentials_can_be_bound() {
    let world = world();
    world.authority(|authority| {
        authority.clients.insert("given".into(), Some("s".into()));
        authority.auth_method = "client_secret_basic";
        authority.metadata["token_endpoint_auth_methods_supported"] =
            json!(["client_secret_basic"]);
    });
    let host = Host::with(&world, |options| {
        let proof = ClientProof::Secret(Source::Value(Secret::new("s")));
        options.client = Some(PreRegistered::new("given", proof));
        options.grant = Grant::ClientCredentials;
        options.interact = None;
    });
    host.call().await.unwrap();
    host.call().await.unwrap();
}

#[tokio::test]
async fn new_nonce_lets_all_pending_requests_retry_without_a_login() {
    let world = world();
    world.authority(|authority| authority.gives_refresh = false);
    let host = Host::new(&world);
    host.call().await.unwrap();
    let target = Target::new("POST", SERVER);
    let (one, two) = (
        host.auth.credentials(target).await.unwrap(),
        host.auth.credentials(target).await.unwrap(),
    );
    let mut challenge = Challenge::new(401, SERVER);
    challenge.read(&format!("{}, error=\"use_dpop_nonce\"", world.resource().challenge));
    challenge.dpop_nonce = Some("n2".into());
    for credentials in [one, two] {
        challenge.stamp = credentials.stamp;
        host.auth.challenged(&challenge).await.unwrap();
    }
    // The same nonce again, for a request that had it: another retry would not help.
    challenge.stamp = host.auth.credentials(target).await.unwrap().stamp;
    let told = host.auth.challenged(&challenge).await.unwrap_err();
    assert!(told.message.contains("nonce"), "{told}");
    // A server that sends a new nonce each time.
    let mut tries = 0;
    loop {
        challenge.stamp = host.auth.credentials(target).await.unwrap().stamp;
        challenge.dpop_nonce = Some(format!("turn-{tries}"));
        if host.auth.challenged(&challenge).await.is_err() {
            break;
        }
        tries += 1;
    }
    assert!(tries <= 10, "too many retries: {tries}");
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1);
}

#[tokio::test]
async fn bearer_token_is_rejected_if_tokens_must_be_bound() {
    let world = Arc::new(World::new());
    let token = json!({ "access_token": "t", "token_type": "Bearer" });
    world.script("POST https://as.test/token", Reply::json(200, &token));
    let host = Host::with(&world, |options| options.dpop = Dpop::Always);
    let error = host.auth.login(&browser(&world)).await.unwrap_err();
    assert!(error.to_string().contains("bound to a key"), "{error}");
    world.unscript("POST https://as.test/token");
    // An earlier login without a key is not used.
    let before = host.twin(|options| options.dpop = Dpop::Never);
    before.auth.login(&browser(&world)).await.unwrap();
    let after = host.twin(|options| options.dpop = Dpop::Always);
    assert!(!after.auth.is_logged_in().await.unwrap());
}
