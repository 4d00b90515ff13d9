//! Credentials that the user configured: a bearer token, an API key in any header, a command.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use mcp_transport::{
    AuthFailure, Authorize, BoxFuture, Challenge, Credentials, ErrorClass, Target,
};

use crate::{
    helper::Helper,
    origin::same_origin,
    secret::Secret,
    source::{Source, SourceError},
};

/// The same credentials with every request, to one origin and no other.
///
/// When they are refused they are read again: whatever was rotated meanwhile gets a second chance. OAuth is
/// never started behind the user's back.
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
}

enum Part {
    Header { name: String, prefix: &'static str, source: Source },
    Helper(Arc<Helper>),
}

/// What was sent last, so that a change is noticed.
#[derive(Default)]
struct Last {
    headers: Vec<(String, Secret)>,
    stamp: u64,
}

impl StaticAuth {
    /// `Authorization: Bearer …` to the server at this URL.
    pub fn bearer(server: impl Into<String>, source: Source) -> Self {
        let name = "authorization".to_owned();
        Self::over(server, Part::Header { name, prefix: "Bearer ", source })
    }

    /// A key in the header of this name, as it is.
    pub fn api_key(server: impl Into<String>, header: impl Into<String>, source: Source) -> Self {
        Self::over(server, Part::Header { name: header.into(), prefix: "", source })
    }

    /// The headers that a command prints.
    pub fn helper(server: impl Into<String>, helper: Arc<Helper>) -> Self {
        Self::over(server, Part::Helper(helper))
    }

    /// One more header.
    #[must_use]
    pub fn and_header(mut self, header: impl Into<String>, source: Source) -> Self {
        self.parts.push(Part::Header { name: header.into(), prefix: "", source });
        self
    }

    fn over(server: impl Into<String>, part: Part) -> Self {
        Self { server: server.into(), parts: vec![part], last: Mutex::default() }
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

    /// The stamp of these headers: a new one when they are not those of last time.
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
            // A redirect, an icon or an endpoint on another host gets nothing.
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
                return Err(refused(challenge.status));
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
                return Err(refused(challenge.status));
            }
            Ok(())
        })
    }
}

fn refused(status: u16) -> AuthFailure {
    let what = if status == 403 { "does not allow this" } else { "refused the login" };
    AuthFailure::needs_user(format!(
        "authentication failed: the server {what} with the credentials that are configured for it"
    ))
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
    use crate::{Key, OnEvent, Vault};

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
    async fn a_refusal_is_final_until_the_value_changes() {
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
    async fn what_is_missing_is_named_and_what_is_wrong_is_not_shown() {
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
