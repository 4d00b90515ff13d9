//! OAuth as MCP wants it: from a refused request to a token that is renewed for as long as it goes.

mod authorize_url;
mod budget;
pub(crate) mod callback;
pub(crate) mod client;
mod device;
mod discovery;
pub(crate) mod dpop;
pub(crate) mod error;
mod fetch;
mod flow;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
pub(crate) mod jwt;
mod login;
mod machine;
mod metadata;
pub(crate) mod options;
mod place;
mod refresh;
mod registration;
pub(crate) mod revoke;
mod scopes;
mod session;
mod token;
mod unsaved;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mcp_transport::{AuthFailure, Authorize, BoxFuture, Challenge, Credentials, Target};
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    time::Instant,
};

use self::{
    error::LoginError,
    fetch::Fetch,
    login::Shelf,
    options::{OAuthOptions, Way},
    place::Terms,
    refresh::{Renewed, may_pass},
    revoke::Logout,
    scopes::Scopes,
    session::{Hints, Session},
};
use crate::{
    guard::Guard,
    interact::Interact,
    origin::{same_origin, web},
    secret::Secret,
    store::signature,
};

/// How long a token that still works is used before its renewal is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// OAuth for one MCP server: an [`Authorize`] that logs in when it must and can, and renews when it is time.
///
/// Without [`interact`](OAuthOptions::interact) it never bothers anybody: a request that needs a login fails
/// with a sentence that says what to do, and [`login`](Self::login) does it.
#[derive(Clone)]
pub struct OAuth {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    options: OAuthOptions,
    shelf: Shelf,
    fetch: Fetch,
    session: Mutex<Session>,
    /// Whose turn it is to change the login.
    gate: Arc<AsyncMutex<()>>,
}

/// Held by whoever changes the login.
type Turn = OwnedMutexGuard<()>;

impl OAuth {
    /// Nothing is sent until something is asked for.
    pub fn new(mut options: OAuthOptions) -> Self {
        // Everything about a login is HTTP, also where the server itself is a WebSocket.
        if let Some(url) = web(&options.server).filter(|_| !options.server.starts_with("http")) {
            options.server = url.into();
        }
        let shelf = Shelf {
            server: signature(&options.server),
            account: options.account.clone(),
            terms: Terms::of(&options),
        };
        let fetch = Fetch::new(options.http.clone(), Guard::for_server(&options.server));
        let (session, gate) = (Mutex::default(), Arc::default());
        Self { shared: Arc::new(Shared { options, shelf, fetch, session, gate }) }
    }

    /// Logs in with a person, whatever was tried before.
    ///
    /// # Cancel safety
    /// Dropped while the person is asked, no login has changed; a client that was registered for it is not
    /// used again, since a server that has forgotten one tells only the person.
    pub async fn login(&self, interact: &dyn Interact) -> Result<(), LoginError> {
        self.login_by(self.shared.options.grant.way(), interact).await
    }

    /// Logs in with a code that a person enters on any device, where the options would ask in a browser.
    ///
    /// It is a login like any other: found and renewed by whoever has the same server and vault,
    /// whatever their [`grant`](OAuthOptions::grant). One that takes no person takes none here either.
    ///
    /// # Cancel safety
    /// Dropped while the person is asked, nothing has happened.
    pub async fn login_with_code(&self, interact: &dyn Interact) -> Result<(), LoginError> {
        let way = self.shared.options.grant.way();
        self.login_by(way.map(|_| Way::Code), interact).await
    }

    async fn login_by(&self, way: Option<Way>, interact: &dyn Interact) -> Result<(), LoginError> {
        let shared = &self.shared;
        let turn = shared.turn().await;
        let hints = match shared.session().hints.clone() {
            Hints { resource_metadata: None, scope: None, .. } => None,
            hints => Some(hints),
        };
        let hints = match hints {
            Some(hints) => hints,
            None => shared.knock().await?,
        };
        shared.session().attempts.reset();
        match way {
            Some(way) => shared.authorize(way, interact, &hints, turn).await,
            None => shared.vouch(&hints).await,
        }
    }

    /// Ends the login: revokes its tokens where that is offered, and forgets them in any case.
    pub async fn logout(&self) -> Result<Logout, LoginError> {
        let _turn = self.shared.turn().await;
        self.shared.logout().await
    }

    /// Whether it takes a person to log in. If not, it happens by itself whenever a token is wanted.
    pub fn takes_a_person(&self) -> bool {
        self.shared.options.grant.is_interactive()
    }

    /// Whether a login is stored, or a token in hand.
    pub async fn is_logged_in(&self) -> Result<bool, LoginError> {
        if self.shared.session().held.as_ref().is_some_and(|held| held.is_alive(Instant::now())) {
            return Ok(true);
        }
        Ok(self.shared.load().await?.is_some())
    }
}

