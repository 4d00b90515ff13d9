//! Tests of the loopback listener.

use std::sync::Mutex;

use tokio::net::TcpListener;

use super::*;
use crate::interact::callback::{Expected, Issuer};

fn expected() -> Expected {
    let issuer = Issuer::Known("https://as.test".into());
    Expected { state: Secret::new("s"), issuer, needs_iss: false }
}

/// Sends one request to `uri` and returns the response.
async fn get(uri: &str, request: &str) -> String {
    let address = uri.trim_start_matches("http://").split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

/// Sends requests with these targets during a visit. Returns the result of the visit and all responses.
async fn play(targets: &[&str]) -> (Result<Secret, InteractError>, Vec<String>) {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let pages = opened.clone();
    let browser = LoopbackBrowser::new().with_opener(Arc::new(move |url| {
        pages.lock().unwrap().push(url.to_owned());
        Ok(())
    }));
    let redirect = browser.prepare(None).await.unwrap();
    let uri = redirect.uri().to_owned();
    let expected = expected();
    let visit = redirect.visit(Visit::new("https://as.test/authorize?x", &expected));
    let requests = async {
        let mut responses = Vec::new();
        for target in targets {
            responses.push(get(&uri, &format!("{target} HTTP/1.1\r\nhost: x\r\n\r\n")).await);
        }
        responses
    };
    let played = tokio::join!(visit, requests);
    assert_eq!(*opened.lock().unwrap(), ["https://as.test/authorize?x"]);
    played
}

#[tokio::test]
async fn only_the_redirect_of_this_login_ends_the_wait() {
    let (redirected, responses) = play(&[
        "GET /",
        "GET /favicon.ico",
        "POST /callback?code=c&state=s",
        "GET /callback?code=c&state=wrong",
        "GET /callback?code=c&state=s",
    ])
    .await;
    assert!(redirected.unwrap().expose().ends_with("/callback?code=c&state=s"));
    let status = |response: &String| response[9..12].to_owned();
    let statuses: Vec<String> = responses.iter().map(status).collect();
    assert_eq!(statuses, ["404", "404", "404", "400", "200"]);
    assert!(responses[4].contains("You can close this window"));
    assert!(responses.iter().all(|response| !response.contains("state=s")));
}

#[tokio::test]
async fn silent_connections_do_not_delay_the_redirect() {
    let browser = LoopbackBrowser::new().with_opener(Arc::new(|_| Ok(())));
    let redirect = browser.prepare(None).await.unwrap();
    let uri = redirect.uri().to_owned();
    let address = uri.trim_start_matches("http://").trim_end_matches("/callback").to_owned();
    let expected = expected();
    let visit = redirect.visit(Visit::new("https://as.test/", &expected));
    let requests = async {
        let silent = [
            TcpStream::connect(&address).await.unwrap(),
            TcpStream::connect(&address).await.unwrap(),
        ];
        let response = get(&uri, "GET /callback?code=c&state=s HTTP/1.1\r\n\r\n").await;
        drop(silent);
        response
    };
    let began = std::time::Instant::now();
    let (redirected, _) = tokio::join!(visit, requests);
    assert!(redirected.is_ok() && began.elapsed() < REQUEST_LIMIT);
}

#[tokio::test]
async fn failed_accept_does_not_end_the_login() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/callback", listener.local_addr().unwrap());
    let mut errors = vec![io::ErrorKind::ConnectionAborted, io::ErrorKind::Other];
    let accept = |cx: &mut Context<'_>| match errors.pop() {
        Some(kind) => Poll::Ready(Err(kind.into())),
        None => listener.poll_accept(cx),
    };
    let expected = expected();
    let at = ("http://127.0.0.1", "/callback");
    let waiting = wait(accept, at, Visit::new("https://as.test/", &expected));
    let request = get(&uri, "GET /callback?code=c&state=s HTTP/1.1\r\n\r\n");
    let (redirected, response) = tokio::join!(waiting, request);
    assert!(redirected.expose().ends_with("/callback?code=c&state=s"));
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

#[tokio::test]
async fn denied_login_is_shown_with_escaped_text() {
    let (redirected, responses) =
        play(&["GET /callback?error=access_denied&error_description=%3Cscript%3E&state=s"]).await;
    assert!(redirected.is_ok());
    assert!(responses[0].contains("access_denied") && responses[0].contains("&lt;script&gt;"));
}

#[tokio::test]
async fn redirect_of_another_issuer_is_not_shown() {
    let (redirected, responses) =
        play(&["GET /callback?error=canary&state=s&iss=https%3A%2F%2Fevil.test"]).await;
    assert!(redirected.is_ok());
    assert!(!responses[0].contains("canary") && responses[0].contains("different server"));
}

