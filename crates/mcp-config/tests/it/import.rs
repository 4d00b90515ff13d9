//! Bringing over other hosts' servers.

use mcp_config::{
    ConfigFile, Dialect, Document, Environment, ImportPlan, Layers, Platform, Scope, known_files,
};

use crate::{
    matrix::{FIXTURES, open},
    resolution::{file, http},
};

#[test]
fn a_dry_run_shows_what_would_come_and_applying_does_just_that() {
    let mut current = Layers::new();
    current.env = Environment::empty().with("DOCS_TOKEN", "x");
    current.push(
        Scope::User,
        Document::from_servers("mine", [http("docs", "https://elsewhere.test/mcp")]),
    );
    current.push(
        Scope::Enterprise,
        file(
            "/etc/claude-code/managed-settings.json",
            r#"{"deniedMcpServers":[{"serverCommand":["mcp-time","--zone","UTC"]}]}"#,
        ),
    );
    let pick = |dialect: Dialect| open(FIXTURES.iter().find(|f| f.dialect == dialect).unwrap());
    let found = [pick(Dialect::Cursor), pick(Dialect::Windsurf)];
    let plan = ImportPlan::new(&current, &found, Scope::User, Dialect::McpJson);
    assert_eq!(
        plan.to_string(),
        "  time, from Cursor (/user/me/.cursor/mcp.json:3:5): denied by command `mcp-time --zone UTC`
+ github, from Cursor (/user/me/.cursor/mcp.json:4:5)
    runs npx -y @modelcontextprotocol/server-github  (sets GITHUB_TOKEN)
  docs, from Cursor (/user/me/.cursor/mcp.json:11:5): another server has this name (mine)
  time, from Windsurf (/user/me/.codeium/windsurf/mcp_config.json:3:5): denied by command `mcp-time --zone UTC`
  github, from Windsurf (/user/me/.codeium/windsurf/mcp_config.json:4:5): another server has this name (/user/me/.cursor/mcp.json:4:5)
  docs, from Windsurf (/user/me/.codeium/windsurf/mcp_config.json:9:5): another server has this name (mine)
"
    );
    let folder = tempfile::tempdir().unwrap();
    let target = ConfigFile::new(folder.path().join(".mcp.json"));
    assert_eq!(plan.apply(&target).unwrap(), 1);
    let written = target.read();
    assert_eq!(written.entries.len(), 1);
    assert_eq!(&written.get("github").unwrap().config, &plan.servers[1].entry.config);
}

#[test]
fn every_dialect_has_a_place_on_some_platform() {
    let mut env = Environment::empty().with("APPDATA", "C:\\Users\\me\\AppData\\Roaming");
    env.home = Some("/user/me".into());
    let platforms = [Platform::Linux, Platform::MacOs, Platform::Windows];
    let files: Vec<_> =
        platforms.iter().flat_map(|p| known_files(*p, &env, "/code/app".as_ref())).collect();
    for dialect in Dialect::ALL {
        // These share their file with another: told apart by content.
        let shared = [Dialect::Flat, Dialect::Attocode, Dialect::Connector, Dialect::OpenCode2];
        assert!(
            shared.contains(&dialect) || files.iter().any(|file| file.dialect == dialect),
            "{dialect}"
        );
    }
}

#[test]
fn a_users_existing_servers_appear_from_whatever_tool_they_used() {
    use std::{fs, sync::Arc};
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("app"));
    let mut env = Environment::empty();
    env.home = Some(home.clone());
    let known = known_files(Platform::Linux, &env, &project);
    for place in [".cursor/mcp.json", ".codeium/windsurf/mcp_config.json", ".gemini/settings.json"]
    {
        fs::create_dir_all(home.join(place).parent().unwrap()).unwrap();
        let name = place.split('/').next().unwrap().trim_start_matches('.');
        fs::write(
            home.join(place),
            format!("{{\"mcpServers\":{{\"{name}\":{{\"command\":\"{name}\"}}}}}}"),
        )
        .unwrap();
    }
    // The machine's own managed files must not decide this test.
    let sources: Vec<Arc<dyn mcp_config::Source>> = known
        .iter()
        .filter(|file| file.path.starts_with(folder.path()))
        .map(|file| Arc::new(file.source(&project)) as Arc<dyn mcp_config::Source>)
        .collect();
    let mut layers = Layers::new();
    layers.layers = mcp_config::load(&sources);
    let resolution = mcp_config::resolve(&layers);
    let names: Vec<&str> = resolution.servers().map(|c| c.entry.config.name.as_str()).collect();
    assert_eq!(names, ["cursor", "codeium", "gemini"]);
}
