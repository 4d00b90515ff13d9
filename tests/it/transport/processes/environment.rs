//! The environment and working directory of a server process.

use mcp_transport::{StdioOptions, process::Environment};

use super::{run, script};

/// Prints the names of a server's variables as passed to the process, before its shell adds any.
const NAMES: &str = r"say $(tr '\0' '\n' </proc/$$/environ | cut -d= -f1)";

async fn names(environment: Environment, change: impl FnOnce(&mut StdioOptions)) -> Vec<String> {
    let mut options = script(NAMES);
    options.environment = environment;
    options.env.insert("GIVEN".into(), "value".into());
    change(&mut options);
    let said = run(options).await.said().await;
    said.split_whitespace().map(str::to_owned).collect()
}

/// A variable that Cargo sets for every test and that servers do not need.
const PRIVATE: &str = "CARGO_MANIFEST_DIR";

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

#[tokio::test]
async fn default_environment_is_minimal_plus_configured_variables() {
    assert!(std::env::var_os(PRIVATE).is_some(), "run by cargo");
    let names = names(Environment::default(), |_| {}).await;
    assert!(has(&names, "PATH") && has(&names, "GIVEN"), "{names:?}");
    assert!(!has(&names, PRIVATE), "{names:?}");
}

#[tokio::test]
async fn whole_environment_is_inherited_on_request() {
    let names = names(Environment::All, |_| {}).await;
    assert!(has(&names, PRIVATE) && has(&names, "GIVEN"), "{names:?}");
}

#[tokio::test]
async fn empty_environment_has_only_configured_variables() {
    // The mark by which descendants are found is always set.
    assert_eq!(names(Environment::Nothing, |_| {}).await, ["GIVEN", "MCP_SERVER_MARK"]);
}

#[tokio::test]
async fn configured_variables_override_inherited_ones() {
    let mut options = script(r#"say "$HOME""#);
    options.environment = Environment::All;
    options.env.insert("HOME".into(), "/elsewhere".into());
    assert_eq!(run(options).await.said().await, "/elsewhere");
}

#[tokio::test]
async fn server_runs_in_the_configured_directory() {
    let directory = tempfile::tempdir().unwrap();
    let expected = directory.path().canonicalize().unwrap();
    let mut options = script(r#"say "$(pwd -P)""#);
    options.cwd = Some(directory.path().into());
    assert_eq!(run(options).await.said().await, expected.to_str().unwrap());
}

#[tokio::test]
async fn pwd_of_the_host_is_not_inherited_in_another_directory() {
    let elsewhere = |options: &mut StdioOptions| options.cwd = Some("/".into());
    assert!(!has(&names(Environment::All, elsewhere).await, "PWD"));
    let given = |options: &mut StdioOptions| {
        options.cwd = Some("/".into());
        options.env.insert("PWD".into(), "/".into());
    };
    assert!(has(&names(Environment::All, given).await, "PWD"));
}
