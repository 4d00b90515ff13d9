//! Grants that need nobody: the client itself, a company's identity provider, or the platform vouches.

use tokio::time::Instant;

use super::{
    Shared,
    client::{AuthMethod, Client},
    dpop::Nonces,
    error::LoginError,
    flow::Plan,
    jwt::{check_assertion, unix_now},
    options::{Enterprise, Grant},
    refresh::Renewed,
    session::Hints,
    token::{Form, TokenEndpoint, TokenResponse},
};
use crate::{event::AuthEvent, secret::Secret, source::Source};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const SAML: &str = "urn:ietf:params:oauth:token-type:saml2";

impl Shared {
    /// Obtains a token without a person. Only the issuer is stored: a token can be had again at any time.
    pub(super) async fn vouch(&self, hints: &Hints) -> Result<(), LoginError> {
        let plan = self.plan(hints).await?;
        self.vouch_with(plan).await
    }

    /// The same, where everything is known from last time.
    pub(super) async fn vouch_again(&self) -> Result<Renewed, LoginError> {
        let plan = {
            let session = self.session();
            let (scopes, dpop) = (session.requested.clone(), session.machine_key.clone());
            session.found.clone().map(|found| Plan { found, scopes, dpop })
        };
        match plan {
            Some(plan) => self.vouch_with(plan).await.map(|()| Renewed::Yes),
            None => Ok(Renewed::NoLogin),
        }
    }

    async fn vouch_with(&self, plan: Plan) -> Result<(), LoginError> {
        let response = match &self.options.grant {
            Grant::Enterprise(idp) => self.ask_enterprise(&plan, idp).await?,
            Grant::Workload(assertion) => self.ask_workload(&plan, assertion).await?,
            _ => self.ask_client_credentials(&plan).await?,
        };
        let Plan { found, scopes, dpop } = plan;
        let issuer = found.server.issuer.clone();
        {
            let mut session = self.session();
            session.pinned = Some(issuer.clone());
            session.requested = scopes;
            session.machine_key.clone_from(&dpop);
            session.found = Some(found);
            session.hold(response, dpop, Instant::now());
        }
        self.pin(&issuer).await;
        let vault = &self.options.vault;
        let server = self.shelf.server.clone();
        vault.needs_auth().clear(&server).await;
        vault.on_event().tell(&AuthEvent::LoggedIn { server });
        Ok(())
    }

    /// Remembers the issuer that our credential belongs to, so that no other is ever shown it.
    async fn pin(&self, issuer: &str) {
        let vault = &self.options.vault;
        let pinned = async {
            let _lock = vault.lock(&self.shelf.pointer()).await?;
            self.shelf.point(&**vault.store(), issuer).await
        };
        if let Err(error) = pinned.await {
            self.tell_not_stored(&error.to_string());
        }
    }

    async fn ask_client_credentials(&self, plan: &Plan) -> Result<TokenResponse, LoginError> {
        let client = self.given_client(plan).await?;
        let form = Form::new("client_credentials")
            .with("resource", &plan.found.resource)
            .with_some("scope", plan.scopes.to_param().as_deref());
        self.ask_for_token(plan, &client, form, "a token").await
    }

    /// First a grant for this very server from the company's provider, then a token for the grant.
    async fn ask_enterprise(
        &self,
        plan: &Plan,
        idp: &Enterprise,
    ) -> Result<TokenResponse, LoginError> {
        let subject = idp.subject.read().await?;
        if !idp.is_saml {
            check_assertion(&subject, unix_now(), None)?;
        }
        let at_idp = match &idp.client_secret {
            None => Client::public(&idp.client_id),
            Some(source) => {
                let (id, secret) = (idp.client_id.clone(), source.read().await?);
                Client::with_secret(id, secret, AuthMethod::Basic)
            }
        };
        let form = Form::new(EXCHANGE)
            .with("requested_token_type", ID_JAG)
            .with("audience", &plan.found.server.issuer)
            .with("resource", &plan.found.resource)
            .with("subject_token", subject.expose())
            .with("subject_token_type", if idp.is_saml { SAML } else { ID_TOKEN })
            .with_some("scope", plan.scopes.to_param().as_deref());
        let endpoint = TokenEndpoint {
            // The administrator named this address, so its own surroundings count.
            fetch: &self.fetch.for_server(&idp.token_endpoint),
            url: &idp.token_endpoint,
            issuer: &idp.token_endpoint,
            client: &at_idp,
            dpop: None,
        };
        let asking = "a grant from the identity provider";
        let grant = endpoint.ask(form, &mut Nonces::default(), asking).await?;
        if grant.issued_type.as_deref() != Some(ID_JAG) {
            let why = "it is a token of another kind";
            return Err(LoginError::BadDocument { what: asking, why });
        }
        let client = self.given_client(plan).await?;
        self.ask_with_assertion(plan, &client, &grant.access).await
    }

    async fn ask_workload(
        &self,
        plan: &Plan,
        assertion: &Source,
    ) -> Result<TokenResponse, LoginError> {
        let assertion = assertion.read().await?;
        // The MCP server says where to log in, and must not collect what was made for somebody else.
        check_assertion(&assertion, unix_now(), Some(&plan.found.server.issuer))?;
        let client = self.given_client(plan).await?;
        self.ask_with_assertion(plan, &client, &assertion).await
    }

    async fn ask_with_assertion(
        &self,
        plan: &Plan,
        client: &Client,
        assertion: &Secret,
    ) -> Result<TokenResponse, LoginError> {
        let form = Form::new(JWT_BEARER)
            .with("assertion", assertion.expose())
            .with("resource", &plan.found.resource)
            .with_some("scope", plan.scopes.to_param().as_deref());
        self.ask_for_token(plan, client, form, "a token").await
    }

    /// These grants are for clients that are known beforehand.
    async fn given_client(&self, plan: &Plan) -> Result<Client, LoginError> {
        let given = self.options.client.as_ref().ok_or(LoginError::NoClientId)?;
        Client::pre_registered(given, &plan.found.server).await
    }
}
