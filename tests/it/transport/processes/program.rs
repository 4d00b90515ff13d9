//! Finding the program, and saying why it cannot be started.

use std::{io, os::unix::fs::symlink, path::Path, process::Command};

use mcp_transport::{Connect as _, ConnectError, ErrorClass, Stdio, StdioOptions};
use serde_json::json;

use super::run;

const SERVER: &str = env!("CARGO_BIN_EXE_parity-server");

async fn error(options: StdioOptions) -> ConnectError {
    Stdio::new(options).connect().await.unwrap_err()
}

/// Writes a file from another process: one that we had open for writing could be inherited by
/// whatever another test starts, and then not be run.
fn write(file: &Path, text: &str, mode: &str) {
    let script = r#"printf '%s' "$2" >"$1" && chmod "$3" "$1""#;
    let status =
        Command::new("sh").args(["-c", script, "sh"]).arg(file).args([text, mode]).status();
    assert!(status.unwrap().success());
}

#[tokio::test]
async fn a_name_is_looked_up_in_the_servers_own_path() {
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
async fn a_missing_program_names_every_directory_searched() {
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
async fn without_a_path_nothing_is_searched() {
    let mut options = StdioOptions::new("sh");
    options.environment = mcp_transport::Environment::Nothing;
    assert_eq!(
        error(options).await.to_string(),
        "program `sh` not found; looked in no directory, because PATH is empty"
    );
}

#[tokio::test]
async fn a_missing_file_names_its_directory() {
    let error = error(StdioOptions::new("/no/such/server")).await;
    assert_eq!(error.to_string(), "program `/no/such/server` not found; looked in /no/such");
}

#[tokio::test]
async fn a_relative_program_is_relative_to_where_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    symlink(SERVER, directory.path().join("server")).unwrap();
    // The way there from where the tests run, so that the directory itself is relative too.
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
async fn a_file_that_may_not_be_run_is_not_called_missing() {
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
async fn a_later_program_is_better_than_an_earlier_file() {
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
async fn a_script_without_its_interpreter_could_not_be_started() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server");
    write(&file, "#!/no/such/interpreter\n", "755");
    let error = error(StdioOptions::new(&file)).await;
    assert_eq!(error.to_string(), format!("could not start `{}`", file.display()));
    assert_eq!(error.class(), ErrorClass::Permanent);
    assert!(std::error::Error::source(&error).is_some());
}

#[tokio::test]
async fn a_missing_directory_is_named() {
    let mut options = StdioOptions::new("sh");
    options.cwd = Some("/no/such/directory".into());
    assert_eq!(
        error(options).await.to_string(),
        "working directory `/no/such/directory` does not exist"
    );
}

#[tokio::test]
async fn text_that_no_system_takes_is_refused_by_name() {
    let mut nul = StdioOptions::new("sh");
    nul.args = vec!["fine".into(), "not\0fine".into()];
    assert_eq!(error(nul).await.to_string(), "argument 2 holds a NUL character");

    let mut name = StdioOptions::new("sh");
    name.env.insert("A=B".into(), "x".into());
    assert_eq!(error(name).await.to_string(), "`A=B` is no name for an environment variable");

    let mut value = StdioOptions::new("sh");
    value.env.insert("SECRET".into(), "hunter\x002".into());
    let problem = error(value).await.to_string();
    assert_eq!(problem, "environment variable `SECRET` holds a NUL character");

    assert_eq!(error(StdioOptions::new("")).await.to_string(), "the program's name is empty");
}
