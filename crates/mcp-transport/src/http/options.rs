//! The options of an HTTP transport, as given and as parsed.

use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use url::Url;

use crate::{
    authorize::Authorize,
    error::ConnectError,
    net::origin::{shown, take_user},
    setters::setters,
};

/// How to connect to a server over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The endpoint.
    pub url: String,
    /// Headers for every request, such as routing and tenancy. For credentials use [`authorizer`](Self::authorizer).
    pub headers: Vec<(String, String)>,
    /// Supplies the credentials.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// The longest message accepted. Default 64 MiB.
    pub max_message: usize,
    /// How many requests may be in flight at once. Default 1,024.
    pub max_in_flight: usize,
    /// How long a server may take to begin its response to a POST, and how long it may pause within a response that
    /// is not an event stream. It does not apply to requests with a progress token. Their caller sets a limit:
    /// `ClientOptions::call_idle_timeout` for calls of `mcp-client`. Default 60 s.
    pub post_timeout: Duration,
    /// How long an event stream may be idle. Default: no limit.
    pub stream_idle: Option<Duration>,
    /// How long to wait on close for requests in flight, and then for the server to end the session. Default 1 s.
    pub close_grace: Duration,
    /// How long a 2024-11-05 server may take to name its endpoint. Default 10 s.
    pub endpoint_timeout: Duration,
}

impl HttpOptions {
    /// The defaults for this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            authorizer: None,
            max_message: 64 << 20,
            max_in_flight: 1024,
            post_timeout: Duration::from_secs(60),
            stream_idle: None,
            close_grace: Duration::from_secs(1),
            endpoint_timeout: Duration::from_secs(10),
        }
    }
}

/// Omits header values and the query of the URL, which may contain secrets.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let url = Url::parse(&self.url);
        f.debug_struct("HttpOptions")
            .field("url", &url.as_ref().map_or_else(|_| "(no URL)".into(), shown))
            .field("headers", &names)
            .field("max_message", &self.max_message)
            .field("max_in_flight", &self.max_in_flight)
            .field("post_timeout", &self.post_timeout)
            .field("stream_idle", &self.stream_idle)
            .finish_non_exhaustive()
    }
}

/// Validated options.
pub(super) struct Settings {
    pub(super) options: HttpOptions,
    pub(super) url: Url,
    /// The URL as used in requests.
    pub(super) uri: Uri,
    /// Headers for every request.
    pub(super) headers: HeaderMap,
    /// Headers for every POST.
    pub(super) posted: HeaderMap,
}

impl Settings {
    pub(super) fn read(options: &HttpOptions) -> Result<Self, ConnectError> {
        let invalid = |problem: String| ConnectError::InvalidOptions(problem);
        let mut url =
            Url::parse(&options.url).map_err(|error| invalid(format!("no URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid("the URL of a server must begin with http:// or https://".into()));
        }
        url.set_fragment(None);
        let mut headers = HeaderMap::with_capacity(options.headers.len() + 8);
        headers.extend(take_user(&mut url).map(|user| (header::AUTHORIZATION, user)));
        if options.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            headers.clear();
        }
        for (name, value) in &options.headers {
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| invalid(format!("`{name}` is not a valid header name")))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                invalid(format!("the header `{name}` has characters no header can have"))
            })?;
            value.set_sensitive(true);
            headers.append(key, value);
        }
        // Some gateways reject requests without a user agent.
        let name = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(name));
        let uri = url.as_str().parse().map_err(|error| invalid(format!("no URL: {error}")))?;
        let mut posted = headers.clone();
        posted.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        posted.insert(header::ACCEPT, accepted);
        Ok(Self { options: options.clone(), url, uri, headers, posted })
    }
}

setters! { HttpOptions {
    with_headers => headers: Vec<(String, String)>,
    with_authorizer => authorizer: impl Into<Option<Arc<dyn Authorize>>>,
    with_max_message => max_message: usize,
    with_max_in_flight => max_in_flight: usize,
    with_post_timeout => post_timeout: Duration,
    with_stream_idle => stream_idle: impl Into<Option<Duration>>,
    with_close_grace => close_grace: Duration,
    with_endpoint_timeout => endpoint_timeout: Duration,
}}
