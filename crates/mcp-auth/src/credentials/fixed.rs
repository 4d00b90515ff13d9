//! Static credentials: a bearer token, an API key in any header, or the headers printed by a command.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_transport::{
    Authorize, BoxFuture, ErrorClass,
    auth::{AuthFailure, Challenge, Credentials, Target},
};

use super::{
    helper::Helper,
    source::{Source, SourceError},
};
use crate::{
    origin::same_origin,
    secret::Secret,
    store::{NeedsAuth, fingerprint, signature},
};

/// Sends the same credentials with every request to one origin.
///
/// When the server rejects them they are read again, so that a rotated value is picked up. OAuth is never started
/// without being configured.
///
/// ```
/// use mcp_auth::{Secret, Source, StaticAuth};
///
/// let token = Source::Value(Secret::new("s3cret"));
/// let auth = StaticAuth::bearer("https://example.com/mcp", token)
///     .and_header("x-tenant", Source::Env("TENANT".into()));
/// assert!(!format!("{auth:?}").contains("s3cret"));
/// ```
pub struct StaticAuth {
    server: String,
    parts: Vec<Part>,
    last: Mutex<Last>,
    /// The cache of rejected credentials.
    refusals: Option<NeedsAuth>,
}

enum Part {
    Header { name: String, prefix: &'static str, source: Source },
    Helper(Arc<Helper>),
}

impl Part {
    /// Describes the header and the source of its value.
    fn describe(&self) -> String {
        match self {
            Part::Header { name, source, .. } => match source.description() {
                Some(from) => format!("`{name}` (from {from})"),
                None => format!("`{name}`"),
            },
            Part::Helper(helper) => format!("from the command `{}`", helper.program()),
        }
    }
}

/// The headers sent last, kept to notice a change.
#[derive(Default)]
struct Last {
    headers: Vec<(String, Secret)>,
    stamp: u64,
}

impl StaticAuth {
    /// Sends `Authorization: Bearer …` to the server at this URL.
    pub fn bearer(server: impl Into<String>, source: Source) -> Self {
        let name = "authorization".to_owned();
        Self::over(server, Part::Header { name, prefix: "Bearer ", source })
    }

    /// Sends a key in the header of this name, without a prefix.
    pub fn api_key(server: impl Into<String>, header: impl Into<String>, source: Source) -> Self {
        Self::over(server, Part::Header { name: header.into(), prefix: "", source })
    }

    /// Sends the headers that a command prints.
    pub fn helper(server: impl Into<String>, helper: Arc<Helper>) -> Self {
        Self::over(server, Part::Helper(helper))
    }

    /// Adds a header.
    #[must_use]
    pub fn and_header(mut self, header: impl Into<String>, source: Source) -> Self {
        self.parts.push(Part::Header { name: header.into(), prefix: "", source });
        self
    }

    fn over(server: impl Into<String>, part: Part) -> Self {
        Self { server: server.into(), parts: vec![part], last: Mutex::default(), refusals: None }
    }

    /// Remembers in `marks` that the server rejected these values. Other values for the server are not affected.
    #[must_use]
    pub fn remembering_refusals(mut self, marks: NeedsAuth) -> Self {
        self.refusals = Some(marks);
        self
    }

    /// Whether the server recently rejected these credentials. Reads small files only: it runs no command and does
    /// not open the secret store.
    pub fn is_refused_blocking(&self) -> bool {
        self.refusals.as_ref().is_some_and(|marks| marks.is_marked_blocking(&self.mark()))
    }

    /// Clears the mark of a rejection, for example after the server accepted the credentials.
    pub async fn forget_refusal(&self) {
        if let Some(marks) = &self.refusals {
            marks.clear(&self.mark()).await;
        }
    }

    /// The key of a rejection: the server, and a fingerprint of those values that can be read without waiting.
    fn mark(&self) -> String {
        let values = self.parts.iter().filter_map(|part| match part {
            Part::Header { source, .. } => source.peek(),
            Part::Helper(_) => None,
        });
        let values: Vec<Secret> = values.collect();
        format!("{}#{}", signature(&self.server), fingerprint(&values))
    }

