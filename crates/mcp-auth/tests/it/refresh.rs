//! Token renewal across tasks and processes.

use std::{sync::Arc, time::Duration};

use mcp_auth::{
    AuthEvent, ClientProof, OAuthOptions, OnEvent, PreRegistered, Secret, Source,
    http::{HttpClient, HttpError, HttpRequest, HttpResponse},
    store::Vault,
};
use mcp_transport::{Authorize as _, BoxFuture, ErrorClass, auth::Target};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Host, Knob, Reply, SERVER, World, browser, param};

const TOKEN: &str = "POST https://as.test/token";

/// A host that has logged in and cannot prompt the user again.
async fn logged_in(world: &Arc<World>) -> Host {
    let host = Host::with(world, |options| options.interact = None);
    host.auth.login(&browser(world)).await.unwrap();
    host
}

fn world() -> Arc<World> {
    Arc::new(World::new())
}

#[tokio::test(start_paused = true)]
async fn token_is_renewed_before_it_expires() {
    let world = world();
    let host = logged_in(&world).await;
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 1);
    tokio::time::advance(Duration::from_secs(3545)).await;
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 2);
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 2);
}

#[tokio::test]
async fn rejected_token_is_renewed_and_the_call_repeated() {
    let world = world();
    let host = logged_in(&world).await;
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 2);
}

#[tokio::test]
async fn restarted_process_needs_only_the_stored_refresh_token() {
    let world = world();
    let host = logged_in(&world).await;
    let after = host.twin(|options| options.interact = None);
    after.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 2);
    // The token endpoint was stored with it, so discovery is not repeated.
    assert_eq!(world.log().iter().filter(|line| line.contains("well-known")).count(), 2);
    let stored = host.vault.store().list().await.unwrap();
    for key in stored {
        let secret = host.vault.store().get(&key).await.unwrap().unwrap();
        assert!(!secret.expose().contains("CANARY-access"), "access tokens stay in memory");
    }
}

