//! A stored login, with all data needed to renew it without discovery.

use serde_json::{Value, json};

use crate::{
    oauth::{
        client::Client,
        document::{object, text},
        proof::{dpop::DpopKey, jwt::random_text},
        scopes::Scopes,
    },
    secret::Secret,
};

/// One login of one account at one server. Access tokens are not part of it; they stay in memory.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    /// Changes with the refresh token, so that a process does not delete a newer login.
    pub(crate) generation: String,
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) resource: String,
    pub(crate) client: Client,
    pub(crate) scopes: Scopes,
    pub(crate) refresh: Secret,
    pub(crate) dpop: Option<DpopKey>,
}

impl Login {
    /// Returns the login with a new refresh token and generation.
    pub(crate) fn renewed(&self, refresh: Secret) -> Self {
        Self { generation: random_text(), refresh, ..self.clone() }
    }

    pub(super) fn to_secret(&self) -> Secret {
        let record = json!({
            "version": 1,
            "generation": self.generation,
            "issuer": self.issuer,
            "token_endpoint": self.token_endpoint,
            "revocation_endpoint": self.revocation_endpoint,
            "resource": self.resource,
            "client": self.client.to_json(),
            "scope": self.scopes.to_param(),
            "refresh_token": self.refresh.expose(),
            "dpop": self.dpop.as_ref().map(|key| key.to_stored().expose()),
        });
        Secret::new(record.to_string())
    }

    pub(super) fn from_secret(secret: &Secret) -> Option<Self> {
        let record = object(secret.expose().as_bytes())?;
        let dpop = match &record["dpop"] {
            Value::String(stored) => Some(DpopKey::restore(&Secret::new(stored.as_str())).ok()?),
            _ => None,
        };
        Some(Self {
            generation: text(&record, "generation")?,
            issuer: text(&record, "issuer")?,
            token_endpoint: text(&record, "token_endpoint")?,
            revocation_endpoint: text(&record, "revocation_endpoint"),
            resource: text(&record, "resource")?,
            client: Client::from_json(&record["client"])?,
            scopes: Scopes::parse(record["scope"].as_str().unwrap_or_default()),
            refresh: record["refresh_token"].as_str().map(Secret::new)?,
            dpop,
        })
    }
}
