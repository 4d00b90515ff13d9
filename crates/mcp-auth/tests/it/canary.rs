//! Runs every flow with marked secrets, and searches for the mark in logs at trace level, errors, events, `Debug`
//! output and panics.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, Mutex, OnceLock},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use mcp_auth::{
    ClientProof, Dpop, Enterprise, Grant, Helper, HelperOptions, OAuthOptions, OnEvent,
    PreRegistered, Secret, Source, StaticAuth,
    store::{StoreMode, Vault},
};
use mcp_transport::{
    Authorize,
    auth::{Challenge, Target},
};
use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::support::{
    Host, ISSUER, Reply, SERVER, World,
    authority::{Authority, CANARY},
    browser,
};

/// All recorded output.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<String>>);

impl Record {
    fn add(&self, what: &dyn fmt::Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{what:?} {what:#?}");
    }

    fn add_text(&self, what: &dyn fmt::Display) {
        let _ = writeln!(self.0.lock().unwrap(), "{what}");
    }

    fn add_error(&self, error: &(dyn std::error::Error + 'static)) {
        let mut cause = Some(error);
        while let Some(error) = cause {
            self.add(&error);
            self.add_text(&error);
            cause = error.source();
        }
    }
}

/// A subscriber that records every field of every event and span.
struct Everything(Record);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut Fields(&mut self.0.0.lock().unwrap()));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Fields(&mut self.0.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.0.lock().unwrap();
        event.record(&mut Fields(&mut text));
        text.push('\n');
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Returns the record of the whole binary, which includes the logs of other tests.
fn record() -> &'static Record {
    static RECORD: OnceLock<Record> = OnceLock::new();
    RECORD.get_or_init(|| {
        let record = Record::default();
        tracing::subscriber::set_global_default(Everything(record.clone())).unwrap();
        record
    })
}

fn marked(name: &str) -> Source {
    Source::Value(Secret::new(format!("{CANARY}{name}")))
}

fn jwt() -> Source {
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = part(json!({ "sub": "x", "aud": ISSUER }));
    let jwt = format!("{}.{claims}.{CANARY}sig", part(json!({})));
    Source::Value(Secret::new(jwt))
}

/// Logs in, calls, renews, fails and logs out, and records all output.
async fn live(record: &Record, world: &Arc<World>, change: impl FnOnce(&mut OAuthOptions)) {
    let told = record.clone();
    let folder = tempfile::tempdir().unwrap();
    let on_event = OnEvent::new(move |event| told.add(event));
    let vault = Vault::open(StoreMode::File, folder.path(), on_event).await.unwrap();
    let host = Host::over(world, Arc::new(vault), change);
    record.add(&host.auth);
    record.add(&host.vault);
    host.call().await.unwrap();
    record.add(&host.auth.credentials(Target::new("POST", SERVER)).await);
    world.authority(|authority| authority.tokens.clear());
    host.call().await.unwrap();
    for reply in [
        Reply::json(400, &json!({ "error": "invalid_grant", "error_description": CANARY })),
        Reply::json(200, &json!({ "access_token": 1, "x": CANARY })),
        Reply { status: 200, body: format!("<html>{CANARY}</html>"), ..Reply::default() },
        Reply::status(503).with("x", CANARY),
    ] {
        world.authority(|authority| authority.tokens.clear());
        world.script("POST https://as.test/token", reply);
        if let Err(failure) = host.call().await {
            record.add(&failure);
            record.add_text(&failure);
        }
        if let Err(error) = host.auth.login(&browser(world)).await {
            record.add_error(&error);
        }
        world.unscript("POST https://as.test/token");
    }
    // Only `secrets.json` may contain secrets, and no access token or code.
    for entry in std::fs::read_dir(folder.path()).unwrap().flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        if entry.file_name() == "secrets.json" {
            assert!(!text.contains(&format!("{CANARY}access")), "an access token was stored");
            assert!(!text.contains(&format!("{CANARY}code")), "a code was stored");
        } else {
            record.add_text(&text);
        }
    }
    record.add(&host.auth.logout().await);
    record.add(&host.auth);
    record.add(&host.vault.store().list().await);
}

