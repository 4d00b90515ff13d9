//! Dynamic client registration: <https://www.rfc-editor.org/rfc/rfc7591>.

use serde_json::{Value, json};

use super::{
    client::{AuthMethod, Client},
    document::object,
    fetch::Fetch,
    metadata::ServerMetadata,
};
use crate::{
    error::{LoginError, Refusal},
    http::HttpResponse,
    secret::Secret,
    store::{Key, Vault},
};

const ASKING: &str = "the registration of a client";

/// The client metadata of a registration.
#[derive(Clone, Debug)]
pub(crate) struct Applicant<'a> {
    pub(crate) name: &'a str,
    pub(crate) redirect_uri: Option<&'a str>,
    pub(crate) grant: &'static str,
    pub(crate) scope: Option<&'a str>,
}

/// Registers a client dynamically, or returns the stored registration for the same `registrar` and redirect URL.
/// `registrar` is the issuer if it is verified. The registration is stored after its first successful use: see
/// [`keep`].
pub(crate) async fn register(
    fetch: &Fetch,
    vault: &Vault,
    server: &ServerMetadata,
    registrar: &str,
    applicant: &Applicant<'_>,
) -> Result<Client, LoginError> {
    // Without the endpoint, the user must register a client by hand: https://www.rfc-editor.org/rfc/rfc8414#section-2
    let endpoint = server.registration_endpoint.as_deref().ok_or(LoginError::NoClientId)?;
    let key = stored_under(registrar);
    if let Some(client) = stored(vault, &key, applicant).await {
        return Ok(client);
    }
    let method = wanted(server);
    let body = request(applicant, method);
    let request = fetch.request("POST", endpoint).header("content-type", "application/json");
    let mut request = request.header("accept", "application/json");
    request.body = Secret::new(body.to_string());
    let response = fetch.send(request, ASKING).await?;
    let document = read(&response)?;
    Client::from_registration(&document, method)
        .ok_or(LoginError::BadDocument { what: ASKING, why: "the response lacks `client_id`" })
}

/// Stores a registration that its server has accepted. If that fails, the next login registers again.
pub(crate) async fn keep(vault: &Vault, registrar: &str, client: &Client, redirect: Option<&str>) {
    let record = json!({ "client": client.to_json(), "redirect": redirect });
    let (key, record) = (stored_under(registrar), Secret::new(record.to_string()));
    if let Err(error) = vault.store().set(&key, record).await {
        tracing::warn!(%error, "could not store a client registration");
    }
}

/// Deletes a registration that its server no longer knows.
pub(crate) async fn forget(vault: &Vault, registrar: &str) -> Result<(), LoginError> {
    vault.store().delete(&stored_under(registrar)).await?;
    Ok(())
}

/// Returns the key of a registration, which belongs to the issuer and is shared by all its MCP servers.
fn stored_under(registrar: &str) -> Key {
    Key::new("", registrar, "registration")
}

/// Returns the stored registration. A store that cannot be read counts as empty, because registering again is cheap.
async fn stored(vault: &Vault, key: &Key, applicant: &Applicant<'_>) -> Option<Client> {
    let record = vault.store().get(key).await.ok()??;
    let record = object(record.expose().as_bytes())?;
    // Servers compare redirect URLs as strings: https://www.rfc-editor.org/rfc/rfc6749#section-3.1.2.3
    let is_same = record["redirect"].as_str() == applicant.redirect_uri;
    is_same.then(|| Client::from_json(&record["client"])).flatten()
}

/// Prefers `none`, because a native client cannot keep a secret: <https://www.rfc-editor.org/rfc/rfc8252#section-8.5>.
fn wanted(server: &ServerMetadata) -> AuthMethod {
    let lists = |method: AuthMethod| server.lists_auth(method.name());
    match lists(AuthMethod::None) {
        None | Some(true) => AuthMethod::None,
        Some(false) => AuthMethod::with_secret(server),
    }
}

fn request(applicant: &Applicant<'_>, method: AuthMethod) -> Value {
    let mut body = json!({
        "client_name": applicant.name,
        // Without it a server assumes a web application, which may not use localhost:
        // https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata
        "application_type": "native",
        "grant_types": [applicant.grant, "refresh_token"],
        "token_endpoint_auth_method": method.name(),
    });
    if let Some(uri) = applicant.redirect_uri {
        body["redirect_uris"] = json!([uri]);
        body["response_types"] = json!(["code"]);
    }
    if let Some(scope) = applicant.scope {
        body["scope"] = scope.into();
    }
    body
}

fn read(response: &HttpResponse) -> Result<Value, LoginError> {
    let document = object(&response.body);
    match response.status {
        // The status is 201 (https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1), but some servers respond with 200.
        200..=299 => document
            .ok_or(LoginError::BadDocument { what: ASKING, why: "the response is not JSON" }),
        status => {
            let code = match (&document, status) {
                (_, 429 | 500..=599) => "temporarily_unavailable",
                (Some(document), _) => document["error"].as_str().unwrap_or_default(),
                (None, _) => "",
            };
            let description = document.as_ref().and_then(|d| d["error_description"].as_str());
            let refusal = Refusal::new(code, description);
            Err(LoginError::Refused { asking: ASKING, refusal })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registration_declares_a_native_client() {
        let applicant = Applicant {
            name: "x",
            redirect_uri: Some("http://127.0.0.1:1/callback"),
            grant: "authorization_code",
            scope: Some("a b"),
        };
        let body = request(&applicant, AuthMethod::None);
        assert_eq!(body["application_type"], "native");
        assert_eq!(body["grant_types"], json!(["authorization_code", "refresh_token"]));
        assert_eq!(body["redirect_uris"], json!(["http://127.0.0.1:1/callback"]));
        assert_eq!(body["scope"], "a b");
    }

    #[test]
    fn registration_requests_no_secret_unless_the_server_needs_one() {
        let server = |methods: Option<&[&str]>| ServerMetadata {
            auth_methods: methods.map(|m| m.iter().map(|&m| m.to_owned()).collect()),
            ..ServerMetadata::default()
        };
        assert_eq!(wanted(&server(None)), AuthMethod::None);
        assert_eq!(wanted(&server(Some(&["none", "client_secret_basic"]))), AuthMethod::None);
        assert_eq!(wanted(&server(Some(&["client_secret_post"]))), AuthMethod::Post);
        assert_eq!(wanted(&server(Some(&["client_secret_basic"]))), AuthMethod::Basic);
    }
}
