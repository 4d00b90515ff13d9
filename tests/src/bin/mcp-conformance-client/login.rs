//! Credentials from the context of a scenario, set with the same options that a host reads from its configuration.

use std::{io, sync::Arc};

use mcp_auth::{
    ClientProof, Enterprise, Grant, InteractError, OAuth, OAuthOptions, OnEvent, PreRegistered,
    Secret, SigningKey, Source, guard::GuardedClient, interact::Paste, store::Vault,
};
use mcp_transport::net::TlsOptions;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::Failure;

/// The URL of the client metadata document. It is not served.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// The maximum length of a response head.
const LONGEST_HEAD: u64 = 64 * 1024;

pub(crate) fn authorizer(url: &str, context: &Value) -> Result<OAuth, Failure> {
    let vault = Arc::new(Vault::in_memory(OnEvent::default()));
    let mut options =
        OAuthOptions::new(url, vault, Arc::new(GuardedClient::new(&TlsOptions::default())?));
    options.client_name = "mcp-conformance-client".into();
    options.client_metadata_url = Some(DOCUMENT.into());
    options.client = client(context)?;
    options.grant = grant(context);
    options.interact = Some(Arc::new(Paste::new(Arc::new(|page| Box::pin(visit(page))))));
    Ok(OAuth::new(options))
}

/// The pre-registered client, if the context has one.
fn client(context: &Value) -> Result<Option<PreRegistered>, Failure> {
    let Some(id) = context["client_id"].as_str() else { return Ok(None) };
    let proof = match (context["client_secret"].as_str(), context["private_key_pem"].as_str()) {
        (_, Some(pem)) => ClientProof::Key(SigningKey::from_pem(&Secret::new(pem))?),
        (Some(secret), None) => ClientProof::Secret(value(secret)),
        (None, None) => ClientProof::None,
    };
    Ok(Some(PreRegistered::new(id, proof)))
}

fn grant(context: &Value) -> Grant {
    let text = |name: &str| context[name].as_str();
    if let Some(token) = text("idp_id_token") {
        let endpoint = text("idp_token_endpoint").unwrap_or_default();
        let id = text("idp_client_id").unwrap_or_default();
        return Grant::Enterprise(Enterprise::new(endpoint, id, value(token)));
    }
    if let Some(token) = text("valid_jwt") {
        return Grant::Workload(value(token));
    }
    // A registered client may log in a user or itself; only the name of the scenario tells which.
    match text("name") {
        Some(name) if name.contains("client-credentials") => Grant::ClientCredentials,
        _ => Grant::AuthorizationCode,
    }
}

fn value(secret: &str) -> Source {
    Source::Value(Secret::new(secret))
}

/// A minimal browser: requests the page and returns the redirect target.
async fn visit(page: String) -> Result<Secret, InteractError> {
    ask(&page).await.map(Secret::new).map_err(InteractError::Browser)
}

async fn ask(page: &str) -> io::Result<String> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let rest = page.strip_prefix("http://").ok_or_else(invalid)?;
    let (host, path) = rest.split_once('/').ok_or_else(invalid)?;
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST_HEAD).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let location = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    location.ok_or_else(invalid)
}