#[tokio::test]
async fn concurrent_calls_share_one_renewal() {
    let world = world();
    let host = Arc::new(logged_in(&world).await);
    world.authority(|authority| authority.tokens.clear());
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { host.call().await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(world.asked(TOKEN), 2);
    assert_eq!(world.look(|authority| authority.double_spends), 0);
}

#[tokio::test(start_paused = true)]
async fn two_processes_never_use_the_same_refresh_token() {
    let world = world();
    let one = Arc::new(logged_in(&world).await);
    let two = Arc::new(one.twin(|options| options.interact = None));
    for _ in 0..20 {
        world.authority(|authority| authority.tokens.clear());
        let (a, b) = (one.clone(), two.clone());
        let a = tokio::spawn(async move { a.call().await });
        let b = tokio::spawn(async move { b.call().await });
        a.await.unwrap().unwrap();
        b.await.unwrap().unwrap();
        // Wait until the new token is no longer young: rejecting a young token has its own rules.
        tokio::time::advance(Duration::from_secs(31)).await;
    }
    assert_eq!(world.look(|authority| authority.double_spends), 0);
}

#[tokio::test(start_paused = true)]
async fn transient_failure_keeps_the_login() {
    let world = world();
    let host = logged_in(&world).await;
    let failures = [
        Reply::status(0),
        Reply::status(503),
        Reply::status(429),
        Reply { status: 200, body: "<html>maintenance</html>".into(), ..Reply::default() },
        Reply::json(400, &json!({ "error": "temporarily_unavailable" })),
    ];
    for failure in failures {
        world.authority(|authority| authority.tokens.clear());
        world.script(TOKEN, failure.clone());
        let told = host.call().await.unwrap_err();
        let is_html = failure.body.starts_with('<');
        assert!(told.class == ErrorClass::Transient || is_html, "{failure:?}: {told:?}");
        world.unscript(TOKEN);
        assert!(host.auth.is_logged_in().await.unwrap());
        host.call().await.unwrap();
        // Wait until the new token is no longer young: rejecting a young token has its own rules.
        tokio::time::advance(Duration::from_secs(31)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn valid_token_is_used_while_its_renewal_fails() {
    let world = world();
    let host = logged_in(&world).await;
    world.script(TOKEN, Reply::status(503));
    tokio::time::advance(Duration::from_secs(3545)).await;
    host.call().await.unwrap();
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 2, "not retried at every call");
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(host.call().await.unwrap_err().class, ErrorClass::Transient);
    world.unscript(TOKEN);
    let failure = host.call().await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::Transient, "too early for a retry");
    tokio::time::advance(Duration::from_secs(10)).await;
    host.call().await.unwrap();
}

#[tokio::test]
async fn ended_login_is_deleted_and_the_failure_names_the_next_step() {
    let world = world();
    let told = Arc::new(Knob::new(Vec::new()));
    let events = told.clone();
    let on_event = OnEvent::new(move |event| events.lock().unwrap().push(event.clone()));
    let vault = Arc::new(Vault::in_memory(on_event));
    let host = Host::over(&world, vault, |options| options.interact = None);
    host.auth.login(&browser(&world)).await.unwrap();
    world.authority(|authority| {
        authority.tokens.clear();
        authority.refresh.clear();
    });
    let failure = host.call().await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::Auth);
    assert!(failure.message.ends_with("run `mcp login docs`"), "{failure}");
    assert!(!host.auth.is_logged_in().await.unwrap());
    let ended = |event: &AuthEvent| matches!(event, AuthEvent::LoginEnded { .. });
    assert_eq!(told.lock().unwrap().iter().filter(|event| ended(event)).count(), 1);
}

#[tokio::test]
async fn login_of_another_process_is_used_without_a_restart() {
    let world = world();
    let host = logged_in(&world).await;
    world.authority(|authority| {
        authority.tokens.clear();
        authority.refresh.clear();
    });
    host.call().await.unwrap_err();
    let elsewhere = host.twin(|options| options.interact = None);
    elsewhere.auth.login(&browser(&world)).await.unwrap();
    host.call().await.unwrap();
}

#[tokio::test]
async fn rejected_login_does_not_delete_its_replacement() {
    let world = world();
    let host = logged_in(&world).await;
    let elsewhere = host.twin(|options| options.interact = None);
    // The token of this process is revoked, and another process logs in before this one notices.
    world.authority(|authority| {
        authority.tokens.clear();
        authority.refresh.clear();
    });
    elsewhere.auth.login(&browser(&world)).await.unwrap();
    host.call().await.unwrap();
    assert!(elsewhere.auth.is_logged_in().await.unwrap());
    assert_eq!(world.look(|authority| authority.double_spends), 0);
}

#[tokio::test]
async fn cancelled_caller_loses_no_token() {
    let world = world();
    let host = logged_in(&world).await;
    for _ in 0..30 {
        world.authority(|authority| authority.tokens.clear());
        let twin = host.twin(|options| options.interact = None);
        {
            // Poll a few times and drop the future at an arbitrary point.
            let mut pending = twin.auth.credentials(Target::new("POST", SERVER));
            for _ in 0..3 {
                tokio::select! {
                    biased;
                    _ = &mut pending => break,
                    () = tokio::task::yield_now() => {}
                }
            }
        }
        let after = host.twin(|options| options.interact = None);
        after.call().await.unwrap();
    }
    assert_eq!(world.look(|authority| authority.double_spends), 0);
}

#[tokio::test]
async fn refresh_token_that_is_not_rotated_is_kept() {
    let world = world();
    world.authority(|authority| authority.rotates = false);
    let host = logged_in(&world).await;
    for _ in 0..3 {
        world.authority(|authority| authority.tokens.clear());
        let twin = host.twin(|options| options.interact = None);
        twin.call().await.unwrap();
    }
    assert_eq!(world.look(|authority| authority.refresh.len()), 1);
}

#[tokio::test]
async fn call_fails_if_the_renewed_token_is_rejected_too() {
    let world = world();
    let host = logged_in(&world).await;
    host.call().await.unwrap();
    let (tokens, calls) = (world.asked(TOKEN), world.calls());
    world.resource().trusts.clear();
    let failure = host.call().await.unwrap_err();
    assert_eq!(failure.class, ErrorClass::Auth);
    assert!(failure.message.contains("rejected the token that was just issued"), "{failure}");
    assert!(failure.message.contains("mcp login docs"), "{failure}");
    assert_eq!(world.asked(TOKEN) - tokens, 1, "one renewal");
    assert_eq!(world.calls() - calls, 2, "two requests");
    assert!(host.vault.needs_auth().is_marked(SERVER).await);
}

#[tokio::test]
async fn repeatedly_rejected_tokens_lead_to_a_limited_number_of_logins() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    world.resource().trusts.clear();
    for _ in 0..8 {
        host.call().await.unwrap_err();
    }
    let failure = host.call().await.unwrap_err();
    assert!(failure.message.contains("too many login attempts"), "{failure}");
    let authorized = world.look(|authority| authority.authorizations.len());
    assert!(authorized <= 3, "{authorized} logins");
}