impl Authorize for OAuth {
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async move {
            let shared = &self.shared;
            // A token goes to the server it was issued for, wherever a redirect or a link may point.
            if !same_origin(&shared.options.server, target.url) {
                return Ok(Credentials::default());
            }
            let mut failed = None;
            if shared.session().wants_renewal(Instant::now()) {
                failed = shared.renew().await.err();
            }
            let now = Instant::now();
            let ready = shared.session().credentials(target, now);
            match ready.map_err(|error| shared.failure(&error))? {
                Some(credentials) => return Ok(credentials),
                None => failed = failed.or_else(|| shared.session().backs_off(now)),
            }
            match failed {
                Some(failure) => Err(failure),
                // Nothing to show. Whether that matters is the server's to say, unless it just did.
                None => shared.bare(target).await,
            }
        })
    }

    fn challenged<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), AuthFailure>> {
        Box::pin(async move {
            let shared = &self.shared;
            let failures = shared.session().failures;
            let turn = shared.turn().await;
            let is_refused = challenge.status != 403;
            let at_once = shared.answer_at_once(challenge);
            let failed = shared.session().failed_since(failures).filter(|_| is_refused);
            let answered = match (at_once, failed) {
                (Some(answered), _) => answered,
                // Whoever was before us tried just that.
                (None, Some(failure)) => return Err(failure),
                (None, None) => shared.answer(challenge, turn).await,
            };
            answered.map_err(|error| {
                let failure = shared.failure(&error);
                if is_refused {
                    shared.session().fail(failure.clone());
                }
                failure
            })
        })
    }
}

impl Shared {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn turn(&self) -> Turn {
        self.gate.clone().lock_owned().await
    }

    fn failure(&self, error: &LoginError) -> AuthFailure {
        tracing::debug!(server = self.shelf.server, %error, "no credentials");
        error.to_failure(&self.options.hint)
    }

    /// Looks for a token without asking anybody: renews the stored login, or vouches again. Fails only
    /// with what may pass.
    async fn renew(self: &Arc<Self>) -> Result<(), AuthFailure> {
        let turn = self.turn().await;
        if !self.session().wants_renewal(Instant::now()) {
            return Ok(());
        }
        let (_turn, renewed) = if self.options.grant.is_interactive() {
            self.refresh(turn).await
        } else {
            self.session().is_loaded = true;
            (turn, self.vouch_again().await)
        };
        let now = Instant::now();
        let error = match renewed {
            Ok(Renewed::Yes) => return Ok(()),
            Ok(Renewed::NoLogin) => None,
            Err(error) => Some(error),
        };
        // A store that fails is told once the server wants a login: it may not want any.
        let passing =
            |error: &&LoginError| may_pass(error) && !matches!(error, LoginError::Store(_));
        let failure = error.as_ref().filter(passing).map(|error| self.failure(error));
        let mut session = self.session();
        session.is_loaded = true;
        session.not_before = Some(now + RETRY_AFTER);
        session.last_failure.clone_from(&failure);
        if matches!(error, None | Some(LoginError::Ended)) {
            session.give_up(now);
        }
        failure.map_or(Ok(()), Err)
    }

    /// No credentials, unless it is known that the server wants a login and nobody can be asked for one.
    async fn bare(self: &Arc<Self>, target: Target<'_>) -> Result<Credentials, AuthFailure> {
        let needs_auth = self.options.vault.needs_auth();
        if self.can_ask() || !needs_auth.is_marked(&self.shelf.server).await {
            return Ok(Credentials::default());
        }
        // That was said to whoever had no login. There may be one by now.
        let turn = self.turn().await;
        if self.session().renewals.take(Instant::now()) {
            match self.refresh(turn).await.1 {
                Ok(_) | Err(LoginError::Ended) => {}
                Err(error) => return Err(self.failure(&error)),
            }
        }
        let ready = self.session().credentials(target, Instant::now());
        match ready.map_err(|error| self.failure(&error))? {
            Some(credentials) => Ok(credentials),
            None => Err(self.failure(&LoginError::NeedsUser)),
        }
    }

    /// What can be said about a refused request without doing anything.
    fn answer_at_once(&self, challenge: &Challenge) -> Option<Result<(), LoginError>> {
        let (now, mut session) = (Instant::now(), self.session());
        session.learn_nonce(challenge);
        let is_news = !session.has_replaced(challenge.stamp, now);
        if session.lacks_nonce(challenge, now) {
            let is_worth_it = !is_news && session.nonce_tries.take(now);
            return Some(if is_worth_it { Ok(()) } else { Err(LoginError::NonceRefused) });
        }
        (!is_news).then_some(Ok(()))
    }

