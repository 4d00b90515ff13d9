//! Credentials are sent in the upgrade request only.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use futures::{StreamExt as _, future::BoxFuture};
use mcp_transport::{
    Authorize, Connect as _, ErrorClass, StaticHeaders, Ws, WsOptions,
    auth::{AuthFailure, Challenge, Credentials, Target},
};
use tokio::sync::mpsc;
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::{
        handshake::server::{ErrorResponse, Request, Response},
        http::StatusCode,
    },
};

use super::{
    open, refused,
    server::{agree, answering, head, header, listen},
    soon,
    upgrade::switching,
};

/// An authorizer that has a new token after each refusal.
#[derive(Default)]
struct Renewing {
    version: AtomicU64,
    challenges: Mutex<Vec<Challenge>>,
}

impl Authorize for Renewing {
    fn credentials<'a>(
        &'a self,
        target: Target<'a>,
    ) -> BoxFuture<'a, Result<Credentials, AuthFailure>> {
        assert_eq!(target.method, "GET");
        let version = self.version.load(Ordering::SeqCst);
        let header = Credentials::header("Authorization", format!("Bearer s3cret-{version}"));
        Box::pin(async move { Ok(header.stamped(version)) })
    }

    fn challenged<'a>(
        &'a self,
        challenge: &'a Challenge,
    ) -> BoxFuture<'a, Result<(), AuthFailure>> {
        self.version.fetch_add(1, Ordering::SeqCst);
        self.challenges.lock().unwrap().push(challenge.clone());
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn refused_upgrade_token_is_renewed_once() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            #[expect(clippy::result_large_err, reason = "the callback is like that")]
            let check = |request: &Request, response: Response| {
                if request.headers()["authorization"] == "Bearer s3cret-1" {
                    return agree(request, response);
                }
                let mut refusal = ErrorResponse::new(None);
                *refusal.status_mut() = StatusCode::UNAUTHORIZED;
                let challenge = r#"Bearer error="invalid_token", scope="files:read""#;
                refusal.headers_mut().insert("www-authenticate", challenge.parse().unwrap());
                refusal.headers_mut().insert("dpop-nonce", "n-1".parse().unwrap());
                Err(refusal)
            };
            if let Ok(mut socket) = accept_hdr_async(stream, check).await {
                tokio::spawn(async move { while let Some(Ok(_)) = socket.next().await {} });
            }
        }
    });
    let authorizer = Arc::new(Renewing::default());
    let mut options = WsOptions::new(&url);
    options.authorizer = Some(authorizer.clone());
    drop(open(options).await);
    let challenges = authorizer.challenges.lock().unwrap();
    let [challenge] = challenges.as_slice() else { panic!("{challenges:?}") };
    assert_eq!((challenge.status, challenge.stamp, challenge.url.as_str()), (401, 0, url.as_str()));
    assert_eq!(challenge.param("scope"), Some("files:read"));
    assert_eq!(challenge.dpop_nonce.as_deref(), Some("n-1"));
}

#[tokio::test]
async fn refused_upgrade_is_retried_as_often_as_an_http_request() {
    for (status, scheme, class) in [
        ("401 Unauthorized", "Bearer", ErrorClass::Auth),
        ("403 Forbidden", "Bearer error=insufficient_scope", ErrorClass::Auth),
        ("403 Forbidden", "", ErrorClass::Permanent),
    ] {
        let (told, mut heard) = mpsc::unbounded_channel();
        let url = answering(move |_, head| {
            told.send(header(head, "authorization").map(str::to_owned)).expect("the test lives");
            let header =
                if scheme.is_empty() { "" } else { &format!("WWW-Authenticate: {scheme}\r\n") };
            format!("HTTP/1.1 {status}\r\n{header}\r\n")
        })
        .await;
        let mut options = WsOptions::new(url);
        options.authorizer = Some(Arc::new(Renewing::default()));
        let error = refused(options).await;
        assert_eq!(error.class(), class, "{error}");
        let tried: Vec<_> = std::iter::from_fn(|| heard.try_recv().ok()).flatten().collect();
        // A 401 status gets one renewal, as over HTTP.
        let most = if status.starts_with("401") { 2 } else { 4 };
        assert_eq!(tried, [0, 1, 2, 3].map(|version| format!("Bearer s3cret-{version}"))[..most]);
    }
}

