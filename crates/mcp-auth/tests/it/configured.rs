//! Logins with configured URLs, resources and redirects.

use std::{collections::HashMap, sync::Arc};

use mcp_auth::{
    ClientProof, Grant, InteractError, LoginError, OAuthOptions, PreRegistered, Secret, Source,
    guard::{Blocked, Zone},
    interact::{LoopbackBrowser, Paste},
};
use mcp_transport::{Authorize as _, auth::Target};
use serde_json::json;

use crate::support::{Host, ISSUER, Reply, SERVER, World, authority::Authority, browser, param};

const META: &str = "https://as.test/custom/metadata";
const PAGE: &str = "https://as.test/authorize";
const TOKEN: &str = "https://as.test/token";

/// A server without metadata, and an authorization server with its metadata at a custom path and the public client
/// `given`.
fn silent() -> Arc<World> {
    let world = Arc::new(World::new());
    world.resource().metadata.clear();
    world.resource().challenge = "Bearer".to_owned();
    world.authority(|authority| {
        authority.metadata_path = "/custom/metadata".to_owned();
        authority.clients.insert("given".into(), None);
    });
    world
}

fn described(options: &mut OAuthOptions) {
    options.metadata_url = Some(META.to_owned());
}

fn fixed(options: &mut OAuthOptions) {
    options.authorization_url = Some(PAGE.to_owned());
    options.token_url = Some(TOKEN.to_owned());
    options.client = Some(PreRegistered::new("given", ClientProof::None));
}

/// Returns the error of a login with these options.
async fn refused(world: &Arc<World>, change: impl FnOnce(&mut OAuthOptions)) -> LoginError {
    let host = Host::with(world, change);
    host.auth.login(&browser(world)).await.unwrap_err()
}

fn asked(world: &World, what: &str) -> usize {
    world.log().iter().filter(|line| line.contains(what)).count()
}

#[tokio::test]
async fn configured_metadata_url_replaces_the_well_known_urls() {
    let world = silent();
    let host = Host::with(&world, described);
    host.call().await.unwrap();
    assert_eq!(world.asked(&format!("GET {META}")), 1);
    assert_eq!(asked(&world, "/.well-known/oauth-authorization-server"), 0);
    assert_eq!(asked(&world, "/.well-known/openid-configuration"), 0);
    // The login is stored under the issuer of the document.
    let keys = host.vault.store().list().await.unwrap();
    assert!(keys.iter().any(|key| key.issuer == ISSUER), "{keys:?}");
    world.authority(|authority| authority.tokens.clear());
    host.twin(|options| {
        described(options);
        options.interact = None;
    })
    .call()
    .await
    .unwrap();
}

#[tokio::test]
async fn resource_metadata_is_used_with_a_configured_metadata_url() {
    let world = Arc::new(World::new());
    for document in world.resource().metadata.values_mut() {
        document["scopes_supported"] = json!(["a"]);
        document["authorization_servers"] = json!(["https://elsewhere.test"]);
    }
    world.authority(|authority| authority.metadata_path = "/custom/metadata".to_owned());
    Host::with(&world, described).call().await.unwrap();
    assert_eq!(asked(&world, "elsewhere.test"), 0);
    let page = world.look(|authority| authority.authorizations[0].clone());
    assert_eq!(param(&page, "scope").as_deref(), Some("a"));
    for document in world.resource().metadata.values_mut() {
        document["resource"] = "https://other.test/mcp".into();
    }
    assert!(matches!(refused(&world, described).await, LoginError::ResourceMismatch));
}

