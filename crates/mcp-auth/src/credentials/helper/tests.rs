//! Tests of the output format and the cache of credential commands.

use std::fs;

use super::*;

const NOW: Duration = Duration::from_secs(1000);

#[test]
fn helper_output_is_read_as_token_or_headers() {
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
async fn helper_runs_once_until_its_output_expires() {
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
async fn helper_output_without_lifetime_is_not_reused() {
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
async fn helper_failures_are_distinct_and_show_no_output() {
    let failed = |script: &str| {
        let mut options = shell(script);
        options.time_limit = Duration::from_secs(3);
        async move { Helper::new(options).token().await.unwrap_err() }
    };
    let error = failed("echo canary; echo canary >&2; exit 3").await;
    assert!(matches!(error, HelperError::Failed(Exit::Code(3))), "{error}");
    assert!(!format!("{error:?} {error}").contains("canary"));
    assert!(matches!(failed("exec sleep 60").await, HelperError::Run(RunError::TimedOut(_))));
    assert!(matches!(failed("yes").await, HelperError::Run(RunError::TooMuch(_))));
    assert!(matches!(failed("echo two words").await, HelperError::NotUnderstood));
    let missing = Helper::new(HelperOptions::new("/nonexistent/helper"));
    assert!(matches!(missing.token().await, Err(HelperError::Run(RunError::Start(_)))));
}

/// Uses `CARGO_MANIFEST_DIR`, which Cargo sets for every test, as a variable that must not be passed on.
#[cfg(unix)]
#[tokio::test]
async fn helper_gets_the_environment_of_a_server_and_configured_variables() {
    let script = "echo \"${CARGO_MANIFEST_DIR:-none}-$GIVEN-${PATH:+path}\"";
    let mut options = shell(script);
    options.env = vec![("GIVEN".into(), "given".into())];
    assert_eq!(Helper::new(options.clone()).token().await.unwrap(), Secret::new("none-given-path"));
    options.environment = Environment::All;
    assert_ne!(Helper::new(options).token().await.unwrap(), Secret::new("none-given-path"));
}

/// Whether the process runs. A zombie does not.
#[cfg(target_os = "linux")]
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn helper_that_exceeds_its_time_limit_is_killed_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = shell("sleep 1000 & setsid sleep 1000 & echo $$ $! > pids; wait");
    options.cwd = Some(folder.path().to_owned());
    options.time_limit = Duration::from_secs(2);
    let error = Helper::new(options).token().await.unwrap_err();
    assert!(matches!(error, HelperError::Run(RunError::TimedOut(_))), "{error}");
    let pids = fs::read_to_string(folder.path().join("pids")).unwrap();
    for pid in pids.split_whitespace() {
        for _ in 0..200 {
            if !is_running(pid) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!is_running(pid), "{pid} of {pids}");
    }
}
