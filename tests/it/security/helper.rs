//! The helper that an approval shows is the helper that runs, with real processes.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use mcp_bridge::{Logins, LoginsOptions, connect::Identify as _};
use mcp_config::{
    Environment, ReadOptions, ServerConfig,
    approval::{Disclosure, Fact},
    expand,
    expand::NoInputs,
    read,
};
use mcp_transport::auth::Target;

fn entry(text: &str) -> ServerConfig {
    let text = format!(r#"{{"mcpServers":{{"x":{text}}}}}"#);
    let document = read(text.as_bytes(), &ReadOptions::new(".mcp.json"));
    document.get("x").unwrap_or_else(|| panic!("{:?}", document.diagnostics)).config.clone()
}

/// The program of the helper as disclosed.
fn disclosed(config: &ServerConfig, env: &Environment, project: &Path) -> String {
    let facts = Disclosure::of(config, env, project).facts;
    let program = facts.iter().find_map(|fact| match fact {
        Fact::Program { field: "headersHelper", path } => Some(path.display().to_string()),
        _ => None,
    });
    program.unwrap_or_else(|| panic!("{facts:?}"))
}

/// The program that ran, as it names itself in a header.
async fn ran(config: &ServerConfig, env: &Environment, project: &Path) -> String {
    let expanded = expand(config, env, &NoInputs).unwrap();
    let logins = Logins::new(LoginsOptions::default().with_project(project));
    let authorizer = logins.identify(&expanded).unwrap().authorizer.unwrap();
    let url = expanded.transport.remote().unwrap().url.expose();
    let sent = authorizer.credentials(Target::new("POST", url)).await.unwrap();
    let headers = format!("{:?}", sent.headers);
    let all = sent.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-path"));
    all.unwrap_or_else(|| panic!("{headers}")).1.clone()
}

#[tokio::test]
async fn disclosed_helper_is_the_one_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().canonicalize().unwrap();
    for name in ["h.sh", "bin/date"] {
        let path = project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\nprintf '{\"X-Path\":\"%s\"}' \"$0\"\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let env = Environment::current().in_workspace(&project);
    let bin = project.join("bin");
    for (helper, file) in [
        (r#""headersHelper":"./h.sh""#.to_owned(), "h.sh"),
        (
            format!(r#""headersHelper":"date","env":{{"PATH":"{}:/usr/bin:/bin"}}"#, bin.display()),
            "bin/date",
        ),
        (r#""headersHelper":"${workspaceFolder}/h.sh""#.to_owned(), "h.sh"),
    ] {
        let config = entry(&format!(r#"{{"type":"http","url":"https://h.test/mcp",{helper}}}"#));
        let shown = disclosed(&config, &env, &project);
        assert_eq!(shown, project.join(file).display().to_string());
        assert_eq!(ran(&config, &env, &project).await, shown, "{helper}");
    }
}
