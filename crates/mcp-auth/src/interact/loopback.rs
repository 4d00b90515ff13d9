//! A browser on this machine, and a listener that hears where it was redirected to.

mod ear;

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

use self::ear::Ear;
use super::{DeviceCode, Interact, InteractError, Redirect, Verdict, Visit, redirect::RedirectUri};
use crate::{browser::open_browser, secret::Secret};

/// A request line with a code, a state and an issuer is far shorter.
const LONGEST_REQUEST: usize = 16 * 1024;
/// How long one connection may take to ask.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
const MOST_CONNECTIONS: usize = 32;
/// How long an answer may take: a browser that does not read must not keep the login waiting.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// How long to wait after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens a page in the browser.
pub type OpenPage = Arc<dyn Fn(&str) -> std::io::Result<()> + Send + Sync>;
/// Shows the person the page, in case no browser appears, or a device code.
pub type Tell = Arc<dyn Fn(Shown<'_>) + Send + Sync>;

/// What the person is shown beside the browser.
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
    tell: Option<Tell>,
}

impl LoopbackBrowser {
    /// Listens at any free port, for at most five minutes.
    pub fn new() -> Self {
        let open: OpenPage = Arc::new(open_browser);
        Self { port: 0, limit: Duration::from_secs(5 * 60), open, tell: None }
    }

    /// Always at this port, for clients that were registered with it. A fixed redirect address
    /// ([`OAuthOptions::redirect_uri`](crate::OAuthOptions::redirect_uri)) has a port of its own.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Waits for at most this long.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Opens pages with `open`.
    #[must_use]
    pub fn with_opener(mut self, open: OpenPage) -> Self {
        self.open = open;
        self
    }

    /// Shows pages and codes with `tell`, too. A page that was told need not open by itself.
    #[must_use]
    pub fn with_teller(mut self, tell: Tell) -> Self {
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
            let ear = Ear::open(fixed, self.port).await?;
            Ok(Box::new(Listening { ear, with: self.clone() }) as Box<dyn Redirect>)
        })
    }

    fn show_code<'a>(&'a self, code: &'a DeviceCode) -> BoxFuture<'a, Result<(), InteractError>> {
        Box::pin(async move {
            let page = code.verification_uri_complete.as_ref().unwrap_or(&code.verification_uri);
            let opened = (self.open)(page).map_err(InteractError::Browser);
            match &self.tell {
                Some(tell) => tell(Shown::Code(code)),
                // Without anybody to tell the code, a page that does not hold it is of no use.
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
    ear: Ear,
    with: LoopbackBrowser,
}

impl Redirect for Listening {
    fn uri(&self) -> &str {
        &self.ear.uri
    }

    fn visit(self: Box<Self>, visit: Visit<'_>) -> BoxFuture<'_, Result<Secret, InteractError>> {
        Box::pin(async move {
            let opened = (self.with.open)(visit.url).map_err(InteractError::Browser);
            match &self.with.tell {
                Some(tell) => tell(Shown::Page(visit.url)),
                None => opened?,
            }
            let limit = self.with.limit;
            let Ear { origin, path, .. } = &self.ear;
            let accept = |cx: &mut Context<'_>| self.ear.poll_accept(cx);
            let redirected = wait(accept, (origin, path), visit);
            let redirected = tokio::time::timeout(limit, redirected).await;
            redirected.map_err(|_| InteractError::TimedOut(limit))
        })
    }
}

/// Answers requests for `at`, an origin and a path, until one belongs to this login. Others get a page that
/// says so, and no more.
async fn wait(
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>>,
    at: (&str, &str),
    visit: Visit<'_>,
) -> Secret {
    // Browsers open connections ahead and say nothing on them, so nobody waits for one alone.
    let mut reading = JoinSet::new();
    loop {
        tokio::select! {
            accepted = poll_fn(&mut accept), if reading.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    reading.spawn(tokio::time::timeout(REQUEST_LIMIT, read_head(stream)));
                }
                // A connection that is gone again, or no descriptor left for it: any program on this
                // machine can bring that about, and the browser's own connection is still to come.
                Err(error) => {
                    tracing::debug!(%error, "a connection was not accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(read) = reading.join_next() => {
                let Ok(Ok(Some((stream, head)))) = read else { continue };
                if let Some(redirected) = answer(stream, &head, at, visit).await {
                    return redirected;
                }
            }
        }
    }
}

/// Answers one request. The URL, if it is the redirect that is waited for.
async fn answer(
    mut stream: TcpStream,
    head: &str,
    (origin, path): (&str, &str),
    visit: Visit<'_>,
) -> Option<Secret> {
    let Some(target) = target(head, path) else {
        respond(&mut stream, 404, &page("Nothing here", "This address only answers a login."))
            .await;
        return None;
    };
    let redirected = Secret::new(format!("{origin}{target}"));
    let verdict = visit.judge(&redirected);
    let (status, text) = describe(&verdict);
    respond(&mut stream, status, &text).await;
    (!matches!(verdict, Verdict::NotOurs)).then_some(redirected)
}

async fn read_head(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 2048];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut chunk).await.ok()?;
        if read == 0 || bytes.len() + read > LONGEST_REQUEST {
            return None;
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    Some((stream, String::from_utf8(bytes).ok()?))
}

/// The target of a `GET` of exactly this path.
pub(crate) fn target<'a>(head: &'a str, path: &str) -> Option<&'a str> {
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let is_ours = target.split('?').next()? == path;
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
                "The answer came from a different server than the one that was asked. \
                 You can close this window.",
            ),
        ),
        Verdict::NotOurs => (
            400,
            page("Not this login", "This answer does not belong to a login that is waited for."),
        ),
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
    let reason = if status == 200 { "OK" } else { "Error" };
    let answer = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n{page}",
        page.len()
    );
    // Whether the browser still listens changes nothing.
    let sent = async {
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    };
    let _ = tokio::time::timeout(ANSWER_LIMIT, sent).await;
}

#[cfg(test)]
mod tests;