#[tokio::test]
async fn configured_metadata_url_is_checked_like_every_document() {
    let cases = [
        ("https://169.254.169.254/latest", Blocked::Address(Zone::Special)),
        ("https://[::ffff:169.254.169.254]/latest", Blocked::Address(Zone::Special)),
        ("https://127.0.0.1/metadata", Blocked::Address(Zone::Loopback)),
        ("http://as.test/metadata", Blocked::NotEncrypted),
        ("https://u:p@as.test/metadata", Blocked::Userinfo),
        ("file:///etc/passwd", Blocked::NotAUrl),
        ("as.test/metadata", Blocked::NotAUrl),
    ];
    for (url, expected) in cases {
        let world = silent();
        let error = refused(&world, |options| options.metadata_url = Some(url.to_owned())).await;
        let is_blocked = matches!(error, LoginError::Blocked { why, .. } if why == expected);
        assert!(is_blocked, "{url}: {error}");
        assert!(world.log().is_empty(), "{url}: {:?}", world.log());
    }
    let unfit = [
        json!({ "code_challenge_methods_supported": null }),
        json!({ "issuer": "https://u@as.test" }),
        json!({ "issuer": "http://as.test" }),
        json!({ "issuer": "x" }),
        json!({ "issuer": null }),
        json!({ "authorization_endpoint": "javascript:alert(1)" }),
        json!({ "authorization_endpoint": "https://as.test@evil.test/" }),
    ];
    for change in unfit {
        let world = silent();
        world.authority(|authority| {
            for (name, value) in change.as_object().unwrap() {
                authority.metadata[name] = value.clone();
            }
        });
        let error = refused(&world, described).await;
        let is_refused = matches!(
            error,
            LoginError::NoPkce | LoginError::BadDocument { .. } | LoginError::Blocked { .. }
        );
        assert!(is_refused, "{change}: {error}");
        assert_eq!(asked(&world, "/authorize"), 0, "{change}");
    }
    let world = silent();
    let endless = Reply { status: 200, body: "x".repeat(50 << 20), ..Reply::default() };
    world.script(&format!("GET {META}"), endless);
    assert!(matches!(refused(&world, described).await, LoginError::Http { .. }));
    world.script(&format!("GET {META}"), Reply::status(404));
    let error = refused(&world, described).await;
    assert!(error.to_string().contains("does not return a document"), "{error}");
}

#[tokio::test]
async fn redirect_is_compared_with_the_issuer_of_the_configured_document() {
    let world = silent();
    world.authority(|authority| authority.iss = Some("https://evil.test".into()));
    assert!(matches!(refused(&world, described).await, LoginError::WrongIssuer));
    world.authority(|authority| authority.iss = None);
    let error = refused(&world, described).await;
    assert!(matches!(error, LoginError::WrongIssuer), "the metadata announces `iss`");
    assert_eq!(world.asked(&format!("POST {TOKEN}")), 0);
}

#[tokio::test]
async fn document_that_claims_an_issuer_does_not_get_its_clients() {
    let world = Arc::new(World::new());
    world.authority(|authority| {
        authority.auth_method = "client_secret_post";
        authority.metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    });
    let honest = Host::new(&world);
    honest.call().await.unwrap();
    // Its document names the honest issuer, but its own endpoints.
    let mut evil = Authority::new("https://evil.test");
    evil.auth_method = "client_secret_post";
    evil.metadata["issuer"] = ISSUER.into();
    evil.metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    evil.iss = Some(ISSUER.to_owned());
    world.authorities.lock().unwrap().insert("https://evil.test".into(), evil);
    let document = "https://evil.test/.well-known/oauth-authorization-server";
    let host = honest.twin(|options| options.metadata_url = Some(document.to_owned()));
    host.auth.login(&browser(&world)).await.unwrap();
    let authorities = world.authorities.lock().unwrap();
    let evil = &authorities["https://evil.test"];
    assert_eq!(evil.registrations.len(), 1, "a separate client");
    for secret in authorities[ISSUER].clients.values().flatten() {
        assert!(evil.token_requests.iter().all(|body| !body.contains(secret)));
    }
}

