//! The scripted servers, and a host that uses them.

pub(crate) mod authority;
pub(crate) mod socket;
pub(crate) mod world;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcp_auth::{
    InteractError, OAuth, OAuthOptions, OnEvent, Secret, interact::Paste, store::Vault,
};
use mcp_transport::{
    Authorize,
    auth::{AuthFailure, Challenge, Target},
};
use url::Url;

pub(crate) use self::world::{Reply, World};

pub(crate) const SERVER: &str = "https://mcp.test/mcp";
pub(crate) const ISSUER: &str = "https://as.test";

/// A host with one server, which uses an [`Authorize`] like the transport does.
pub(crate) struct Host {
    pub(crate) world: Arc<World>,
    pub(crate) auth: OAuth,
    pub(crate) vault: Arc<Vault>,
}

impl Host {
    /// A host whose user consents to everything.
    pub(crate) fn new(world: &Arc<World>) -> Self {
        Self::with(world, |_| {})
    }

    /// The same, with options changed by `change`.
    pub(crate) fn with(world: &Arc<World>, change: impl FnOnce(&mut OAuthOptions)) -> Self {
        let vault = Arc::new(Vault::in_memory(OnEvent::default()));
        Self::over(world, vault, change)
    }

    pub(crate) fn over(
        world: &Arc<World>,
        vault: Arc<Vault>,
        change: impl FnOnce(&mut OAuthOptions),
    ) -> Self {
        let mut options = OAuthOptions::new(SERVER, vault.clone(), world.clone());
        options.interact = Some(Arc::new(browser(world)));
        options.hint = "run `mcp login docs`".to_owned();
        change(&mut options);
        Self { world: world.clone(), auth: OAuth::new(options), vault }
    }

    /// Another process with the same vault.
    pub(crate) fn twin(&self, change: impl FnOnce(&mut OAuthOptions)) -> Self {
        Self::over(&self.world, self.vault.clone(), change)
    }

    /// Calls the server, and handles challenges like the transport does.
    pub(crate) async fn call(&self) -> Result<(), AuthFailure> {
        call(&self.auth, &self.world, "list").await
    }

    /// Calls a method that may need more scopes.
    pub(crate) async fn call_method(&self, method: &str) -> Result<(), AuthFailure> {
        call(&self.auth, &self.world, method).await
    }
}

/// Sends a request with credentials, and repeats it after each challenge that was handled.
pub(crate) async fn call(
    auth: &dyn Authorize,
    world: &World,
    method: &str,
) -> Result<(), AuthFailure> {
    let mut was_renewed = false;
    for _ in 0..8 {
        let credentials = auth.credentials(Target::new("POST", SERVER)).await?;
        let headers: HashMap<String, String> = credentials.headers.iter().cloned().collect();
        let reply = world.handle("POST", SERVER, &headers, method);
        if !matches!(reply.status, 401 | 403) {
            assert_eq!(reply.status, 200);
            return Ok(());
        }
        let mut challenge = Challenge::new(reply.status, SERVER);
        challenge.stamp = credentials.stamp;
        for (name, value) in &reply.headers {
            match name.as_str() {
                "www-authenticate" => challenge.read(value),
                "dpop-nonce" => challenge.dpop_nonce = Some(value.clone()),
                _ => {}
            }
        }
        if reply.status == 401 && challenge.param("error") != Some("use_dpop_nonce") {
            if was_renewed {
                return Err(auth.refused_again(&challenge).await);
            }
            was_renewed = true;
        }
        auth.challenged(&challenge).await?;
    }
    panic!("too many retries");
}

/// Simulates a user who opens the page, consents, and pastes the redirect URL.
pub(crate) fn browser(world: &Arc<World>) -> Paste {
    let world = world.clone();
    Paste::new(Arc::new(move |url| {
        let world = world.clone();
        Box::pin(async move {
            let reply = world.handle("GET", &url, &HashMap::new(), "");
            let location = reply.headers.iter().find(|(name, _)| name == "location");
            location.map(|(_, to)| Secret::new(to.as_str())).ok_or(InteractError::Cancelled)
        })
    }))
    .with_codes(Arc::new(|_| {}))
}

/// Returns a parameter of a URL or a form.
pub(crate) fn param(text: &str, name: &str) -> Option<String> {
    let query = match Url::parse(text) {
        Ok(url) => url.query().unwrap_or_default().to_owned(),
        Err(_) => text.to_owned(),
    };
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// A counter.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn next(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// State that a test changes while requests run.
pub(crate) type Knob<T> = Mutex<T>;
