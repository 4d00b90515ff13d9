//! Credentials are sent with every request, replaced when refused, and not shown.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_client::{CallError, ClientOptions, Delivery, diagnostics::ErrorClass};
use mcp_transport::{
    Authorize, BoxFuture, HttpOptions, StaticHeaders,
    auth::{AuthFailure, Challenge, Credentials, Target},
};
use serde_json::json;
use tracing::{Subscriber, field::Visit, span};

use super::{
    server::Server,
    speak::{call, connect_with, http, legacy, modern, to, try_connect},
};

/// Numbered keys. A refused key is replaced once by the next.
#[derive(Default)]
struct Keys {
    current: AtomicU64,
    asked: Mutex<Vec<String>>,
    challenges: Mutex<Vec<Challenge>>,
    /// Gives up after this many challenges.
    patience: Option<usize>,
}

impl Authorize for Keys {
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        self.asked.lock().unwrap().push(format!("{} {}", target.method, target.url));
        let number = self.current.load(Ordering::SeqCst);
        let mut credentials =
            Credentials::header("Authorization", format!("Bearer s3cret-{number}")).stamped(number);
        if number == 0 {
            credentials.headers.push(("X-Only-First".into(), "s3cret".into()));
        }
        Box::pin(async { Ok(credentials) })
    }

    fn challenged<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), AuthFailure>> {
        let mut challenges = self.challenges.lock().unwrap();
        challenges.push(challenge.clone());
        let failure = self.patience.filter(|patience| challenges.len() >= *patience);
        let stamp = challenge.stamp;
        let _ = self.current.compare_exchange(stamp, stamp + 1, Ordering::SeqCst, Ordering::SeqCst);
        Box::pin(async move {
            failure.map_or(Ok(()), |_| Err(AuthFailure::needs_user("please log in: `mcp login`")))
        })
    }
}

fn with(server: &Server, keys: &Arc<Keys>) -> HttpOptions {
    let mut options = to(server);
    options.authorizer = Some(keys.clone());
    options
}

#[tokio::test]
async fn every_kind_of_request_carries_credentials() {
    let server = Server::start(legacy).await;
    let keys = Arc::new(Keys::default());
    let client = connect_with(with(&server, &keys), ClientOptions::default()).await;
    call(&client, "echo").await.unwrap();
    server.sees("GET", 1).await;
    client.close().await;
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), Some("Bearer s3cret-0"), "{}", seen.word());
    }
    let asked = keys.asked.lock().unwrap().clone();
    for verb in ["POST", "GET", "DELETE"] {
        assert!(asked.contains(&format!("{verb} {}", server.url)), "{verb}: {asked:?}");
    }
    assert_eq!(asked.len(), server.seen().len());
}

/// Refuses the first `refused` keys with a challenge.
async fn picky(refused: u64, status: u16, challenge: &'static str) -> Server {
    Server::start(move |exchange| async move {
        let key = exchange
            .seen
            .header("authorization")
            .and_then(|key| key.rsplit('-').next()?.parse().ok());
        if key.is_none_or(|key: u64| key < refused) {
            return exchange.answer(status, challenge, b"who are you?").await;
        }
        modern(exchange).await
    })
    .await
}

