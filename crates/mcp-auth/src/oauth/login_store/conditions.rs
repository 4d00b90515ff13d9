//! The settings that a login depends on.

use serde_json::{Value, json};

use crate::oauth::{document::text, options::OAuthOptions};

/// The user's settings that a login depends on. A login made with other settings is not used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoginConditions {
    /// The id of the configured client.
    pub(crate) client: Option<String>,
    /// The configured metadata or token URL. Stored as `place`.
    pub(crate) source_url: Option<String>,
    pub(crate) resource: Option<String>,
}

impl LoginConditions {
    pub(crate) fn of(options: &OAuthOptions) -> Self {
        Self {
            client: options.client.as_ref().map(|client| client.id.clone()),
            source_url: options.metadata_url.clone().or_else(|| options.token_url.clone()),
            resource: options.resource.clone(),
        }
    }

    /// Encodes the settings in a record that also names the issuer.
    pub(crate) fn to_record(&self, issuer: &str) -> Value {
        json!({
            "version": 1,
            "issuer": issuer,
            "client": self.client,
            "place": self.source_url,
            "resource": self.resource,
        })
    }

    pub(crate) fn from_record(record: &Value) -> Self {
        let get = |name| text(record, name);
        Self { client: get("client"), source_url: get("place"), resource: get("resource") }
    }

    /// Whether a login made with the settings `other` may be used. Its client is checked separately.
    pub(crate) fn allow(&self, other: &Self) -> bool {
        (&self.source_url, &self.resource) == (&other.source_url, &other.resource)
    }

    /// Whether a client used with an issuer under the settings `other` is bound to that issuer: the user's settings
    /// have not changed, so a different issuer can only come from the server.
    pub(crate) fn bind(&self, other: &Self) -> bool {
        (&self.client, &self.source_url) == (&other.client, &other.source_url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_conditions_are_read_back_unchanged() {
        let conditions = LoginConditions {
            client: Some("me".into()),
            source_url: None,
            resource: Some("urn:x".into()),
        };
        assert_eq!(
            LoginConditions::from_record(&conditions.to_record("https://as.test")),
            conditions
        );
        assert_eq!(LoginConditions::from_record(&json!({})), LoginConditions::default());
    }
}