#[tokio::test]
async fn waiting_for_the_redirect_has_a_limit() {
    let limit = Duration::from_millis(20);
    let browser = LoopbackBrowser::new().with_limit(limit).with_opener(Arc::new(|_| Ok(())));
    let redirect = browser.prepare(None).await.unwrap();
    let expected = expected();
    let visited = redirect.visit(Visit::new("https://as.test/", &expected)).await;
    assert!(matches!(visited, Err(InteractError::TimedOut(_))));
}

#[tokio::test]
async fn fixed_port_in_use_is_an_error() {
    let holder = LoopbackBrowser::new().prepare(None).await.unwrap();
    let port = url::Url::parse(holder.uri()).unwrap().port().unwrap();
    let again = LoopbackBrowser::new().with_port(port).prepare(None).await;
    assert!(matches!(again.err(), Some(InteractError::Listen(_))));
}

/// Logs in with a fixed redirect URL. Returns the redirect URL sent to the server, and the URL received when a browser
/// requests `target` at `address`.
async fn at(fixed: &str, address: &str, target: &str) -> (String, String) {
    let browser = LoopbackBrowser::new().with_opener(Arc::new(|_| Ok(())));
    let redirect = browser.prepare(Some(&fixed.parse().unwrap())).await.unwrap();
    let uri = redirect.uri().to_owned();
    let port = url::Url::parse(&uri).unwrap().port().unwrap();
    let expected = expected();
    let visit = redirect.visit(Visit::new("https://as.test/", &expected));
    let to = format!("http://{address}:{port}/");
    let missed = get(&to, "GET /callback?code=c&state=s HTTP/1.1\r\n\r\n");
    let hit = format!("GET {target} HTTP/1.1\r\n\r\n");
    let requests = async { (missed.await, get(&to, &hit).await) };
    let (redirected, (missed, _)) = tokio::join!(visit, requests);
    assert!(missed.starts_with("HTTP/1.1 404"), "{missed}");
    (uri, redirected.unwrap().expose().to_owned())
}

/// Returns a port that was free a moment ago.
async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn fixed_redirect_url_is_served_at_its_port_and_path_only() {
    let fixed = format!("http://127.0.0.1:{}/oauth/back?app=x", free_port().await);
    let (uri, came) = at(&fixed, "127.0.0.1", "/oauth/back?app=x&code=c&state=s").await;
    assert_eq!(uri, fixed);
    assert_eq!(came, format!("{fixed}&code=c&state=s"));
}

#[tokio::test]
async fn redirect_url_without_a_port_is_served_at_any_port() {
    let (uri, came) = at("http://127.0.0.1/", "127.0.0.1", "/?code=c&state=s").await;
    assert!(uri.starts_with("http://127.0.0.1:") && came.starts_with(&uri), "{uri} {came}");
}

/// Listens on a free port of the IPv6 loopback address. Records a skip on a machine without it.
async fn ipv6_listener() -> Option<TcpListener> {
    let bound = TcpListener::bind("[::1]:0").await;
    if let Err(error) = &bound {
        let reason = format!("the loopback address ::1 is not available: {error}");
        mcp_skip::skip(&reason, "enable IPv6 on the loopback interface");
    }
    bound.ok()
}

#[tokio::test]
async fn host_name_is_served_at_both_loopback_addresses() {
    let has_ipv6 = ipv6_listener().await.is_some();
    let addresses = ["127.0.0.1", "[::1]"];
    for address in addresses.into_iter().take(if has_ipv6 { 2 } else { 1 }) {
        let (uri, came) = at("http://localhost/back", address, "/back?code=c&state=s").await;
        assert!(uri.starts_with("http://localhost:") && uri.ends_with("/back"), "{uri}");
        assert_eq!(came, format!("{uri}?code=c&state=s"));
    }
}

#[tokio::test]
async fn host_name_in_use_at_one_loopback_address_is_an_error() {
    let Some(other) = ipv6_listener().await else { return };
    let port = other.local_addr().unwrap().port();
    let fixed = format!("http://localhost:{port}/").parse().unwrap();
    let prepared = LoopbackBrowser::new().prepare(Some(&fixed)).await;
    assert!(matches!(prepared.err(), Some(InteractError::Listen(_))));
}

#[tokio::test]
async fn redirect_url_on_another_machine_is_an_error_that_suggests_pasting() {
    for elsewhere in ["https://a.test/back", "https://localhost:8443/back"] {
        let fixed = elsewhere.parse().unwrap();
        let error = LoopbackBrowser::new().prepare(Some(&fixed)).await.err().unwrap();
        assert!(matches!(error, InteractError::Elsewhere), "{elsewhere}: {error}");
        assert!(error.to_string().contains("paste the address"), "{error}");
    }
}
