//! Opens a browser on this machine and receives its redirect with a local HTTP listener.

mod listener;

use std::{
    fmt,
    future::poll_fn,
    io,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use mcp_transport::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use self::listener::LoopbackListener;
use super::{
    browser::open_browser,
    interface::{DeviceCode, Interact, Redirect, Verdict, Visit},
    redirect::RedirectUri,
};
use crate::{error::InteractError, secret::Secret};

/// Far more than a request line with a code, a state and an issuer needs.
const LONGEST_REQUEST: usize = 16 * 1024;
/// The time limit for reading the request of one connection.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
const MOST_CONNECTIONS: usize = 32;
/// The time limit for writing a response: a browser that does not read must not delay the login.
const RESPONSE_LIMIT: Duration = Duration::from_secs(2);
/// The pause after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens a page in the browser.
pub type OpenPage = Arc<dyn Fn(&str) -> std::io::Result<()> + Send + Sync>;
/// Shows the user the page, in case no browser appears, or a device code.
pub type OnMessage = Arc<dyn Fn(Shown<'_>) + Send + Sync>;

/// A message to the user that accompanies the browser.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Shown<'a> {
    /// The page that was opened, or should be.
    Page(&'a str),
    /// A code to enter elsewhere.
    Code(&'a DeviceCode),
}

/// Opens the user's browser and listens on this machine for the redirect.
#[derive(Clone)]
pub struct LoopbackBrowser {
    port: u16,
    limit: Duration,
    open: OpenPage,
    tell: Option<OnMessage>,
}

impl LoopbackBrowser {
    /// Listens on any free port for at most five minutes.
    pub fn new() -> Self {
        let open: OpenPage = Arc::new(open_browser);
        Self { port: 0, limit: Duration::from_secs(5 * 60), open, tell: None }
    }

    /// Sets the port, for clients that were registered with it. The port of a fixed redirect URL
    /// ([`OAuthOptions::redirect_uri`](crate::OAuthOptions::redirect_uri)) has precedence.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets how long to wait for the redirect.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the function that opens pages.
    #[must_use]
    pub fn with_opener(mut self, open: OpenPage) -> Self {
        self.open = open;
        self
    }

    /// Also shows pages and codes with `tell`. A failure to open the browser is then ignored.
    #[must_use]
    pub fn with_message_handler(mut self, tell: OnMessage) -> Self {
        self.tell = Some(tell);
        self
    }
}

impl Default for LoopbackBrowser {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LoopbackBrowser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopbackBrowser").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Interact for LoopbackBrowser {
    fn prepare<'a>(
        &'a self,
        fixed: Option<&'a RedirectUri>,
    ) -> BoxFuture<'a, Result<Box<dyn Redirect>, InteractError>> {
        Box::pin(async move {
            let listener = LoopbackListener::open(fixed, self.port).await?;
            Ok(Box::new(Listening { listener, with: self.clone() }) as Box<dyn Redirect>)
        })
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<(), InteractError>> {
        Box::pin(async move {
            let page = code.verification_uri_complete.as_ref().unwrap_or(&code.verification_uri);
            let opened = (self.open)(page).map_err(InteractError::Browser);
            match &self.tell {
                Some(tell) => tell(Shown::Code(code)),
                // Without a message handler, the page is only useful if it already contains the code.
                None if code.verification_uri_complete.is_none() => {
                    return Err(InteractError::Unsupported("show a code"));
                }
                None => opened?,
            }
            Ok(())
        })
    }
}

struct Listening {
    listener: LoopbackListener,
    with: LoopbackBrowser,
}

impl Redirect for Listening {
    fn uri(&self) -> &str {
        &self.listener.uri
    }

    fn visit(self: Box<Self>, visit: Visit<'_>) -> BoxFuture<'_, Result<Secret, InteractError>> {
        Box::pin(async move {
            let opened = (self.with.open)(visit.url).map_err(InteractError::Browser);
            // With a message handler, the user can open the page without our help.
            match &self.with.tell {
                Some(tell) => tell(Shown::Page(visit.url)),
                None => opened?,
            }
            let limit = self.with.limit;
            let LoopbackListener { origin, path, .. } = &self.listener;
            let accept = |cx: &mut Context<'_>| self.listener.poll_accept(cx);
            let redirected = wait(accept, (origin, path), visit);
            let redirected = tokio::time::timeout(limit, redirected).await;
            redirected.map_err(|_| InteractError::TimedOut(limit))
        })
    }
}

/// Serves requests for `at`, an origin and a path, until one belongs to this login. Other requests get an error
/// page.
async fn wait(
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>>,
    at: (&str, &str),
    visit: Visit<'_>,
) -> Secret {
    // Browsers open spare connections and send nothing on them, so connections are read concurrently.
    let mut reading = JoinSet::new();
    loop {
        tokio::select! {
            accepted = poll_fn(&mut accept), if reading.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    reading.spawn(tokio::time::timeout(REQUEST_LIMIT, read_head(stream)));
                }
                // Any program on this machine can cause an aborted connection or use up descriptors, and the
                // browser's own connection may still come.
                Err(error) => {
                    tracing::debug!(%error, "could not accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(read) = reading.join_next() => {
                let Ok(Ok(Some((stream, head)))) = read else { continue };
                if let Some(redirected) = serve(stream, &head, at, visit).await {
                    return redirected;
                }
            }
        }
    }
}

/// Responds to one request. Returns its URL if it is the expected redirect.
async fn serve(
    mut stream: TcpStream,
    head: &str,
    (origin, path): (&str, &str),
    visit: Visit<'_>,
) -> Option<Secret> {
    let Some(target) = target(head, path) else {
        respond(
            &mut stream,
            404,
            &page("Not found", "This page only receives the result of a login."),
        )
        .await;
        return None;
    };
    let redirected = Secret::new(format!("{origin}{target}"));
    let verdict = visit.judge(&redirected);
    let (status, text) = describe(&verdict);
    respond(&mut stream, status, &text).await;
    // Another tab may have an old login page, so a response to it does not end this login.
    (!matches!(verdict, Verdict::NotOurs)).then_some(redirected)
}

async fn read_head(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 2048];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut chunk).await.ok()?;
        // Any program on this machine can connect, so the size has a limit, and the caller sets one for the time.
        if read == 0 || bytes.len() + read > LONGEST_REQUEST {
            return None;
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    Some((stream, String::from_utf8(bytes).ok()?))
}

/// Returns the target of a `GET` request for exactly this path.
pub(crate) fn target<'a>(head: &'a str, path: &str) -> Option<&'a str> {
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let is_ours = target.split('?').next()? == path;
    // A browser follows a redirect with GET. Forms of other pages are not a response.
    (method == "GET" && is_ours).then_some(target)
}

