//! Grants without a user: client credentials, an enterprise identity provider, or workload identity.

use tokio::time::Instant;

use crate::{
    credentials::Source,
    error::LoginError,
    event::AuthEvent,
    oauth::{
        client::{AuthMethod, Client},
        context::Context,
        endpoint::{
            form_post::FormEndpoint,
            token::{TokenEndpoint, TokenResponse},
        },
        form::Form,
        hints::Hints,
        options::{Enterprise, Grant},
        plan::Plan,
        proof::{
            dpop::Nonces,
            jwt::{check_assertion, unix_now},
        },
    },
    secret::Secret,
};

/// <https://www.rfc-editor.org/rfc/rfc7523#section-2.1>
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// <https://www.rfc-editor.org/rfc/rfc8693#section-2.1>
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// <https://datatracker.ietf.org/doc/html/draft-ietf-oauth-identity-assertion-authz-grant>
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// <https://www.rfc-editor.org/rfc/rfc8693#section-3>
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const SAML: &str = "urn:ietf:params:oauth:token-type:saml2";

/// Obtains a token without a user. Only the issuer is stored, because a new token can be requested at any time.
pub(crate) async fn obtain_machine_token(
    context: &Context,
    hints: &Hints,
) -> Result<(), LoginError> {
    let plan = context.plan(hints).await?;
    exchange(context, plan).await
}

/// Obtains a token with the plan of the last one. Returns `false` if there is none.
pub(crate) async fn renew_machine_token(context: &Context) -> Result<bool, LoginError> {
    let plan = context.session().machine.clone();
    match plan {
        Some(plan) => exchange(context, plan).await.map(|()| true),
        None => Ok(false),
    }
}

async fn exchange(context: &Context, plan: Plan) -> Result<(), LoginError> {
    let response = match &context.options.grant {
        Grant::Enterprise(idp) => request_for_enterprise(context, &plan, idp).await?,
        Grant::Workload(assertion) => request_for_workload(context, &plan, assertion).await?,
        _ => request_for_client(context, &plan).await?,
    };
    let issuer = plan.found.server.issuer.clone();
    {
        let mut session = context.session();
        session.hold(response, plan.scopes.clone(), plan.dpop.clone(), Instant::now());
        session.machine = Some(plan);
    }
    if let Err(error) = context.logins.pin(&issuer).await {
        context.logins.tell_not_stored(&error.to_string());
    }
    context.announce(|server| AuthEvent::LoggedIn { server }).await;
    Ok(())
}

async fn request_for_client(context: &Context, plan: &Plan) -> Result<TokenResponse, LoginError> {
    let client = configured_client(context, plan).await?;
    // https://www.rfc-editor.org/rfc/rfc6749#section-4.4.2
    let form = Form::new("client_credentials")
        .with("resource", &plan.found.resource)
        .with_some("scope", plan.scopes.to_param().as_deref());
    context.request_token(plan, &client, form).await
}

/// Requests a grant for this server from the enterprise identity provider, then a token with that grant.
async fn request_for_enterprise(
    context: &Context,
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
    let at = FormEndpoint {
        // The administrator configured this URL, so it is checked on its own and not against the MCP server.
        fetch: &context.fetch.for_server(&idp.token_endpoint),
        url: &idp.token_endpoint,
        issuer: &idp.token_endpoint,
        client: &at_idp,
    };
    let asking = "a grant from the identity provider";
    let endpoint = TokenEndpoint { at, dpop: None };
    let grant = endpoint.request(form, &mut Nonces::default(), asking).await?;
    // Another type could be a token for the identity provider itself, which must not be sent on. Servers must name the
    // type: https://www.rfc-editor.org/rfc/rfc8693#section-2.2.1
    if grant.issued_type.as_deref() != Some(ID_JAG) {
        let why = "it has another token type";
        return Err(LoginError::BadDocument { what: asking, why });
    }
    let client = configured_client(context, plan).await?;
    request_with_assertion(context, plan, &client, &grant.access).await
}

async fn request_for_workload(
    context: &Context,
    plan: &Plan,
    assertion: &Source,
) -> Result<TokenResponse, LoginError> {
    let assertion = assertion.read().await?;
    // The MCP server names the authorization server, and must not obtain an assertion made for another one.
    check_assertion(&assertion, unix_now(), Some(&plan.found.server.issuer))?;
    let client = configured_client(context, plan).await?;
    request_with_assertion(context, plan, &client, &assertion).await
}

async fn request_with_assertion(
    context: &Context,
    plan: &Plan,
    client: &Client,
    assertion: &Secret,
) -> Result<TokenResponse, LoginError> {
    let form = Form::new(JWT_BEARER)
        .with("assertion", assertion.expose())
        .with("resource", &plan.found.resource)
        .with_some("scope", plan.scopes.to_param().as_deref());
    context.request_token(plan, client, form).await
}

/// Returns the configured client, which these grants require.
async fn configured_client(context: &Context, plan: &Plan) -> Result<Client, LoginError> {
    let given = context.options.client.as_ref().ok_or(LoginError::NoClientId)?;
    Client::pre_registered(given, &plan.found.server).await
}