#[tokio::test]
async fn challenged_request_is_retried_with_the_next_key() {
    let challenge = "WWW-Authenticate: Basic realm=\"a, b\"\r\n\
        www-authenticate: Bearer resource_metadata=\"https://x.test/.well-known\", scope=\"files:read  files:write\", error=invalid_token\r\n\
        DPoP-Nonce: n0nce\r\n";
    let server = picky(1, 401, challenge).await;
    let keys = Arc::new(Keys::default());
    let client = connect_with(with(&server, &keys), ClientOptions::default()).await;
    call(&client, "echo").await.unwrap();
    let sent: Vec<_> =
        server.seen().iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(sent, ["Bearer s3cret-0", "Bearer s3cret-1", "Bearer s3cret-1"]);
    // Headers of the refused credentials are not sent with the new ones.
    assert_eq!(server.seen()[1].header("x-only-first"), None);
    assert_eq!(server.seen()[0].body, server.seen()[1].body);
    let [challenge] = &keys.challenges.lock().unwrap()[..] else { panic!("asked once") };
    assert_eq!(
        (challenge.status, challenge.url.as_str(), challenge.stamp),
        (401, server.url.as_str(), 0)
    );
    assert_eq!(challenge.schemes.len(), 2);
    assert_eq!(challenge.param("resource_metadata"), Some("https://x.test/.well-known"));
    assert_eq!(challenge.param("scope"), Some("files:read  files:write"));
    assert_eq!(challenge.param("error"), Some("invalid_token"));
    assert_eq!(challenge.dpop_nonce.as_deref(), Some("n0nce"));
    assert_eq!(client.diagnostics().challenge.as_deref(), Some(challenge));
    // One connection served all of them.
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn concurrent_refusals_replace_a_key_once() {
    let server = picky(1, 401, "").await;
    let keys = Arc::new(Keys::default());
    let client = connect_with(with(&server, &keys), ClientOptions::default()).await;
    // The key is invalid from now on.
    keys.current.store(0, Ordering::SeqCst);
    let calls = (0..10).map(|_| call(&client, "echo"));
    let results = futures::future::join_all(calls).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(keys.current.load(Ordering::SeqCst), 1);
    assert!(keys.challenges.lock().unwrap().iter().all(|challenge| challenge.stamp == 0));
}

#[tokio::test]
async fn refused_replacement_credentials_end_the_request() {
    let server = picky(u64::MAX, 401, "WWW-Authenticate: Bearer\r\n").await;
    let keys = Arc::new(Keys::default());
    let error = try_connect(with(&server, &keys), ClientOptions::default()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Auth);
    assert!(error.to_string().contains("refused the new credentials too (status 401)"), "{error}");
    assert_eq!(server.seen().len(), 2);
    assert_eq!(keys.challenges.lock().unwrap().len(), 1, "one renewal");

    // Earlier if the authorizer has no other credentials.
    let server = picky(u64::MAX, 401, "").await;
    let keys = Arc::new(Keys { patience: Some(1), ..Keys::default() });
    let error = try_connect(with(&server, &keys), ClientOptions::default()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Auth);
    assert!(error.to_string().contains("please log in: `mcp login`"), "{error}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn nonce_login_and_scope_challenges_are_counted_separately() {
    let nonce = "WWW-Authenticate: DPoP error=\"use_dpop_nonce\"\r\nDPoP-Nonce: n\r\n";
    let scope = "WWW-Authenticate: DPoP error=\"insufficient_scope\", scope=\"admin\"\r\n";
    let server = Server::start(move |exchange| async move {
        match exchange.seen.header("authorization") {
            Some("Bearer s3cret-0") => exchange.answer(401, nonce, b"").await,
            Some("Bearer s3cret-1") => exchange.answer(401, "", b"").await,
            Some("Bearer s3cret-2") => exchange.answer(403, scope, b"").await,
            _ => modern(exchange).await,
        }
    })
    .await;
    let keys = Arc::new(Keys::default());
    connect_with(with(&server, &keys), ClientOptions::default()).await;
    assert_eq!(keys.challenges.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn insufficient_scope_requests_a_wider_one() {
    let challenge = "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"admin\"\r\n";
    let server = Server::start(move |exchange| async move {
        let first = exchange.seen.header("authorization") == Some("Bearer s3cret-0");
        if exchange.word() == "tools/call" && first {
            return exchange.answer(403, challenge, b"").await;
        }
        modern(exchange).await
    })
    .await;
    let keys = Arc::new(Keys::default());
    let client = connect_with(with(&server, &keys), ClientOptions::default()).await;
    assert_eq!(call(&client, "echo").await.unwrap(), "hello");
    let [challenge] = &keys.challenges.lock().unwrap()[..] else { panic!("asked once") };
    assert_eq!((challenge.status, challenge.param("scope")), (403, Some("admin")));
}

#[tokio::test]
async fn refusal_without_an_authorizer_has_a_class() {
    for (status, head, class, says) in [
        (401, "", ErrorClass::Auth, "the server wants a login (status 401)"),
        (
            403,
            "WWW-Authenticate: Bearer error=insufficient_scope\r\n",
            ErrorClass::Auth,
            "does not cover this",
        ),
        (403, "", ErrorClass::Permanent, "the server does not allow this (status 403)"),
    ] {
        let server = Server::start(move |exchange| async move {
            match &*exchange.word() {
                "tools/call" => exchange.answer(status, head, b"").await,
                _ => modern(exchange).await,
            }
        })
        .await;
        let client = connect_with(to(&server), ClientOptions::default()).await;
        let error = call(&client, "echo").await.unwrap_err();
        assert_eq!((error.delivery(), error.class()), (Delivery::NotSent, class), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(client.diagnostics().challenge.unwrap().status, status);
        client.list_tools().await.unwrap();
    }
}

struct Broken(AuthFailure);

impl Authorize for Broken {
    fn credentials<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn challenged<'a>(&'a self, _: &'a Challenge) -> BoxFuture<'a, Result<(), AuthFailure>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn request_is_not_sent_when_credentials_fail() {
    let server = Server::start(modern).await;
    for (failure, class) in [
        (AuthFailure::needs_user("log in first"), ErrorClass::Auth),
        (AuthFailure::transient("the login server is away"), ErrorClass::Transient),
    ] {
        let mut options = to(&server);
        options.authorizer = Some(Arc::new(Broken(failure.clone())));
        let error = try_connect(options, ClientOptions::default()).await.unwrap_err();
        assert_eq!(error.class(), class);
        assert!(error.to_string().ends_with(&failure.message), "{error}");
    }
    let mut options = to(&server);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret\r\nx: y")));
    let error = try_connect(options, ClientOptions::default()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert!(!error.to_string().contains("s3cret"), "{error}");
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn userinfo_in_the_url_becomes_a_credential() {
    let server = Server::start(modern).await;
    let url = server.url.replace("http://", "http://ada:s3cret%21@");
    let mut options = HttpOptions::new(&url);
    let client = connect_with(options.clone(), ClientOptions::default()).await;
    call(&client, "echo").await.unwrap();
    let seen = server.only("tools/call");
    assert_eq!(seen.header("authorization"), Some("Basic YWRhOnMzY3JldCE="));
    assert!(!seen.header("host").unwrap().contains('@'));
    // A configured header takes precedence.
    options.headers.push(("Authorization".into(), "Bearer other".into()));
    connect_with(options, ClientOptions::default()).await;
    assert_eq!(server.seen().last().unwrap().header("authorization"), Some("Bearer other"));
}

#[tokio::test]
async fn configured_headers_are_sent_and_do_not_replace_protocol_headers() {
    let server = Server::start(legacy).await;
    let mut options = to(&server);
    options.headers = [
        ("X-Tenant", "blue"),
        ("Mcp-Session-Id", "mine"),
        ("Accept", "text/html"),
        ("User-Agent", "me"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into();
    let client = connect_with(options, ClientOptions::default()).await;
    call(&client, "echo").await.unwrap();
    let seen = server.only("tools/call");
    let all = |name: &str| -> Vec<_> {
        seen.headers
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .collect()
    };
    assert_eq!(all("x-tenant"), ["blue"]);
    assert_eq!(all("mcp-session-id"), ["s3cret-session"]);
    assert_eq!(all("accept"), ["application/json, text/event-stream"]);
    assert_eq!(all("user-agent"), ["me"]);
}

/// All log output as text.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

impl Visit for Everything {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0.lock().unwrap(), " {field}={value:?}");
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, record: &span::Record<'_>) {
        record.record(&mut self.clone());
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn secrets_are_not_shown_or_logged() {
    let everything = Everything::default();
    let logging = tracing::subscriber::set_default(everything.clone());
    let mut shown = String::new();
    let server = Server::start(|exchange| async move {
        match exchange.params()["name"].as_str() {
            Some("login") => {
                let head = "WWW-Authenticate: Bearer scope=\"x\"\r\n";
                exchange.answer(401, head, b"").await
            }
            Some("away") => {
                exchange.answer(307, "Location: http://127.0.0.1:9/?s3cret\r\n", b"").await
            }
            Some("cut") => exchange.raw(b"HTTP/1.1 200 OK\r\nmcp-session-id: s3cret").await,
            Some("down") => exchange.status(503).await,
            Some("wrong") => exchange.answer(200, "content-type: text/html\r\n", b"s3cret").await,
            Some("forget") => exchange.status(404).await,
            _ => legacy(exchange).await,
        }
    })
    .await;
    let url = server.url.replace("http://", "http://ada:s3cret@");
    let mut options = HttpOptions::new(format!("{url}?key=s3cret"));
    options.headers.push(("X-Api-Key".into(), "s3cret".into()));
    options.authorizer = Some(Arc::new(Keys { patience: Some(1), ..Keys::default() }));
    let _ = write!(shown, "{options:?} {:?} ", http(options.clone()));
    let client = connect_with(options.clone(), ClientOptions::default()).await;
    let secret = json!({ "password": "s3cret" });
    for tool in ["echo", "login", "away", "cut", "down", "wrong", "forget"] {
        let result = super::speak::call_with(&client, tool, secret.clone()).await;
        assert_eq!(result.is_ok(), tool == "echo", "{tool}: {result:?}");
        let error: Option<CallError> = result.err();
        let _ = write!(
            shown,
            "{error:?} {} ",
            error.as_ref().map(ToString::to_string).unwrap_or_default()
        );
    }
    let report = client.closed().await;
    let _ = write!(shown, "{report} {report:?} {:?} {client:?} ", client.diagnostics());
    let seen = server.seen();
    assert!(seen.iter().all(|seen| seen.path == "/mcp?key=s3cret"), "the query is sent");
    drop(server);
    let error = try_connect(options, ClientOptions::default()).await.unwrap_err();
    let _ = write!(shown, "{error} {error:?}");

    drop(logging);
    let logged = everything.0.lock().unwrap().clone();
    assert!(logged.contains("127.0.0.1"), "something was logged");
    for text in [&shown, &logged] {
        let at = text.find("s3cret").or(text.find("czNjcmV0"));
        assert!(at.is_none(), "{}", &text[at.unwrap().saturating_sub(300)..at.unwrap() + 20]);
    }
}