fn describe(verdict: &Verdict) -> (u16, String) {
    match verdict {
        Verdict::Accepted => (
            200,
            page("You are signed in", "You can close this window and go back to the application."),
        ),
        Verdict::Denied(code, description) => {
            let why = description.as_deref().unwrap_or_default();
            let text = format!("The server said: {code}. {why} You can close this window.");
            (200, page("The login was not completed", &text))
        }
        Verdict::WrongIssuer => (
            400,
            page(
                "The login was stopped",
                "The response came from a different server than the one the login was started with. \
                 You can close this window.",
            ),
        ),
        Verdict::NotOurs => {
            (400, page("Not this login", "This response does not belong to a login in progress."))
        }
    }
}

pub(crate) fn page(title: &str, text: &str) -> String {
    let (title, text) = (escape(title), escape(text));
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;\
         padding:0 1rem;color-scheme:light dark}}</style><h1>{title}</h1><p>{text}</p></html>"
    )
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

async fn respond(stream: &mut TcpStream, status: u16, page: &str) {
    // The URL of the page contains the code: it is not cached, not sent on as a referrer, and no script can read it.
    let reason = if status == 200 { "OK" } else { "Error" };
    let response = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n{page}",
        page.len()
    );
    // The login does not depend on whether the browser receives the page.
    let sent = async {
        let _ = stream.write_all(response.as_bytes()).await;
        let _ = stream.shutdown().await;
    };
    let _ = tokio::time::timeout(RESPONSE_LIMIT, sent).await;
}

#[cfg(test)]
mod tests;
