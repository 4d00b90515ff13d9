//! What the listener answers to whom.

use std::sync::Mutex;

use super::*;
use crate::oauth::callback::Expected;

fn expected() -> Expected {
    Expected { state: Secret::new("s"), issuer: "https://as.test".into(), needs_iss: false }
}

/// Sends one request to `uri` and returns the answer.
async fn get(uri: &str, request: &str) -> String {
    let address = uri.trim_start_matches("http://").trim_end_matches(PATH);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Visits while requests with these targets arrive. What was returned, and all answers.
async fn play(targets: &[&str]) -> (Result<Secret, InteractError>, Vec<String>) {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let pages = opened.clone();
    let browser = LoopbackBrowser::new().with_opener(Arc::new(move |url| {
        pages.lock().unwrap().push(url.to_owned());
        Ok(())
    }));
    let redirect = browser.prepare().await.unwrap();
    let uri = redirect.uri().to_owned();
    let expected = expected();
    let visit = redirect.visit(Visit::new("https://as.test/authorize?x", &expected));
    let requests = async {
        let mut answers = Vec::new();
        for target in targets {
            answers.push(get(&uri, &format!("{target} HTTP/1.1\r\nhost: x\r\n\r\n")).await);
        }
        answers
    };
    let played = tokio::join!(visit, requests);
    assert_eq!(*opened.lock().unwrap(), ["https://as.test/authorize?x"]);
    played
}

#[tokio::test]
async fn only_the_answer_to_this_login_ends_the_wait() {
    let (redirected, answers) = play(&[
        "GET /",
        "GET /favicon.ico",
        "POST /callback?code=c&state=s",
        "GET /callback?code=c&state=wrong",
        "GET /callback?code=c&state=s",
    ])
    .await;
    assert!(redirected.unwrap().expose().ends_with("/callback?code=c&state=s"));
    let status = |answer: &String| answer[9..12].to_owned();
    let statuses: Vec<String> = answers.iter().map(status).collect();
    assert_eq!(statuses, ["404", "404", "404", "400", "200"]);
    assert!(answers[4].contains("You can close this window"));
    assert!(answers.iter().all(|answer| !answer.contains("state=s")));
}

#[tokio::test]
async fn connections_that_say_nothing_keep_nobody_waiting() {
    let browser = LoopbackBrowser::new().with_opener(Arc::new(|_| Ok(())));
    let redirect = browser.prepare().await.unwrap();
    let uri = redirect.uri().to_owned();
    let address = uri.trim_start_matches("http://").trim_end_matches(PATH).to_owned();
    let expected = expected();
    let visit = redirect.visit(Visit::new("https://as.test/", &expected));
    let requests = async {
        let silent = [
            TcpStream::connect(&address).await.unwrap(),
            TcpStream::connect(&address).await.unwrap(),
        ];
        let answer = get(&uri, "GET /callback?code=c&state=s HTTP/1.1\r\n\r\n").await;
        drop(silent);
        answer
    };
    let began = std::time::Instant::now();
    let (redirected, _) = tokio::join!(visit, requests);
    assert!(redirected.is_ok() && began.elapsed() < REQUEST_LIMIT);
}

#[tokio::test]
async fn a_connection_that_cannot_be_accepted_does_not_end_the_login() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}{PATH}", listener.local_addr().unwrap());
    let mut errors = vec![io::ErrorKind::ConnectionAborted, io::ErrorKind::Other];
    let accept = |cx: &mut Context<'_>| match errors.pop() {
        Some(kind) => Poll::Ready(Err(kind.into())),
        None => listener.poll_accept(cx),
    };
    let expected = expected();
    let waiting = wait(accept, "http://127.0.0.1", Visit::new("https://as.test/", &expected));
    let request = get(&uri, "GET /callback?code=c&state=s HTTP/1.1\r\n\r\n");
    let (redirected, answer) = tokio::join!(waiting, request);
    assert!(redirected.expose().ends_with("/callback?code=c&state=s"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_refusal_is_shown_and_cannot_inject() {
    let (redirected, answers) =
        play(&["GET /callback?error=access_denied&error_description=%3Cscript%3E&state=s"]).await;
    assert!(redirected.is_ok());
    assert!(answers[0].contains("access_denied") && answers[0].contains("&lt;script&gt;"));
}

#[tokio::test]
async fn an_answer_from_somebody_else_is_not_shown() {
    let (redirected, answers) =
        play(&["GET /callback?error=canary&state=s&iss=https%3A%2F%2Fevil.test"]).await;
    assert!(redirected.is_ok());
    assert!(!answers[0].contains("canary") && answers[0].contains("different server"));
}

#[tokio::test]
async fn the_wait_has_an_end() {
    let limit = Duration::from_millis(20);
    let browser = LoopbackBrowser::new().with_limit(limit).with_opener(Arc::new(|_| Ok(())));
    let redirect = browser.prepare().await.unwrap();
    let expected = expected();
    let visited = redirect.visit(Visit::new("https://as.test/", &expected)).await;
    assert!(matches!(visited, Err(InteractError::TimedOut(_))));
}

#[tokio::test]
async fn a_fixed_port_that_is_taken_is_told() {
    let holder = LoopbackBrowser::new().prepare().await.unwrap();
    let port = url::Url::parse(holder.uri()).unwrap().port().unwrap();
    let again = LoopbackBrowser::new().with_port(port).prepare().await;
    assert!(matches!(again.err(), Some(InteractError::Listen(_))));
}