/// A server may require a nonce first and refuse the token afterwards.
#[tokio::test]
async fn dpop_nonce_and_new_token_are_two_challenges() {
    let url = answering(|_, head| match header(head, "authorization") {
        Some("Bearer s3cret-0") => "HTTP/1.1 401 Unauthorized\r\nDPoP-Nonce: n-1\r\n\
             WWW-Authenticate: DPoP error=\"use_dpop_nonce\"\r\n\r\n"
            .into(),
        Some("Bearer s3cret-1") => "HTTP/1.1 401 Unauthorized\r\nDPoP-Nonce: n-2\r\n\
             WWW-Authenticate: DPoP error=\"invalid_token\"\r\n\r\n"
            .into(),
        _ => switching(head, ""),
    })
    .await;
    let authorizer = Arc::new(Renewing::default());
    let mut options = WsOptions::new(&url);
    options.authorizer = Some(authorizer.clone());
    drop(open(options).await);
    let challenges = authorizer.challenges.lock().unwrap();
    let told: Vec<_> = challenges
        .iter()
        .map(|challenge| {
            (challenge.param("error"), challenge.dpop_nonce.as_deref(), challenge.stamp)
        })
        .collect();
    assert_eq!(
        told,
        [(Some("use_dpop_nonce"), Some("n-1"), 0), (Some("invalid_token"), Some("n-2"), 1)]
    );
}

#[tokio::test]
async fn failure_of_the_authorizer_is_quoted() {
    let url = answering(|_, _| "HTTP/1.1 401 Unauthorized\r\n\r\n".into()).await;
    let mut options = WsOptions::new(url);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
    let error = refused(options).await;
    assert_eq!(error.class(), ErrorClass::Auth);
    assert!(error.to_string().starts_with("authentication failed (status 401): "), "{error}");
}

#[tokio::test]
async fn redirected_upgrade_gets_no_credentials() {
    let (elsewhere, other) = listen().await;
    let url =
        answering(move |_, _| format!("HTTP/1.1 307 Moved\r\nLocation: {other}\r\n\r\n")).await;
    let mut options = WsOptions::new(url);
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret")));
    assert_eq!(refused(options).await.class(), ErrorClass::Permanent);
    // A followed redirect would be in the accept queue by now.
    let waiting = elsewhere.accept();
    let nobody = std::time::Duration::from_millis(50);
    assert!(tokio::time::timeout(nobody, waiting).await.is_err());
}

#[tokio::test]
async fn secrets_are_sent_to_the_server_and_not_shown() {
    let (listener, url) = listen().await;
    let url = format!("{url}?token=s3cret-query");
    let mut options = WsOptions::new(url);
    options.headers.push(("x-api-key".into(), "s3cret-header".into()));
    options.authorizer = Some(Arc::new(StaticHeaders::bearer("s3cret-token")));
    let ws = Ws::new(options.clone());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        head(&mut stream).await
    });
    let error = soon(ws.connect()).await.expect_err("the server hangs up");
    let head = soon(server).await.expect("a head");
    assert!(head.starts_with("GET /mcp?token=s3cret-query HTTP/1.1\r\n"), "{head}");
    assert_eq!(header(&head, "x-api-key"), Some("s3cret-header"));
    assert_eq!(header(&head, "authorization"), Some("Bearer s3cret-token"));
    let shown = format!("{error} {error:?} {ws:?} {options:?} {:?}", ws.locality());
    assert!(!shown.contains("s3cret"), "{shown}");
}