fn world(method: &'static str) -> Arc<World> {
    let world = Arc::new(World::new());
    world.authority(|authority| {
        let secret = (method != "none").then(|| format!("{CANARY}client-secret"));
        authority.clients.insert("given".into(), secret);
        authority.metadata["token_endpoint_auth_methods_supported"] = json!([method]);
        authority.auth_method = method;
    });
    world
}

fn given(options: &mut OAuthOptions) {
    let proof = ClientProof::Secret(marked("client-secret"));
    options.client = Some(PreRegistered::new("given", proof));
}

async fn every_oauth_flow(record: &Record) {
    live(record, &world("none"), |_| {}).await;
    live(record, &world("client_secret_basic"), given).await;
    live(record, &world("client_secret_post"), |_| {}).await;
    let bound = world("none");
    bound.resource().wants_dpop = true;
    live(record, &bound, |options| options.dpop = Dpop::Always).await;
    live(record, &world("none"), |options| options.grant = Grant::DeviceCode).await;
    live(record, &world("client_secret_basic"), |options| {
        given(options);
        options.grant = Grant::ClientCredentials;
    })
    .await;
    live(record, &world("none"), |options| {
        options.client = Some(PreRegistered::new("given", ClientProof::None));
        options.grant = Grant::Workload(jwt());
    })
    .await;
    let enterprise = world("client_secret_basic");
    let mut idp = Authority::new("https://idp.test");
    idp.clients.insert("at-idp".into(), None);
    enterprise.authorities.lock().unwrap().insert("https://idp.test".into(), idp);
    live(record, &enterprise, |options| {
        given(options);
        let idp = Enterprise::new("https://idp.test/token", "at-idp", jwt());
        options.grant = Grant::Enterprise(idp);
    })
    .await;
}

async fn every_static_credential(record: &Record) {
    let mut options = HelperOptions::new("/bin/sh");
    options.args = vec!["-c".into(), format!("echo {CANARY}helper")];
    let helper = Arc::new(Helper::new(options));
    let auths = [
        StaticAuth::bearer(SERVER, marked("bearer")),
        StaticAuth::api_key(SERVER, "x-key", marked("key")),
        StaticAuth::api_key(SERVER, "x-key", marked("key\n")),
        StaticAuth::helper(SERVER, helper.clone()),
        StaticAuth::bearer(SERVER, Source::Helper(helper)),
    ];
    for auth in auths {
        record.add(&auth);
        let credentials = auth.credentials(Target::new("POST", SERVER)).await;
        record.add(&credentials);
        let mut challenge = Challenge::new(401, SERVER);
        challenge.stamp = credentials.map(|credentials| credentials.stamp).unwrap_or_default();
        record.add(&auth.challenged(&challenge).await);
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_ever_shown() {
    let record = record();
    tracing::trace!("the log is recorded");
    every_oauth_flow(record).await;
    tokio::time::resume();
    every_static_credential(record).await;
    // A panic message shows the `Debug` output.
    let secret = Secret::new(format!("{CANARY}panic"));
    let panicked = std::panic::catch_unwind(|| panic!("{secret:?}")).unwrap_err();
    record.add(&panicked.downcast_ref::<String>());

    let text = record.0.lock().unwrap().clone();
    let is_recorded = text.contains("the log is recorded") && text.contains("login request");
    assert!(is_recorded, "the log was not recorded");
    assert!(text.contains("LoggedIn") && text.contains("Refused"), "the flows did not run");
    let leaks: Vec<&str> = text.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(leaks.is_empty(), "{} leaks, the first: {}", leaks.len(), leaks[0]);
}
