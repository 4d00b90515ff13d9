//! A whole authorization, from discovery to tokens.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    Shared, Turn, authorize_url,
    client::Client,
    device,
    discovery::{Discovery, Quest, discover},
    dpop::{Dpop, DpopKey},
    error::LoginError,
    jwt::random_text,
    login::Login,
    options::Way,
    place::{Place, check_resource},
    registration::{self, Applicant},
    scopes::{Scopes, Wishes, choose},
    session::Hints,
    token::{Form, TokenEndpoint, TokenKind, TokenResponse},
    unsaved::Unsaved,
};
use crate::{
    event::AuthEvent,
    http::HttpError,
    interact::{Interact, Visit, redirect::RedirectUri},
};

/// How long it may take to find out where to log in. It is up to a dozen requests, one after the other.
const DISCOVERY_LIMIT: Duration = Duration::from_secs(60);

/// Everything that was decided before the person was asked.
pub(super) struct Plan {
    pub(super) found: Discovery,
    pub(super) scopes: Scopes,
    pub(super) dpop: Option<DpopKey>,
}

/// What there is once the person agreed: it takes no more asking.
pub(super) struct Agreed {
    pub(super) client: Client,
    pub(super) gain: Gain,
}

pub(super) enum Gain {
    /// Something to redeem.
    Form(Form),
    /// The token itself.
    Token(TokenResponse),
}

impl Shared {
    /// Runs an authorization with a person, who is asked this way. `turn` keeps others out until it is done.
    ///
    /// # Cancel safety
    /// Dropped while the person is asked, no login has changed (a client that was registered is not used again).
    /// Once there is something to redeem it is
    /// redeemed and stored in a task of its own.
    pub(super) async fn authorize(
        self: &Arc<Self>,
        way: Way,
        interact: &dyn Interact,
        hints: &Hints,
        turn: Turn,
    ) -> Result<(), LoginError> {
        let plan = self.plan(hints).await?;
        let agreed = match way {
            Way::Code => device::agree(self, &plan, interact).await?,
            Way::Browser => self.agree_in_browser(&plan, interact).await?,
        };
        let this = self.clone();
        let task = tokio::spawn(async move {
            let _turn = turn;
            this.redeem_and_keep(plan, agreed).await
        });
        task.await.unwrap_or(Err(LoginError::Ended))
    }

    /// Finds out where to log in, and decides what to ask for.
    pub(super) async fn plan(&self, hints: &Hints) -> Result<Plan, LoginError> {
        let options = &self.options;
        let place = Place::of(options)?;
        options.resource.as_deref().map_or(Ok(()), check_resource)?;
        let quest = Quest {
            endpoint: &options.server,
            named: hints.resource_metadata.as_deref(),
            legacy: options.legacy,
            place: &place,
            resource: options.resource.as_deref(),
            issuer: options.client.as_ref().and_then(|client| client.issuer.as_deref()),
        };
        let found = discover(&self.fetch, &quest);
        let late = |_| {
            let source = HttpError::TimedOut(DISCOVERY_LIMIT);
            LoginError::Http { asking: "the way to log in", source }
        };
        let found = tokio::time::timeout(DISCOVERY_LIMIT, found).await.map_err(late)??;
        self.check_issuer(&found.server.issuer).await?;
        let before = self.session().requested.clone();
        let scopes = choose(&Wishes {
            configured: Scopes::of(&options.scopes),
            before,
            challenged: hints.scope.as_deref(),
            resource: &found.scopes,
            server: &found.server.scopes_supported,
            wants_refresh: options.grant.is_interactive(),
        });
        let offers = found.server.dpop_algs.iter().any(|alg| alg == "ES256");
        let is_bound = match options.dpop {
            Dpop::Never => false,
            Dpop::WhenAsked => hints.wants_dpop && offers,
            Dpop::Always if offers => true,
            Dpop::Always => return Err(LoginError::NotOffered("tokens bound to a key")),
        };
        let dpop = if is_bound { Some(DpopKey::generate()?) } else { None };
        Ok(Plan { found, scopes, dpop })
    }