#[tokio::test(start_paused = true)]
async fn expired_login_is_replaced_by_a_new_one() {
    for gives_refresh in [true, false] {
        let world = world();
        world.authority(|authority| authority.gives_refresh = gives_refresh);
        let host = Host::new(&world);
        host.call().await.unwrap();
        tokio::time::advance(Duration::from_secs(3601)).await;
        world.authority(|authority| {
            authority.tokens.clear();
            authority.refresh.clear();
        });
        host.call().await.unwrap();
        assert_eq!(world.look(|authority| authority.authorizations.len()), 2);
    }
}

#[tokio::test]
async fn expires_in_of_zero_is_treated_as_unknown() {
    let world = world();
    world.authority(|authority| authority.life = 0);
    let host = logged_in(&world).await;
    host.call().await.unwrap();
    host.call().await.unwrap();
    assert_eq!(world.asked(TOKEN), 1);
}

/// Configures the client `given` with this secret.
fn given(secret: &'static str) -> impl Fn(&mut OAuthOptions) {
    move |options| {
        let proof = ClientProof::Secret(Source::Value(Secret::new(secret)));
        options.client = Some(PreRegistered::new("given", proof));
    }
}

#[tokio::test]
async fn wrong_client_secret_does_not_delete_the_login() {
    let world = world();
    world.authority(|authority| {
        authority.clients.insert("given".into(), Some("right".into()));
        authority.auth_method = "client_secret_post";
        authority.metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    });
    let host = Host::with(&world, given("right"));
    host.call().await.unwrap();
    let told = host.twin(given("wrong")).call().await.unwrap_err();
    assert!(told.message.contains("`invalid_client`"), "{told}");
    host.twin(given("right")).call().await.unwrap();
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1, "no second login");
}

#[tokio::test]
async fn renewal_with_an_unknown_client_leads_to_a_new_registration() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    world.authority(|authority| {
        authority.tokens.clear();
        authority.clients.clear();
    });
    host.call().await.unwrap();
    world.look(|authority| {
        assert_eq!((authority.registrations.len(), authority.authorizations.len()), (2, 2));
    });
}

#[tokio::test]
async fn refused_renewal_for_another_reason_does_not_start_a_login() {
    let world = world();
    let host = Host::new(&world);
    host.call().await.unwrap();
    world.authority(|authority| authority.tokens.clear());
    world.script(TOKEN, Reply::json(400, &json!({ "error": "invalid_target" })));
    let told = host.call().await.unwrap_err();
    assert!(told.message.contains("`invalid_target`"), "{told}");
    assert_eq!(world.look(|authority| authority.authorizations.len()), 1);
    world.unscript(TOKEN);
    host.call().await.unwrap();
}

/// A network on which renewals wait for a permit.
#[derive(Debug)]
struct Slow {
    world: Arc<World>,
    asked: Semaphore,
    let_through: Semaphore,
}

