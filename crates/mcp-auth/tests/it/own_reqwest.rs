//! The adapter for a host's `reqwest::Client`.

use std::time::Duration;

use mcp_auth::{
    guard::Blocked,
    http::{HttpClient as _, HttpError, ReqwestClient},
};
use reqwest::{
    Client,
    redirect::{self, Policy},
};

use crate::sockets::{get, serve};

const SERVER: &str = "http://localhost/mcp";

fn adapter(policy: Policy) -> ReqwestClient {
    ReqwestClient::new(Client::builder().redirect(policy).no_proxy().build().unwrap())
}

#[tokio::test]
async fn reqwest_adapter_applies_the_limits_of_the_request() {
    let client = adapter(Policy::none());
    let url = serve(b"HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 2\r\n\r\nhi".to_vec());
    let response = client.send(get(&url.await, SERVER)).await.unwrap();
    assert_eq!((response.status, response.body.as_slice()), (302, &b"hi"[..]));
    assert_eq!(response.header("location"), Some("/x"));

    let mut large = b"HTTP/1.1 200 OK\r\ncontent-length: 52428800\r\n\r\n".to_vec();
    large.extend(vec![b'x'; 2 << 20]);
    let refused = client.send(get(&serve(large).await, SERVER)).await;
    assert!(matches!(refused, Err(HttpError::TooLarge(_))), "{refused:?}");

    let mut request = get(&serve(b"HTTP/1.1 200 OK\r\n".to_vec()).await, SERVER);
    request.time_limit = Duration::from_millis(50);
    let refused = client.send(request).await;
    assert!(matches!(refused, Err(HttpError::TimedOut(_) | HttpError::Unreachable(_))));
}

#[tokio::test]
async fn reqwest_adapter_checks_urls_and_rejects_followed_redirects() {
    let once = |attempt: redirect::Attempt<'_>| {
        if attempt.previous().len() > 1 { attempt.stop() } else { attempt.follow() }
    };
    let client = adapter(Policy::custom(once));
    let url = serve(b"HTTP/1.1 302 Found\r\nlocation: /x?y\r\ncontent-length: 0\r\n\r\n".to_vec());
    let Err(HttpError::Unreachable(Some(why))) = client.send(get(&url.await, SERVER)).await else {
        panic!("a redirect was followed")
    };
    assert_eq!(why.to_string(), "the client follows redirects");
    let refused = client.send(get("http://127.0.0.1:9/", "https://mcp.test/mcp")).await;
    assert!(matches!(refused, Err(HttpError::Blocked(Blocked::NotEncrypted))), "{refused:?}");
}
