//! Standard error of server processes.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::{run, script};

#[tokio::test]
async fn last_stderr_lines_are_kept_and_each_is_reported() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut options = script("echo one >&2; echo two >&2; printf three >&2; exit 1");
    let listener = heard.clone();
    options.on_stderr = Some(Arc::new(move |line| listener.lock().unwrap().push(line.to_owned())));
    let (_, report) = run(options).await.end().await;
    assert_eq!(report.diagnostics.stderr, ["one", "two", "three"]);
    assert_eq!(*heard.lock().unwrap(), ["one", "two", "three"]);
    assert_eq!(
        report.to_string(),
        "the server ended the connection (exit status 1); last stderr line: three"
    );
}

#[tokio::test]
async fn secrets_of_the_environment_are_redacted_in_stderr() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut options =
        script("echo $API_TOKEN on stdout; echo using $API_TOKEN in $MODE >&2; exit 1");
    options.env.insert("API_TOKEN".into(), "s3cret-s3cret".into());
    options.env.insert("MODE".into(), "production".into());
    let listener = heard.clone();
    options.on_stderr = Some(Arc::new(move |line| listener.lock().unwrap().push(line.to_owned())));
    let (_, report) = run(options).await.end().await;
    let said = "using [redacted] in production";
    assert_eq!(report.diagnostics.stderr, [said]);
    assert_eq!(*heard.lock().unwrap(), [said]);
    assert_eq!(report.diagnostics.first_skipped.as_deref(), Some("[redacted] on stdout"));
    assert!(!format!("{report} {report:?}").contains("s3cret"));
}

#[tokio::test]
async fn ten_megabytes_of_stderr_do_not_block_and_are_not_kept() {
    let lines = Arc::new(AtomicUsize::new(0));
    let mut options = script(
        "head -c 10485760 /dev/zero | tr '\\0' x | fold -w 1024 >&2; echo >&2; echo last >&2
         say done; read -r line",
    );
    let counts = lines.clone();
    options.on_stderr = Some(Arc::new(move |_| {
        counts.fetch_add(1, Ordering::Relaxed);
    }));
    let mut host = run(options).await;
    assert_eq!(host.said().await, "done");
    let report = host.close().await;
    assert_eq!(lines.load(Ordering::Relaxed), 10 * 1024 + 1);
    let kept = &report.diagnostics.stderr;
    assert_eq!(kept.last().map(String::as_str), Some("last"));
    assert!(kept.len() <= 200, "{} lines", kept.len());
    assert!(kept.iter().map(String::len).sum::<usize>() <= 64 << 10);
}

#[tokio::test]
async fn endless_stderr_line_is_truncated() {
    let options = script("head -c 1048576 /dev/zero | tr '\\0' y >&2");
    let (_, report) = run(options).await.end().await;
    let [line] = &report.diagnostics.stderr[..] else { panic!("one line") };
    assert!(line.len() < 8192 && line.ends_with("(1048576 bytes)"), "{}", line.len());
}

#[tokio::test]
async fn invalid_utf8_in_stderr_is_shown_lossily() {
    let (_, report) = run(script(r"printf 'caf\377\n' >&2")).await.end().await;
    assert_eq!(report.diagnostics.stderr, ["caf\u{fffd}"]);
}