impl HttpClient for Slow {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        let grant = param(request.body.expose(), "grant_type");
        Box::pin(async move {
            if grant.as_deref() == Some("refresh_token") {
                self.asked.add_permits(1);
                self.let_through.acquire().await.unwrap().forget();
            }
            self.world.send(request).await
        })
    }
}

#[tokio::test]
async fn renewal_of_a_cancelled_caller_does_not_overwrite_a_login() {
    let world = world();
    let first = logged_in(&world).await;
    let (asked, let_through) = (Semaphore::new(0), Semaphore::new(0));
    let slow = Arc::new(Slow { world: world.clone(), asked, let_through });
    let http = slow.clone();
    let host = first.twin(|options| {
        options.interact = None;
        options.http = http;
    });
    {
        let mut pending = host.auth.credentials(Target::new("POST", SERVER));
        tokio::select! {
            _ = &mut pending => panic!("the renewal did not wait"),
            permit = slow.asked.acquire() => permit.unwrap().forget(),
        }
    }
    let (auth, inside) = (host.auth.clone(), world.clone());
    let login = tokio::spawn(async move { auth.login(&browser(&inside)).await });
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
    let windows = world.look(|authority| authority.authorizations.len());
    assert_eq!(windows, 1, "the login waits for the renewal in progress");
    slow.let_through.add_permits(1);
    login.await.unwrap().unwrap();
    host.call().await.unwrap();
    world.look(|authority| {
        let grants = authority.token_requests.iter().map(|body| param(body, "grant_type").unwrap());
        let code = "authorization_code";
        assert_eq!(grants.collect::<Vec<_>>(), [code, "refresh_token", code]);
    });
}

/// A network that reaches only the MCP server while it is down. Other requests time out.
#[derive(Debug)]
struct Down {
    world: Arc<World>,
    is_down: Knob<bool>,
}

impl HttpClient for Down {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, HttpError>> {
        let is_down = *self.is_down.lock().unwrap() && !request.url.starts_with("https://mcp.test");
        Box::pin(async move {
            if is_down {
                tokio::time::sleep(request.time_limit).await;
                return Err(HttpError::TimedOut(request.time_limit));
            }
            self.world.send(request).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_failed_renewal_fail_with_it() {
    for is_expired in [true, false] {
        let world = world();
        let down = Arc::new(Down { world: world.clone(), is_down: Knob::new(false) });
        let http = down.clone();
        let host = Arc::new(Host::with(&world, |options| {
            options.interact = None;
            options.http = http;
        }));
        host.auth.login(&browser(&world)).await.unwrap();
        // The token has expired, or it is rejected.
        tokio::time::advance(Duration::from_secs(if is_expired { 3601 } else { 60 })).await;
        world.authority(|authority| authority.tokens.clear());
        *down.is_down.lock().unwrap() = true;
        let began = tokio::time::Instant::now();
        let calls: Vec<_> = (0..30)
            .map(|_| {
                let host = host.clone();
                tokio::spawn(async move { host.call().await })
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap_err().class, ErrorClass::Transient);
        }
        assert!(began.elapsed() <= Duration::from_secs(21), "{:?}", began.elapsed());
        *down.is_down.lock().unwrap() = false;
        tokio::time::advance(Duration::from_secs(10)).await;
        host.call().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn discovery_has_one_time_limit() {
    let world = world();
    let down = Arc::new(Down { world: world.clone(), is_down: Knob::new(false) });
    let http = down.clone();
    let host = Host::with(&world, |options| options.http = http);
    let servers: Vec<_> = (0..4).map(|index| format!("https://as{index}.test/tenant")).collect();
    for metadata in world.resource().metadata.values_mut() {
        metadata["authorization_servers"] = json!(servers);
    }
    *down.is_down.lock().unwrap() = true;
    let began = tokio::time::Instant::now();
    host.call().await.unwrap_err();
    // Four servers would take twenty seconds each.
    assert!(began.elapsed() <= Duration::from_secs(61), "{:?}", began.elapsed());
}
