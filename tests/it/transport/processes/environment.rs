//! What a server sees of where it was started.

use mcp_transport::{Environment, StdioOptions};

use super::{run, script};

/// The names of a server's variables as the system gave them to it, before its shell added any.
const NAMES: &str = r"say $(tr '\0' '\n' </proc/$$/environ | cut -d= -f1)";

async fn names(environment: Environment, change: impl FnOnce(&mut StdioOptions)) -> Vec<String> {
    let mut options = script(NAMES);
    options.environment = environment;
    options.env.insert("GIVEN".into(), "value".into());
    change(&mut options);
    let said = run(options).await.said().await;
    said.split_whitespace().map(str::to_owned).collect()
}

/// Cargo sets this for every test, and no server needs it.
const PRIVATE: &str = "CARGO_MANIFEST_DIR";

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

#[tokio::test]
async fn by_default_a_server_sees_what_it_needs_and_what_it_is_given() {
    assert!(std::env::var_os(PRIVATE).is_some(), "run by cargo");
    let names = names(Environment::default(), |_| {}).await;
    assert!(has(&names, "PATH") && has(&names, "GIVEN"), "{names:?}");
    assert!(!has(&names, PRIVATE), "{names:?}");
}

#[tokio::test]
async fn everything_is_passed_on_when_asked_for() {
    let names = names(Environment::All, |_| {}).await;
    assert!(has(&names, PRIVATE) && has(&names, "GIVEN"), "{names:?}");
}

#[tokio::test]
async fn nothing_is_nothing_but_what_is_given() {
    assert_eq!(names(Environment::Nothing, |_| {}).await, ["GIVEN"]);
}

#[tokio::test]
async fn what_is_given_wins_over_what_is_inherited() {
    let mut options = script(r#"say "$HOME""#);
    options.environment = Environment::All;
    options.env.insert("HOME".into(), "/elsewhere".into());
    assert_eq!(run(options).await.said().await, "/elsewhere");
}

#[tokio::test]
async fn a_server_runs_where_it_is_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let expected = directory.path().canonicalize().unwrap();
    let mut options = script(r#"say "$(pwd -P)""#);
    options.cwd = Some(directory.path().into());
    assert_eq!(run(options).await.said().await, expected.to_str().unwrap());
}

#[tokio::test]
async fn the_hosts_own_directory_is_not_passed_on_to_a_server_elsewhere() {
    let elsewhere = |options: &mut StdioOptions| options.cwd = Some("/".into());
    assert!(!has(&names(Environment::All, elsewhere).await, "PWD"));
    let given = |options: &mut StdioOptions| {
        options.cwd = Some("/".into());
        options.env.insert("PWD".into(), "/".into());
    };
    assert!(has(&names(Environment::All, given).await, "PWD"));
}
