//! State shared by all parts of one login.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_transport::{auth::AuthFailure, net::Guard};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::{
    client::Client,
    discover::source::EndpointSource,
    endpoint::{
        form_post::FormEndpoint,
        token::{TokenEndpoint, TokenResponse},
    },
    fetch::Fetch,
    form::Form,
    hints::Hints,
    login_store::{Login, LoginStore},
    options::OAuthOptions,
    plan::{Plan, find},
    register::{self, Applicant},
    session::Session,
};
use crate::{error::LoginError, event::AuthEvent, origin::web};

pub(crate) struct Context {
    pub(crate) options: OAuthOptions,
    pub(crate) logins: LoginStore,
    pub(crate) fetch: Fetch,
    session: Mutex<Session>,
    /// Serializes changes of the login.
    gate: Arc<AsyncMutex<()>>,
}

/// The exclusive right to change the login.
pub(crate) type Turn = OwnedMutexGuard<()>;

impl Context {
    pub(crate) fn new(mut options: OAuthOptions) -> Self {
        // Login requests are HTTP even if the server itself is a WebSocket.
        if let Some(url) = web(&options.server).filter(|_| !options.server.starts_with("http")) {
            options.server = url.into();
        }
        let logins = LoginStore::new(&options);
        let fetch = Fetch::new(options.http.clone(), Guard::for_server(&options.server));
        Self { options, logins, fetch, session: Mutex::default(), gate: Arc::default() }
    }

    pub(crate) fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn turn(&self) -> Turn {
        self.gate.clone().lock_owned().await
    }

    pub(crate) fn failure(&self, error: &LoginError) -> AuthFailure {
        tracing::debug!(server = self.logins.server(), %error, "no credentials");
        error.to_failure(&self.options.hint)
    }

    /// Whether a new authorization is possible without a call to `login`.
    pub(crate) fn can_authorize(&self) -> bool {
        !self.options.grant.is_interactive() || self.options.interact.is_some()
    }

    /// Loads the current login, if any.
    pub(crate) async fn load(&self) -> Result<Option<Login>, LoginError> {
        let login = self.logins.load().await;
        self.session().store_was_read();
        login
    }

    /// Discovers the authorization server, and decides which scopes and token type to request.
    pub(crate) async fn plan(&self, hints: &Hints) -> Result<Plan, LoginError> {
        let found = find(&self.fetch, &self.options, hints).await?;
        self.logins.check_issuer(&found.server.issuer).await?;
        let before = self.session().consent.requested.clone();
        Plan::decide(found, &self.options, hints, before)
    }

    /// Reports a new token, and clears the mark that the server requires a login.
    pub(crate) async fn announce(&self, event: impl FnOnce(String) -> AuthEvent) {
        self.options.vault.needs_auth().clear(self.logins.server()).await;
        self.logins.tell(event);
    }

    /// Returns the key under which client registrations with this issuer are stored.
    fn registrar(&self, issuer: &str) -> String {
        let source = EndpointSource::of(&self.options).unwrap_or(EndpointSource::Discovered);
        source.registrar(issuer).to_owned()
    }

    /// Returns that key if this crate registered the client, and so may register it again.
    pub(crate) fn registrar_of(&self, client: &Client, issuer: &str) -> Option<String> {
        let document = self.options.client_metadata_url.as_ref();
        let is_ours = self.options.client.is_none() && document != Some(&client.id);
        is_ours.then(|| self.registrar(issuer))
    }

    /// Returns the client for this issuer: the configured id, the client metadata document, or a registration.
    pub(crate) async fn client(
        &self,
        plan: &Plan,
        redirect_uri: Option<&str>,
        grant: &'static str,
    ) -> Result<Client, LoginError> {
        let (options, server) = (&self.options, &plan.found.server);
        // In the order of https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#client-registration-approaches
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
        register::register(&self.fetch, &options.vault, server, &registrar, &applicant).await
    }

    /// Deletes the stored registration if `error` says that the server does not know the client.
    pub(crate) async fn forget_unknown_client(&self, error: LoginError, plan: &Plan) -> LoginError {
        // Servers delete registrations without notice, and then reject the id with one of these errors:
        // https://www.rfc-editor.org/rfc/rfc6749#section-5.2
        if let LoginError::Refused { refusal, .. } = &error
            && matches!(refusal.code.as_str(), "invalid_client" | "unauthorized_client")
        {
            let registrar = self.registrar(&plan.found.server.issuer);
            if let Err(failed) = register::forget(&self.options.vault, &registrar).await {
                return failed;
            }
        }
        error
    }

    /// Returns the endpoint at `url` of the planned authorization server.
    pub(crate) fn endpoint<'a>(
        &'a self,
        plan: &'a Plan,
        url: &'a str,
        client: &'a Client,
    ) -> FormEndpoint<'a> {
        FormEndpoint { fetch: &self.fetch, url, issuer: &plan.found.server.issuer, client }
    }

    pub(crate) async fn request_token(
        &self,
        plan: &Plan,
        client: &Client,
        form: Form,
    ) -> Result<TokenResponse, LoginError> {
        let at = self.endpoint(plan, plan.found.server.token_endpoint()?, client);
        let endpoint = TokenEndpoint { at, dpop: plan.dpop.as_ref() };
        let response = self.exchange(&endpoint, form, "a token").await?;
        response.check_kind(self.options.dpop)?;
        Ok(response)
    }

    /// Sends a token request with the known nonces, and stores new ones.
    pub(crate) async fn exchange(
        &self,
        endpoint: &TokenEndpoint<'_>,
        form: Form,
        asking: &'static str,
    ) -> Result<TokenResponse, LoginError> {
        // A copy, because the lock must not be held while the request is under way.
        let mut nonces = self.session().nonces.clone();
        let response = endpoint.request(form, &mut nonces, asking).await;
        self.session().nonces.merge(nonces);
        response
    }
}