#[tokio::test]
async fn configured_endpoints_need_no_discovery_and_their_login_is_renewed() {
    let world = silent();
    let host = Host::with(&world, fixed);
    host.call().await.unwrap();
    assert_eq!(world.log(), [format!("GET {PAGE}"), format!("POST {TOKEN}")]);
    world.look(|authority| {
        let page = &authority.authorizations[0];
        assert_eq!(param(page, "code_challenge_method").as_deref(), Some("S256"));
        assert_eq!(param(page, "resource").as_deref(), Some(SERVER));
    });
    world.authority(|authority| authority.tokens.clear());
    let restarted = host.twin(|options| {
        fixed(options);
        options.interact = None;
    });
    restarted.call().await.unwrap();
    assert_eq!(world.asked(&format!("GET {PAGE}")), 1, "renewed without a new login");
    // A login at other endpoints is not used.
    let elsewhere = host.twin(|options| {
        fixed(options);
        options.token_url = Some("https://as2.test/token".to_owned());
        options.interact = None;
    });
    assert!(!elsewhere.auth.is_logged_in().await.unwrap());
}

#[tokio::test]
async fn configured_endpoints_reject_a_redirect_of_another_issuer() {
    let known = |options: &mut OAuthOptions| {
        fixed(options);
        options.client.as_mut().unwrap().issuer = Some("https://as.test/tenant".to_owned());
    };
    for (iss, is_plain, is_known) in [
        (None, true, true),
        (Some("https://as.test/tenant"), true, true),
        (Some("https://as.test/other"), true, false),
        (Some("https://evil.test"), false, false),
    ] {
        let world = silent();
        world.authority(|authority| authority.iss = iss.map(str::to_owned));
        let plain = Host::with(&world, fixed).auth.login(&browser(&world)).await;
        assert_eq!(plain.is_ok(), is_plain, "{iss:?}: {plain:?}");
        let exact = Host::with(&world, known).auth.login(&browser(&world)).await;
        assert_eq!(exact.is_ok(), is_known, "{iss:?}: {exact:?}");
        for refused in [plain, exact].into_iter().filter_map(Result::err) {
            assert!(matches!(refused, LoginError::WrongIssuer), "{refused}");
        }
    }
}

#[tokio::test]
async fn invalid_endpoints_are_rejected_before_a_request() {
    let page = |page: Option<&'static str>, token: Option<&'static str>| {
        move |options: &mut OAuthOptions| {
            fixed(options);
            options.authorization_url = page.map(str::to_owned);
            options.token_url = token.map(str::to_owned);
        }
    };
    let cases = [
        (Some("javascript:alert(1)"), Some(TOKEN)),
        (Some("http://as.test/authorize"), Some(TOKEN)),
        (Some("https://as.test@evil.test/"), Some(TOKEN)),
        (Some(PAGE), None),
        (None, Some(TOKEN)),
    ];
    for (one, other) in cases {
        let world = silent();
        let error = refused(&world, page(one, other)).await;
        assert!(matches!(error, LoginError::BadSetting { .. }), "{one:?} {other:?}: {error}");
        assert!(world.log().is_empty(), "{one:?} {other:?}: {:?}", world.log());
    }
    for inside in ["https://169.254.169.254/token", "http://as.test/token", "javascript:x"] {
        let world = silent();
        let error = refused(&world, page(Some(PAGE), Some(inside))).await;
        assert!(matches!(error, LoginError::Blocked { .. }), "{inside}: {error}");
        assert!(world.log().is_empty(), "{inside}: {:?}", world.log());
    }
    let world = silent();
    let without_client = refused(&world, |options| {
        fixed(options);
        options.client = None;
    });
    assert!(matches!(without_client.await, LoginError::NoClientId));
}