    /// Builds the failure for a rejection. A 401 is remembered; a 403 concerns one request, not the credentials.
    async fn refused(&self, status: u16) -> AuthFailure {
        if let Some(marks) = self.refusals.as_ref().filter(|_| status == 401) {
            marks.mark(&self.mark()).await;
        }
        AuthFailure::of_headers(status, self.parts.iter().map(Part::describe))
    }

    async fn read(&self) -> Result<Vec<(String, Secret)>, SourceError> {
        let mut headers = Vec::new();
        for part in &self.parts {
            match part {
                Part::Header { name, prefix, source } => {
                    let value = source.read().await?;
                    headers
                        .push((name.clone(), Secret::new(format!("{prefix}{}", value.expose()))));
                }
                Part::Helper(helper) => {
                    headers.extend(helper.headers().await.map_err(SourceError::Helper)?);
                }
            }
        }
        let is_fit = |(name, value): &(String, Secret)| is_name(name) && is_value(value.expose());
        if headers.iter().all(is_fit) { Ok(headers) } else { Err(SourceError::NotAHeader) }
    }

    /// Returns the stamp of these headers, which changes whenever the headers change.
    fn stamp(&self, headers: &[(String, Secret)]) -> u64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.headers != headers {
            last.headers = headers.to_vec();
            last.stamp += 1;
        }
        last.stamp
    }
}

impl Authorize for StaticAuth {
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async move {
            // Send nothing to a redirect, an icon or an endpoint on another host.
            if !same_origin(&self.server, target.url) {
                return Ok(Credentials::default());
            }
            let headers = self.read().await.map_err(|error| failure(&error))?;
            let stamp = self.stamp(&headers);
            let plain = |(name, value): (String, Secret)| (name, value.expose().to_owned());
            let mut credentials = Credentials::default().stamped(stamp);
            credentials.headers = headers.into_iter().map(plain).collect();
            Ok(credentials)
        })
    }

    fn challenged<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), AuthFailure>> {
        Box::pin(async move {
            if challenge.status == 403 || challenge.stamp == 0 {
                return Err(self.refused(challenge.status).await);
            }
            let is_current = {
                let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
                last.stamp == challenge.stamp
            };
            if is_current {
                for part in &self.parts {
                    match part {
                        Part::Header { source, .. } => source.refresh().await,
                        Part::Helper(helper) => helper.forget().await,
                    }
                }
            }
            let headers = self.read().await.map_err(|error| failure(&error))?;
            if self.stamp(&headers) == challenge.stamp {
                return Err(self.refused(challenge.status).await);
            }
            Ok(())
        })
    }

    fn refused_again<'a>(&'a self, challenge: &'a Challenge) -> BoxFuture<'a, AuthFailure> {
        Box::pin(self.refused(challenge.status))
    }
}

fn failure(error: &SourceError) -> AuthFailure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let message = format!("authentication failed: {error}{}", cause.unwrap_or_default());
    match error.class() {
        ErrorClass::Transient => AuthFailure::transient(message),
        _ => AuthFailure::needs_user(message),
    }
}

fn is_name(name: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_token)
}

fn is_value(value: &str) -> bool {
    value.chars().all(|c| !c.is_control())
}