    /// Under which name clients are registered with this issuer.
    pub(super) fn registrar(&self, issuer: &str) -> String {
        let place = Place::of(&self.options).unwrap_or(Place::Discovered);
        place.registrar(issuer).to_owned()
    }

    /// A client id that was registered with one issuer means nothing, or somebody else, to another.
    async fn check_issuer(&self, issuer: &str) -> Result<(), LoginError> {
        let Some(given) = &self.options.client else { return Ok(()) };
        let store = &**self.options.vault.store();
        let known = match &given.issuer {
            Some(issuer) => Some(issuer.clone()),
            None => match self.shelf.bound(store).await? {
                Some(bound) => Some(bound),
                None => self.session().pinned.clone(),
            },
        };
        match known {
            Some(known) if known != issuer => Err(LoginError::IssuerChanged),
            _ => Ok(()),
        }
    }

    /// Who we are to this issuer: the id that was given, our document, or a registration.
    pub(super) async fn client(
        &self,
        plan: &Plan,
        redirect_uri: Option<&str>,
        grant: &'static str,
    ) -> Result<Client, LoginError> {
        let (options, server) = (&self.options, &plan.found.server);
        if let Some(given) = &options.client {
            return Client::pre_registered(given, server).await;
        }
        if let Some(url) = &options.client_metadata_url
            && server.takes_client_id_documents
        {
            return Ok(Client::public(url.clone()));
        }
        let scope = plan.scopes.to_param();
        let scope = scope.as_deref();
        let applicant = Applicant { name: &options.client_name, redirect_uri, grant, scope };
        let registrar = self.registrar(&server.issuer);
        registration::register(&self.fetch, &options.vault, server, &registrar, &applicant).await
    }

    async fn agree_in_browser(
        &self,
        plan: &Plan,
        interact: &dyn Interact,
    ) -> Result<Agreed, LoginError> {
        let (server, resource) = (&plan.found.server, &plan.found.resource);
        // Before anything is opened or registered.
        if !server.offers_pkce() {
            return Err(LoginError::NoPkce);
        }
        let fixed = self.options.redirect_uri.as_deref().map(str::parse::<RedirectUri>);
        let redirect = interact.prepare(fixed.transpose()?.as_ref()).await?;
        let uri = redirect.uri().to_owned();
        let client = self.client(plan, Some(&uri), "authorization_code").await?;
        let begun = authorize_url::begin(server, &client.id, &uri, resource, &plan.scopes)?;
        let visit = Visit::new(&begun.url, &begun.expected);
        let registrar = self.has_registered(&client).then(|| self.registrar(&server.issuer));
        // A server that has forgotten a client tells the person and not us, so one that comes to nothing
        // is not used again.
        if let Some(registrar) = &registrar
            && let Err(error) = registration::forget(&self.options.vault, registrar).await
        {
            tracing::debug!(%error, "a client registration was not forgotten");
        }
        let redirected = redirect.visit(visit).await?;
        // State and issuer are checked here, before the code goes anywhere.
        let code = begun.expected.code(redirected.expose());
        if let (Some(registrar), Ok(_) | Err(LoginError::Denied(_))) = (&registrar, &code) {
            registration::keep(&self.options.vault, registrar, &client, Some(&uri)).await;
        }
        let code = code?;
        let form = Form::new("authorization_code")
            .with("code", code.expose())
            .with("redirect_uri", &uri)
            .with("code_verifier", begun.verifier.expose())
            .with("resource", resource);
        Ok(Agreed { client, gain: Gain::Form(form) })
    }

    async fn redeem_and_keep(&self, plan: Plan, agreed: Agreed) -> Result<(), LoginError> {
        let Agreed { client, gain } = agreed;
        let response = match gain {
            Gain::Form(form) => self.ask_for_token(&plan, &client, form, "a token").await,
            Gain::Token(response) => Ok(response),
        };
        match response {
            Ok(response) => self.keep_login(plan, client, response).await,
            Err(error) => Err(self.disown(error, &plan).await),
        }
    }