#[tokio::test]
async fn client_credentials_need_only_a_token_url() {
    let world = silent();
    world.authority(|authority| {
        authority.clients.insert("given".into(), Some("CANARY-s".into()));
        authority.auth_method = "client_secret_basic";
    });
    let host = Host::with(&world, |options| {
        let proof = ClientProof::Secret(Source::Value(Secret::new("CANARY-s")));
        options.client = Some(PreRegistered::new("given", proof));
        options.token_url = Some(TOKEN.to_owned());
        options.grant = Grant::ClientCredentials;
        options.interact = None;
    });
    host.call().await.unwrap();
    assert_eq!(world.log(), [format!("POST {TOKEN}")]);
}

#[tokio::test]
async fn configured_resource_is_sent_in_all_requests_and_tokens_stay_at_the_origin() {
    let resource = "api://3f2a-mcp";
    let world = Arc::new(World::new());
    world.authority(|authority| authority.resource = resource.to_owned());
    // The resource in the server's metadata would be rejected, and is ignored.
    for document in world.resource().metadata.values_mut() {
        document["resource"] = "https://other.test/mcp".into();
    }
    let wanted = |options: &mut OAuthOptions| options.resource = Some(resource.to_owned());
    let host = Host::with(&world, wanted);
    host.call().await.unwrap();
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    world.look(|authority| {
        assert_eq!(param(&authority.authorizations[0], "resource").as_deref(), Some(resource));
        assert_eq!(authority.token_requests.len(), 2, "a code and a refresh token");
    });
    for elsewhere in ["https://other.test/mcp", "https://as.test/"] {
        let sent = host.auth.credentials(Target::new("POST", elsewhere)).await.unwrap();
        assert!(sent.headers.is_empty(), "{elsewhere}");
    }
    // A login for one resource is not used for another.
    let changed = host.twin(|options| options.resource = Some("api://other".to_owned()));
    assert!(host.auth.is_logged_in().await.unwrap());
    assert!(!changed.auth.is_logged_in().await.unwrap());
    for unfit in ["", "mcp", "https://mcp.test/#x"] {
        let error = refused(&world, |options| options.resource = Some(unfit.to_owned())).await;
        assert!(matches!(error, LoginError::BadSetting { setting: "resource", .. }), "{error}");
    }
}

#[tokio::test]
async fn redirect_on_another_machine_works_with_pasting_only() {
    let elsewhere = "https://example.test/shows-its-address?app=mcp";
    let world = Arc::new(World::new());
    let host = Host::with(&world, |options| options.redirect_uri = Some(elsewhere.to_owned()));
    let error = host.auth.login(&LoopbackBrowser::new()).await.unwrap_err();
    assert!(matches!(error, LoginError::Interaction(InteractError::Elsewhere)), "{error}");
    assert_eq!(asked(&world, "/register") + asked(&world, "/authorize"), 0);
    host.auth.login(&browser(&world)).await.unwrap();
    world.look(|authority| {
        for text in [&authority.authorizations[0], &authority.token_requests[0]] {
            assert_eq!(param(text, "redirect_uri").as_deref(), Some(elsewhere));
        }
        assert_eq!(authority.registrations[0]["redirect_uris"], json!([elsewhere]));
    });
}

#[tokio::test]
async fn invalid_redirect_is_rejected_before_a_registration() {
    for unfit in [
        "http://127.0.0.1:8080/callback#x",
        "http://example.test/callback",
        "https://u@example.test/",
        "app://callback",
        "javascript:alert(1)",
        "callback",
    ] {
        let world = Arc::new(World::new());
        let error = refused(&world, |options| options.redirect_uri = Some(unfit.to_owned())).await;
        let is_rejected = matches!(error, LoginError::BadSetting { setting: "redirect URL", .. });
        assert!(is_rejected, "{unfit}: {error}");
        assert_eq!(asked(&world, "/register") + asked(&world, "/authorize"), 0, "{unfit}");
    }
}