impl fmt::Debug for StaticAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .parts
            .iter()
            .map(|part| match part {
                Part::Header { name, .. } => name.as_str(),
                Part::Helper(_) => "(from a command)",
            })
            .collect();
        f.debug_struct("StaticAuth").field("headers", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        OnEvent,
        store::{Key, Vault},
    };

    const SERVER: &str = "https://a.test/mcp";

    fn value(text: &str) -> Source {
        Source::Value(Secret::new(text))
    }

    async fn headers(auth: &StaticAuth, url: &str) -> Result<Credentials, AuthFailure> {
        auth.credentials(Target::new("POST", url)).await
    }

    #[tokio::test]
    async fn headers_go_to_their_origin_only() {
        let auth = StaticAuth::bearer(SERVER, value("t")).and_header("x-key", value("k"));
        let sent = headers(&auth, "https://a.test/other?x").await.unwrap();
        let expected = [("authorization", "Bearer t"), ("x-key", "k")];
        assert!(sent.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).eq(expected));
        assert!(headers(&auth, "https://b.test/mcp").await.unwrap().headers.is_empty());
        assert!(headers(&auth, "http://a.test/mcp").await.unwrap().headers.is_empty());
    }

    #[tokio::test]
    async fn rejected_value_is_not_sent_again_until_it_changes() {
        let vault = Arc::new(Vault::in_memory(OnEvent::default()));
        let key = Key::named("x");
        vault.store().set(&key, Secret::new("old")).await.unwrap();
        let auth = StaticAuth::api_key(SERVER, "x-key", Source::Stored(vault.clone(), key.clone()));
        let sent = headers(&auth, SERVER).await.unwrap();
        let mut challenge = Challenge::new(401, SERVER);
        challenge.stamp = sent.stamp;
        assert!(auth.challenged(&challenge).await.is_err());
        vault.store().set(&key, Secret::new("new")).await.unwrap();
        auth.challenged(&challenge).await.unwrap();
        let again = headers(&auth, SERVER).await.unwrap();
        assert_eq!(again.headers[0].1, "new");
        assert_ne!(again.stamp, sent.stamp);
    }

    #[tokio::test]
    async fn refusal_is_remembered_for_these_values_only() {
        let marks = NeedsAuth::new(None);
        let auth = |key: &str| {
            StaticAuth::api_key(SERVER, "x-key", value(key)).remembering_refusals(marks.clone())
        };
        let (old, new) = (auth("old"), auth("new"));
        let mut challenge = Challenge::new(401, SERVER);
        challenge.stamp = headers(&old, SERVER).await.unwrap().stamp;
        assert!(!old.is_refused_blocking());
        old.challenged(&challenge).await.unwrap_err();
        assert!(old.is_refused_blocking() && auth("old").is_refused_blocking());
        assert!(!new.is_refused_blocking(), "other values have not been refused");
        old.forget_refusal().await;
        assert!(!old.is_refused_blocking());
        old.refused_again(&challenge).await;
        assert!(old.is_refused_blocking());
        marks.clear(&signature(SERVER)).await;
        assert!(!old.is_refused_blocking(), "a login to the server forgets all of them");
        // A 403 does not reject the credentials themselves.
        let forbidden = Challenge::new(403, SERVER);
        old.challenged(&forbidden).await.unwrap_err();
        assert!(!old.is_refused_blocking());
    }

    #[tokio::test]
    async fn refusal_names_the_header_and_where_its_value_is_set() {
        let auth = StaticAuth::bearer(SERVER, Source::Env("PATH".into()))
            .and_header("x-key", value("canary"))
            .and_header("x-file", Source::File("Cargo.toml".into()));
        let failure = auth.refused(401).await;
        assert_eq!(
            failure.message,
            "authentication failed (status 401): the server does not accept the configured headers \
             `authorization` (from the environment variable `PATH`), `x-key`, \
             `x-file` (from the file `Cargo.toml`); set another value"
        );
        let helper = Helper::new(crate::HelperOptions::new("print-key"));
        let auth = StaticAuth::helper(SERVER, Arc::new(helper));
        assert!(auth.refused(401).await.message.contains("from the command `print-key`"));
    }

    #[tokio::test]
    async fn missing_credential_is_named_and_invalid_value_is_not_shown() {
        let unset = StaticAuth::bearer(SERVER, Source::Env("MCP_AUTH_TEST_UNSET".into()));
        let failure = headers(&unset, SERVER).await.unwrap_err();
        assert!(failure.message.contains("`MCP_AUTH_TEST_UNSET` is not set"), "{failure}");
        let split = StaticAuth::bearer(SERVER, value("canary\r\nx: y"));
        let failure = headers(&split, SERVER).await.unwrap_err();
        assert!(!format!("{failure:?}").contains("canary"));
        let empty = StaticAuth::bearer(SERVER, value(""));
        assert_eq!(headers(&empty, SERVER).await.unwrap_err().class, ErrorClass::Auth);
    }
}