    /// Forgets a client that the server does not know any more, if that is what the error says.
    pub(super) async fn disown(&self, error: LoginError, plan: &Plan) -> LoginError {
        if let LoginError::Refused { refusal, .. } = &error
            && matches!(refusal.code.as_str(), "invalid_client" | "unauthorized_client")
        {
            let registrar = self.registrar(&plan.found.server.issuer);
            if let Err(failed) = registration::forget(&self.options.vault, &registrar).await {
                return failed;
            }
        }
        error
    }

    pub(super) async fn ask_for_token(
        &self,
        plan: &Plan,
        client: &Client,
        form: Form,
        asking: &'static str,
    ) -> Result<TokenResponse, LoginError> {
        let server = &plan.found.server;
        let endpoint = TokenEndpoint {
            fetch: &self.fetch,
            url: server.token_endpoint()?,
            issuer: &server.issuer,
            client,
            dpop: plan.dpop.as_ref(),
        };
        let mut nonces = self.session().nonces.clone();
        let response = endpoint.ask(form, &mut nonces, asking).await;
        self.session().nonces.merge(nonces);
        let response = response?;
        self.check_kind(&response)?;
        Ok(response)
    }

    /// Where tokens must be bound, one that anybody could show is refused.
    pub(super) fn check_kind(&self, response: &TokenResponse) -> Result<(), LoginError> {
        if self.options.dpop == Dpop::Always && response.kind != TokenKind::Dpop {
            return Err(LoginError::NotOffered("tokens bound to a key"));
        }
        Ok(())
    }

    /// Takes the token in hand and stores the login. A login that cannot be stored still works until this
    /// process ends.
    async fn keep_login(
        &self,
        plan: Plan,
        client: Client,
        response: TokenResponse,
    ) -> Result<(), LoginError> {
        let Plan { found, scopes, dpop } = plan;
        let refresh = response.refresh.clone();
        {
            let mut session = self.session();
            session.requested = scopes.clone();
            session.hold(response, dpop.clone(), Instant::now());
        }
        let issuer = found.server.issuer.clone();
        let login = match refresh {
            None => None,
            Some(refresh) => Some(Login {
                generation: random_text()?,
                issuer: issuer.clone(),
                token_endpoint: found.server.token_endpoint()?.to_owned(),
                revocation_endpoint: found.server.revocation_endpoint,
                resource: found.resource,
                client,
                scopes,
                refresh,
                dpop,
            }),
        };
        let vault = &self.options.vault;
        let server = self.shelf.server.clone();
        let is_renewable = login.is_some();
        if let Err(error) = self.store_login(&issuer, login).await {
            self.tell_not_stored(&error.to_string());
        } else if !is_renewable {
            self.tell_not_stored("the server gave nothing to renew it with");
        }
        vault.needs_auth().clear(&server).await;
        vault.on_event().tell(&AuthEvent::LoggedIn { server });
        Ok(())
    }

    async fn store_login(&self, issuer: &str, login: Option<Login>) -> Result<(), LoginError> {
        let Some(login) = login else {
            self.session().unsaved = None;
            // What is left of an earlier login is not this one's.
            let _lock = self.options.vault.lock(&self.shelf.pointer()).await?;
            let store = &**self.options.vault.store();
            self.shelf.drop_login(store, issuer).await?;
            return self.shelf.point(store, issuer).await;
        };
        let lock = self.options.vault.lock(&self.shelf.pointer()).await;
        let saved = match &lock {
            Ok(_) => self.save(&login).await,
            Err(_) => Ok(()),
        };
        let last = self.session().unsaved.take();
        let is_saved = lock.is_ok() && saved.is_ok();
        let unsaved = match (is_saved, last) {
            (true, last) => last.map(|last| last.followed_by(login, None).saved()),
            (false, Some(last)) => Some(last.followed_by(login, None)),
            (false, None) => {
                // Whatever is stored is older than this one.
                Some(match self.load_stored().await {
                    Ok(stored) => Unsaved::new(login, stored.map(|stored| stored.generation)),
                    Err(_) => Unsaved::blind(login),
                })
            }
        };
        self.session().unsaved = unsaved;
        lock?;
        saved
    }
}