#[tokio::test(start_paused = true)]
async fn login_with_a_device_code_is_renewed_by_hosts_with_a_browser_grant() {
    let world = Arc::new(World::new());
    let shown = Arc::new(std::sync::Mutex::new(Vec::new()));
    let codes = shown.clone();
    let no_browser = Paste::new(Arc::new(|_| Box::pin(async { Err(InteractError::Cancelled) })));
    let user = no_browser.with_codes(Arc::new(move |code| {
        codes.lock().unwrap().push(code.user_code.clone());
    }));
    let host = Host::with(&world, |options| options.interact = None);
    host.auth.login_with_code(&user).await.unwrap();
    assert_eq!(*shown.lock().unwrap(), ["AB-CD"]);
    host.call().await.unwrap();
    world.authority(|authority| authority.tokens.clear());
    // In this process, and in another.
    host.call().await.unwrap();
    host.twin(|options| options.interact = None).call().await.unwrap();
    assert_eq!(asked(&world, "/device"), 1);
    assert_eq!(asked(&world, "/authorize"), 0);
    world.look(|authority| assert_eq!(authority.double_spends, 0));
}

#[tokio::test]
async fn unsupported_device_code_is_reported_before_a_registration() {
    let world = Arc::new(World::new());
    world.authority(|authority| authority.metadata["device_authorization_endpoint"] = json!(null));
    let error = Host::new(&world).auth.login_with_code(&browser(&world)).await.unwrap_err();
    assert!(matches!(error, LoginError::NotOffered("a login with a device code")), "{error}");
    assert_eq!(asked(&world, "/register"), 0);
}

#[tokio::test]
async fn changed_issuer_is_used_with_a_newly_configured_client() {
    let world = Arc::new(World::new());
    world.authority(|authority| {
        authority.clients.insert("old".into(), None);
    });
    let client = |id: &'static str| {
        move |options: &mut OAuthOptions| {
            options.client = Some(PreRegistered::new(id, ClientProof::None));
        }
    };
    let host = Host::with(&world, client("old"));
    host.call().await.unwrap();
    let mut moved = Authority::new("https://as2.test");
    moved.clients = HashMap::from([("old".into(), None), ("new".into(), None)]);
    world.authorities.lock().unwrap().insert("https://as2.test".into(), moved);
    for document in world.resource().metadata.values_mut() {
        document["authorization_servers"] = json!(["https://as2.test"]);
    }
    world.resource().trusts.insert("https://as2.test".into());
    let old = host.twin(client("old")).auth.login(&browser(&world)).await.unwrap_err();
    assert!(matches!(old, LoginError::IssuerChanged), "{old}");
    host.twin(client("new")).auth.login(&browser(&world)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn client_unknown_to_its_server_is_registered_again() {
    let world = Arc::new(World::new());
    let fixed = "http://127.0.0.1:8080/callback";
    let host = Host::with(&world, |options| options.redirect_uri = Some(fixed.to_owned()));
    let registered = || world.look(|authority| authority.registrations.len());
    for _ in 0..2 {
        host.auth.login(&browser(&world)).await.unwrap();
        assert_eq!(registered(), 1, "a working registration is reused");
    }
    // The server reports it in the browser, and the user cancels.
    world.authority(|authority| authority.clients.clear());
    world.script(&format!("GET {PAGE}"), Reply::status(400));
    host.auth.login(&browser(&world)).await.unwrap_err();
    world.unscript(&format!("GET {PAGE}"));
    host.auth.login(&browser(&world)).await.unwrap();
    assert_eq!(registered(), 2);
    // With a device code the error is in the response.
    host.auth.login_with_code(&browser(&world)).await.unwrap();
    assert_eq!(registered(), 3, "a registration without a redirect URL");
    let refusal = Reply::json(401, &json!({ "error": "invalid_client" }));
    world.script("POST https://as.test/device", refusal);
    host.auth.login_with_code(&browser(&world)).await.unwrap_err();
    world.unscript("POST https://as.test/device");
    host.auth.login_with_code(&browser(&world)).await.unwrap();
    assert_eq!(registered(), 4);
}
