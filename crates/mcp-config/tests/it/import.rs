//! Import of servers from other hosts.

use mcp_config::{
    ConfigFile, Dialect, Document, Environment, Layers, ReadOptions, Scope, Transport,
    files::{ImportOutcome, ImportPlan, Platform},
    known_files,
    model::AlwaysLoad,
    read,
    resolve::Layer,
};

use crate::{
    matrix::{FIXTURES, open},
    resolution::{file, http},
};

#[test]
fn import_plan_shows_exactly_the_servers_it_adds() {
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
    let found = found.map(|document| Layer::new(Scope::User, document));
    let plan = ImportPlan::new(&current, &found, Scope::User, Scope::User, Dialect::McpJson);
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
fn trust_always_load_and_sandbox_of_a_repository_are_not_imported() {
    let gemini =
        r#"{"mcpServers":{"a":{"command":"bash","args":["-c","TOKEN=1; id"],"trust":true}}}"#;
    let own =
        r#"{"mcpServers":{"b":{"command":"x","trust":true,"alwaysLoad":true,"sandbox":"off"}}}"#;
    let plan = |scope| {
        let found = [
            Layer::new(scope, file("/code/app/.gemini/settings.json", gemini)),
            Layer::new(scope, file("/code/app/.mcp.json", own)),
        ];
        ImportPlan::new(&Layers::new(), &found, scope, Scope::Local, Dialect::McpJson)
    };
    let repository = plan(Scope::Project);
    assert_eq!((repository.from, repository.to), (Scope::Project, Scope::Local));
    let folder = tempfile::tempdir().unwrap();
    let target = ConfigFile::new(folder.path().join("local.json"));
    assert_eq!(repository.apply(&target).unwrap(), 2);
    for entry in &target.read().entries {
        assert!(!entry.config.trust && entry.config.always_load == AlwaysLoad::No);
        let Transport::Stdio(stdio) = &entry.config.transport else { panic!("a program") };
        assert_eq!(stdio.sandbox, None);
    }
    let text = repository.to_string();
    assert!(text.contains("args[1] \"TOKEN=1; id\"") && !text.contains("trust"), "{text}");
    // A user may trust their own server.
    assert!(plan(Scope::User).servers.iter().all(|server| server.entry.config.trust));
}

#[test]
fn each_scope_is_imported_separately() {
    let claude = r#"{"mcpServers":{"everywhere":{"command":"u"}},
        "projects":{"/code/app":{"mcpServers":{"here":{"command":"l"}}}}}"#;
    let mut options = ReadOptions::new("/user/me/.claude.json");
    options.project = Some("/code/app".as_ref());
    let found = [
        Layer::new(Scope::User, read(claude.as_bytes(), &options)),
        Layer::new(
            Scope::Project,
            file("/code/app/.mcp.json", r#"{"mcpServers":{"repo":{"command":"p"}}}"#),
        ),
    ];
    for (from, name) in
        [(Scope::User, "everywhere"), (Scope::Local, "here"), (Scope::Project, "repo")]
    {
        let plan = ImportPlan::new(&Layers::new(), &found, from, Scope::Local, Dialect::McpJson);
        let names: Vec<&str> = plan.servers.iter().map(|s| s.entry.config.name.as_str()).collect();
        assert_eq!(names, [name], "{from}");
        assert_eq!(plan.servers[0].outcome, ImportOutcome::New);
    }
}

#[test]
fn every_dialect_has_a_known_file_on_some_platform() {
    let mut env = Environment::empty().with("APPDATA", "C:\\Users\\me\\AppData\\Roaming");
    env.home = Some("/user/me".into());
    let platforms = [Platform::Linux, Platform::MacOs, Platform::Windows];
    let files: Vec<_> =
        platforms.iter().flat_map(|p| known_files(*p, &env, "/code/app".as_ref())).collect();
    for dialect in Dialect::ALL {
        // These share a file name with another dialect and are detected by content.
        let shared = [
            Dialect::Flat,
            Dialect::Attocode,
            Dialect::Connector,
            Dialect::OpenCode2,
            // Not a file.
            Dialect::Acp,
        ];
        assert!(
            shared.contains(&dialect) || files.iter().any(|file| file.dialect == dialect),
            "{dialect}"
        );
    }
}

#[test]
fn existing_servers_of_every_tool_are_found() {
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
    // Managed files of this machine must not affect the test.
    let sources: Vec<Arc<dyn mcp_config::files::Source>> = known
        .iter()
        .filter(|file| file.path.starts_with(folder.path()))
        .map(|file| Arc::new(file.source(&project)) as Arc<dyn mcp_config::files::Source>)
        .collect();
    let mut layers = Layers::new();
    layers.layers = mcp_config::load(&sources);
    let resolution = mcp_config::resolve(&layers);
    let names: Vec<&str> = resolution.servers().map(|c| c.entry.config.name.as_str()).collect();
    assert_eq!(names, ["cursor", "codeium", "gemini"]);
}