    /// The server refused a request: finds out what would help, and does it.
    async fn answer(
        self: &Arc<Self>,
        challenge: &Challenge,
        mut turn: Turn,
    ) -> Result<(), LoginError> {
        let hints = Hints::of(challenge);
        self.session().hints = hints.clone();
        let wanted = hints.scope.as_deref().map(Scopes::parse).unwrap_or_default();
        let wider = self.wider(challenge, &wanted)?;
        if wider.is_none() && self.is_renewable(&hints).await? {
            let renewed;
            (turn, renewed) = self.refresh(turn).await;
            match renewed {
                Ok(Renewed::Yes) => return Ok(()),
                Ok(Renewed::NoLogin) | Err(LoginError::Ended) => {}
                // Nobody should log in again because of a wrong secret, unless it is wanted elsewhere.
                Err(error) if may_pass(&error) || !self.has_moved(&hints).await => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        if challenge.status != 403 {
            self.session().held = None;
        } else if !self.can_ask() {
            // The login is as good as before, for everything else.
            return Err(LoginError::NeedsUser);
        }
        self.ask_anew(&hints, turn).await?;
        if challenge.status == 403 {
            self.session().stepped_up = wider;
        }
        Ok(())
    }

    /// Whether the server wants a login from another issuer than the one we have.
    async fn has_moved(&self, hints: &Hints) -> bool {
        let (Ok(plan), Ok(Some(login))) = (self.plan(hints).await, self.load().await) else {
            return false;
        };
        plan.found.server.issuer != login.issuer
    }

    /// Whether there is any way to a new authorization from here.
    fn can_ask(&self) -> bool {
        !self.options.grant.is_interactive() || self.options.interact.is_some()
    }

    /// Whether the stored login is worth a renewal: not for ever, and not at an issuer that was left.
    async fn is_renewable(&self, hints: &Hints) -> Result<bool, LoginError> {
        if !self.options.grant.is_interactive() {
            return Ok(false);
        }
        {
            let (mut session, now) = (self.session(), Instant::now());
            if session.held.as_ref().is_none_or(|held| !held.is_young(now)) {
                return Ok(true);
            }
            if !session.renewals.take(now) {
                return Ok(false);
            }
        }
        let found = self.plan(hints).await?.found.server.issuer;
        Ok(self.load().await?.is_some_and(|login| login.issuer == found))
    }

    /// What to ask for when more permissions are wanted than were. A refresh token cannot give those.
    fn wider(&self, challenge: &Challenge, wanted: &Scopes) -> Result<Option<Scopes>, LoginError> {
        let session = self.session();
        let asked = session.requested.clone().union(wanted);
        if challenge.status == 403 {
            if challenge.param("error") != Some("insufficient_scope") {
                return Err(LoginError::Forbidden);
            }
            // Asked for all of this because of a refusal, got a token, and was refused again: asking once
            // more would only open another window.
            if session.stepped_up.as_ref().is_some_and(|before| before.contains_all(&asked)) {
                return Err(LoginError::ScopeNotGranted);
            }
            return Ok(Some(asked));
        }
        // The token may simply be over, so where nobody can be asked it is renewed.
        let is_wider =
            session.held.is_some() && !session.requested.contains_all(&wanted.without_offline());
        Ok((is_wider && self.can_ask()).then_some(asked))
    }

    /// A whole new authorization, as often as is decent.
    async fn ask_anew(self: &Arc<Self>, hints: &Hints, turn: Turn) -> Result<(), LoginError> {
        let interact = self.options.interact.clone();
        if !self.can_ask() {
            self.options.vault.needs_auth().mark(&self.shelf.server).await;
            return Err(LoginError::NeedsUser);
        }
        if !self.session().attempts.take(Instant::now()) {
            return Err(LoginError::TooManyAttempts);
        }
        match (self.options.grant.way(), interact) {
            (Some(way), Some(interact)) => self.authorize(way, &*interact, hints, turn).await,
            _ => self.vouch(hints).await,
        }
    }

    /// Asks the server without credentials, to hear what it says about logging in.
    async fn knock(&self) -> Result<Hints, LoginError> {
        let url = &self.options.server;
        let request = self.fetch.request("POST", url).header("content-type", "application/json");
        let mut request = request.header("accept", "application/json, text/event-stream");
        request.body = Secret::new("{}");
        let response = self.fetch.send(request, "the server's challenge").await?;
        let mut challenge = Challenge::new(response.status, url.as_str());
        if response.status == 401 {
            let headers = response.headers.iter();
            for (_, value) in headers.filter(|(name, _)| name == "www-authenticate") {
                challenge.read(value);
            }
        }
        Ok(Hints::of(&challenge))
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
