//! Lookup of the server program, and errors when it cannot be started.

use std::{io, os::unix::fs::symlink, path::Path, process::Command};

use mcp_transport::{Connect as _, ConnectError, ErrorClass, Stdio, StdioOptions};
use serde_json::json;

use super::run;

const SERVER: &str = env!("CARGO_BIN_EXE_parity-server");

async fn error(options: StdioOptions) -> ConnectError {
    Stdio::new(options).connect().await.unwrap_err()
}

/// Writes a file from another process: a child of another test could inherit our descriptor, and the file
/// could then not be executed (`ETXTBSY`).
fn write(file: &Path, text: &str, mode: &str) {
    let script = r#"printf '%s' "$2" >"$1" && chmod "$3" "$1""#;
    let status =
        Command::new("sh").args(["-c", script, "sh"]).arg(file).args([text, mode]).status();
    assert!(status.unwrap().success());
}

#[tokio::test]
async fn program_is_looked_up_in_the_path_of_the_server() {
    let (empty, full) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    symlink(SERVER, full.path().join("my-server")).unwrap();
    let mut options = StdioOptions::new("my-server");
    let path = std::env::join_paths([empty.path(), full.path()]).unwrap();
    options.env.insert("PATH".into(), path);
    let mut host = run(options).await;
    host.ask(1, "parity/echo", &json!({}));
    assert_eq!(host.next().await, "1");
}

#[tokio::test]
async fn missing_program_names_the_searched_directories() {
    let mut options = StdioOptions::new("no-such-server");
    options.env.insert("PATH".into(), "/one::/two:/three".into());
    let error = error(options).await;
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert_eq!(
        error.to_string(),
        "program `no-such-server` not found; looked in /one, /two, /three"
    );
}

#[tokio::test]
async fn program_is_not_searched_without_a_path() {
    let mut options = StdioOptions::new("sh");
    options.environment = mcp_transport::process::Environment::Nothing;
    assert_eq!(
        error(options).await.to_string(),
        "program `sh` not found; looked in no directory, because PATH is empty"
    );
}

#[tokio::test]
async fn missing_program_file_names_its_directory() {
    let error = error(StdioOptions::new("/no/such/server")).await;
    assert_eq!(error.to_string(), "program `/no/such/server` not found; looked in /no/such");
}

#[tokio::test]
async fn relative_program_is_resolved_in_its_working_directory() {
    let directory = tempfile::tempdir().unwrap();
    symlink(SERVER, directory.path().join("server")).unwrap();
    // A path relative to the test's directory, so that the working directory is relative too.
    let here = std::env::current_dir().unwrap();
    let up = "../".repeat(here.components().count() - 1);
    let there = directory.path().canonicalize().unwrap();
    let relative = Path::new(&up).join(there.strip_prefix("/").unwrap());
    let mut options = StdioOptions::new("./server");
    options.cwd = Some(relative);
    let mut host = run(options).await;
    host.ask(1, "parity/echo", &json!({}));
    assert_eq!(host.next().await, "1");
}

#[tokio::test]
async fn non_executable_file_is_not_reported_as_missing() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server");
    write(&file, "#!/bin/sh\n", "644");
    let mut by_name = StdioOptions::new("server");
    by_name.env.insert("PATH".into(), directory.path().into());
    for options in [StdioOptions::new(&file), by_name] {
        match error(options).await {
            ConnectError::Spawn { program, source } => {
                assert_eq!(program, file);
                assert_eq!(source.kind(), io::ErrorKind::PermissionDenied);
            }
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn executable_later_in_path_wins_over_a_plain_file() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(&first.path().join("server"), "", "644");
    symlink(SERVER, second.path().join("server")).unwrap();
    let mut options = StdioOptions::new("server");
    let path = std::env::join_paths([first.path(), second.path()]).unwrap();
    options.env.insert("PATH".into(), path);
    let mut host = run(options).await;
    host.ask(1, "parity/echo", &json!({}));
    assert_eq!(host.next().await, "1");
}

#[tokio::test]
async fn script_with_a_missing_interpreter_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server");
    write(&file, "#!/no/such/interpreter\n", "755");
    let error = error(StdioOptions::new(&file)).await;
    assert_eq!(error.to_string(), format!("could not start `{}`", file.display()));
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert!(std::error::Error::source(&error).is_some());
}

#[tokio::test]
async fn missing_working_directory_is_named() {
    let mut options = StdioOptions::new("sh");
    options.cwd = Some("/no/such/directory".into());
    assert_eq!(
        error(options).await.to_string(),
        "working directory `/no/such/directory` does not exist"
    );
}

#[tokio::test]
async fn nul_in_names_and_values_is_rejected() {
    let mut nul = StdioOptions::new("sh");
    nul.args = vec!["fine".into(), "not\0fine".into()];
    assert_eq!(error(nul).await.to_string(), "argument 2 holds a NUL character");

    let mut name = StdioOptions::new("sh");
    name.env.insert("A=B".into(), "x".into());
    assert_eq!(
        error(name).await.to_string(),
        "`A=B` is not a valid name for an environment variable"
    );

    let mut value = StdioOptions::new("sh");
    value.env.insert("SECRET".into(), "hunter\x002".into());
    let problem = error(value).await.to_string();
    assert_eq!(problem, "environment variable `SECRET` holds a NUL character");

    assert_eq!(error(StdioOptions::new("")).await.to_string(), "the program's name is empty");
}
