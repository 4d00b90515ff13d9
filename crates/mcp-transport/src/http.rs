//! Servers behind a URL: Streamable HTTP of both eras, and the older HTTP with SSE.
//!
//! Every message is a POST of its own, and every POST a future in [`exchanges`] that the inlet's task drives. What
//! differs between the eras is read off the messages: a request that names its protocol version in `_meta` is a
//! modern one, `initialize` opens a session, and a server that knows neither may turn out to be one of 2024-11-05.

mod annotations;
mod answer;
mod ask;
mod client;
mod events;
mod exchanges;
#[cfg(feature = "__fuzz")]
pub(crate) mod fuzz;
mod link;
mod listen;
mod old;
mod origin;
mod post;
mod spread;
mod state;
mod value;

use std::{fmt, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use url::Url;

pub use self::client::{HttpClient, HttpClientOptions};
use self::{
    link::open,
    origin::{shown, take_user},
};
use crate::{
    authorize::Authorize,
    error::ConnectError,
    link::{Connect, Link, Locality},
};

/// How to reach a server over HTTP.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The endpoint.
    pub url: String,
    /// Headers that go with every request: routing, tenancy. For credentials use
    /// [`authorizer`](Self::authorizer).
    pub headers: Vec<(String, String)>,
    /// Where credentials come from.
    pub authorizer: Option<Arc<dyn Authorize>>,
    /// The longest message accepted. Default 64 MiB.
    pub max_message: usize,
    /// How many requests may be on their way at once. Default 1,024.
    pub max_in_flight: usize,
    /// How long a server may take to begin its answer to a POST, and how long it may pause within an answer
    /// that is no stream of events. Default 60 s.
    pub post_timeout: Duration,
    /// How long a stream of events may stay silent. Default: for ever.
    pub stream_idle: Option<Duration>,
    /// How long to wait on closing for requests on their way, and then for the server to end the session.
    /// Default 1 s.
    pub close_grace: Duration,
    /// How long an old server may take to name its endpoint. Default 10 s.
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

/// Without what the headers and the query say.
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

/// A server behind a URL, whichever year it was written in.
///
/// ```no_run
/// use mcp_transport::{Connect, Http, HttpClient, HttpOptions};
///
/// # async fn example() -> Result<(), mcp_transport::ConnectError> {
/// // One client for all servers of a host: they share connections and TLS sessions.
/// let client = HttpClient::new()?;
/// let server = Http::new(client, HttpOptions::new("https://example.com/mcp"));
/// let link = server.connect().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Http {
    client: HttpClient,
    options: HttpOptions,
}

impl Http {
    /// Reaches the server of `options` with `client`.
    pub fn new(client: HttpClient, options: HttpOptions) -> Self {
        Self { client, options }
    }
}

impl Connect for Http {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async { Ok(open(self.client.clone(), Settings::read(&self.options)?)) })
    }

    fn locality(&self) -> Locality {
        Locality::Remote
    }
}

/// A server that speaks HTTP with SSE, as of 2024-11-05: one stream for everything it says.
///
/// [`Http`] finds such servers too; this one does not ask first.
#[derive(Clone, Debug)]
pub struct Sse {
    client: HttpClient,
    options: HttpOptions,
}

impl Sse {
    /// Reaches the server whose stream of events is at the URL of `options`.
    pub fn new(client: HttpClient, options: HttpOptions) -> Self {
        Self { client, options }
    }
}

impl Connect for Sse {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async { old::open(self.client.clone(), Settings::read(&self.options)?).await })
    }

    fn locality(&self) -> Locality {
        Locality::Remote
    }
}

/// Options that make sense.
struct Settings {
    options: HttpOptions,
    url: Url,
    /// The same, as it goes into requests.
    uri: Uri,
    /// What goes with every request.
    headers: HeaderMap,
    /// What goes with every POST.
    posted: HeaderMap,
}

impl Settings {
    fn read(options: &HttpOptions) -> Result<Self, ConnectError> {
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
                .map_err(|_| invalid(format!("`{name}` is no name for a header")))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                invalid(format!("the header `{name}` has characters no header can have"))
            })?;
            value.set_sensitive(true);
            headers.append(key, value);
        }
        // Some gateways turn away whoever does not say what it is.
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
