//! What commands print, and how often they run.

use std::fs;

use super::*;

const NOW: Duration = Duration::from_secs(1000);

#[test]
fn tokens_and_headers_are_told_apart() {
    let read = |text: &str| read_output(text.as_bytes(), NOW);
    let token = |text: &str| Some(Secret::new(text));
    assert_eq!(read(" abc\n").unwrap().token, token("abc"));
    let stated = read(r#"{"token":"abc","expires_in":60}"#).unwrap();
    assert_eq!((stated.token, stated.life), (token("abc"), Some(Duration::from_secs(60))));
    let until = read(r#"{"access_token":"abc","expires_at":1060.0}"#).unwrap();
    assert_eq!(until.life, Some(Duration::from_secs(60)));
    let past = read(r#"{"access_token":"abc","expires_at":1}"#).unwrap();
    assert_eq!(past.life, Some(Duration::ZERO));
    let headers = read(r#"{"X-Key":"abc"}"#).unwrap();
    assert_eq!(headers.headers, [("X-Key".to_owned(), Secret::new("abc"))]);
    let both = read(r#"{"headers":{"X-Key":"abc"},"expires_in":1}"#).unwrap();
    assert_eq!((both.headers.len(), both.life), (1, Some(Duration::from_secs(1))));
    for wrong in ["", "two words", "{", "{}", r#"{"X":1}"#, r#"{"headers":[]}"#, "\u{fffd}{"] {
        let read = read(wrong);
        assert!(read.is_none() || !wrong.starts_with('{'), "{wrong}");
    }
    assert!(read("two words").is_none() && read("").is_none());
}

#[cfg(unix)]
fn shell(script: &str) -> HelperOptions {
    let mut options = HelperOptions::new("/bin/sh");
    options.args = vec!["-c".to_owned(), script.to_owned()];
    options
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_runs_once_for_the_life_of_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = shell("echo x >> runs; echo '{\"token\":\"t\",\"expires_in\":600}'");
    options.cwd = Some(folder.path().to_owned());
    let helper = Helper::new(options);
    let runs = || fs::read_to_string(folder.path().join("runs")).unwrap().lines().count();
    helper.token().await.unwrap();
    helper.token().await.unwrap();
    assert_eq!(runs(), 1);
    helper.forget().await;
    assert_eq!(helper.token().await.unwrap(), Secret::new("t"));
    assert_eq!(runs(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn output_without_life_is_not_used_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = shell("echo x >> runs; echo t");
    options.cwd = Some(folder.path().to_owned());
    options.life = Duration::ZERO;
    let helper = Helper::new(options);
    helper.token().await.unwrap();
    helper.token().await.unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("runs")).unwrap().lines().count(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn failures_are_told_apart_and_show_no_output() {
    let failed = |script: &str| {
        let mut options = shell(script);
        options.time_limit = Duration::from_secs(3);
        async move { Helper::new(options).token().await.unwrap_err() }
    };
    let error = failed("echo canary; echo canary >&2; exit 3").await;
    assert!(matches!(error, HelperError::Failed(Some(3))), "{error}");
    assert!(!format!("{error:?} {error}").contains("canary"));
    assert!(matches!(failed("exec sleep 60").await, HelperError::TimedOut(_)));
    assert!(matches!(failed("yes").await, HelperError::TooMuch));
    assert!(matches!(failed("echo two words").await, HelperError::NotUnderstood));
    let missing = Helper::new(HelperOptions::new("/nonexistent/helper"));
    assert!(matches!(missing.token().await, Err(HelperError::Start(_))));
}
