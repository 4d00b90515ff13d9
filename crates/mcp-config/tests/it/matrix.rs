//! A realistic file of every dialect, each with the same servers.

use std::path::Path;

use mcp_config::{
    Dialect, Document, Environment, Expanded, ReadOptions, Transport, diagnostic::Severity, expand,
    expand::AskInput, read,
};

/// A fixture with its path and expected dialect.
pub(crate) struct Fixture {
    pub(crate) dialect: Dialect,
    pub(crate) place: &'static str,
    pub(crate) text: &'static str,
    servers: &'static [&'static str],
}

const ALL: &[&str] = &["docs", "github", "time"];

macro_rules! fixture {
    ($dialect:ident, $place:literal, $file:literal, $servers:expr) => {
        Fixture {
            dialect: Dialect::$dialect,
            place: $place,
            text: include_str!(concat!("fixtures/", $file)),
            servers: $servers,
        }
    };
}

pub(crate) const FIXTURES: &[Fixture] = &[
    fixture!(McpJson, "/code/app/.mcp.json", "mcp.json", ALL),
    fixture!(Flat, "/code/app/.mcp.json", "flat.mcp.json", ALL),
    fixture!(Attocode, "/code/app/.mcp.json", "attocode.mcp.json", &["github", "time"]),
    fixture!(Connector, "/code/app/agent.json", "connector.json", &["docs", "time"]),
    fixture!(ClaudeCode, "/user/me/.claude.json", ".claude.json", ALL),
    fixture!(
        ClaudeSettings,
        "/user/me/.claude/settings.json",
        "claude-settings.json",
        &["github", "time"]
    ),
    fixture!(
        ClaudeManaged,
        "/etc/claude-code/managed-mcp.json",
        "managed-mcp.json",
        &["docs", "github"]
    ),
    fixture!(
        ClaudeDesktop,
        "/user/me/.config/Claude/claude_desktop_config.json",
        "claude_desktop_config.json",
        &["github", "time"]
    ),
    fixture!(VsCode, "/code/app/.vscode/mcp.json", "vscode.mcp.json", ALL),
    fixture!(Cursor, "/user/me/.cursor/mcp.json", "cursor.mcp.json", ALL),
    fixture!(Windsurf, "/user/me/.codeium/windsurf/mcp_config.json", "mcp_config.json", ALL),
    fixture!(Zed, "/user/me/.config/zed/settings.json", "zed.settings.json", ALL),
    #[cfg(feature = "toml")]
    fixture!(Codex, "/user/me/.codex/config.toml", "codex.config.toml", ALL),
    fixture!(OpenCode, "/code/app/opencode.json", "opencode.json", ALL),
    fixture!(OpenCode2, "/code/app/opencode.json", "opencode2.json", ALL),
    fixture!(Gemini, "/user/me/.gemini/settings.json", "gemini.settings.json", ALL),
    #[cfg(feature = "yaml")]
    fixture!(Goose, "/user/me/.config/goose/config.yaml", "goose.config.yaml", ALL),
    fixture!(CopilotCli, "/user/me/.copilot/mcp-config.json", "copilot.mcp-config.json", ALL),
    fixture!(Cline, "/user/me/cline_mcp_settings.json", "cline_mcp_settings.json", ALL),
    fixture!(Roo, "/user/me/mcp_settings.json", "roo.mcp_settings.json", ALL),
    fixture!(Kiro, "/code/app/.kiro/settings/mcp.json", "kiro.mcp.json", ALL),
    fixture!(Amp, "/user/me/.config/amp/settings.json", "amp.settings.json", ALL),
    fixture!(Qwen, "/user/me/.qwen/settings.json", "qwen.settings.json", ALL),
    fixture!(LmStudio, "/user/me/.lmstudio/mcp.json", "lmstudio.mcp.json", ALL),
    fixture!(Junie, "/code/app/.junie/mcp/mcp.json", "junie.mcp.json", ALL),
];

pub(crate) fn open(fixture: &Fixture) -> Document {
    let mut options = ReadOptions::new(fixture.place);
    options.project = Some(Path::new("/code/app"));
    read(fixture.text.as_bytes(), &options)
}

struct Answers;

impl AskInput for Answers {
    fn input(&self, id: &str) -> Option<String> {
        (id == "docs-token").then(|| "docs-secret".to_owned())
    }
}

/// The settings of a server, independent of its dialect.
fn effective_settings(server: &Expanded) -> String {
    match &server.transport {
        Transport::Stdio(stdio) => {
            let args: Vec<&str> = stdio.args.iter().map(mcp_config::Template::expose).collect();
            let env: Vec<String> =
                stdio.env.iter().map(|(k, v)| format!("{k}={}", v.expose())).collect();
            format!("{} {} [{}]", stdio.command.expose(), args.join(" "), env.join(" "))
        }
        other => {
            let remote = other.remote().unwrap();
            let headers: Vec<String> =
                remote.headers.iter().map(|(k, v)| format!("{k}: {}", v.expose())).collect();
            format!("{} {} [{}]", other.kind(), remote.url.expose(), headers.join(", "))
        }
    }
}

#[test]
fn every_dialect_is_detected_by_content_and_path() {
    for fixture in FIXTURES {
        assert_eq!(open(fixture).dialect, Some(fixture.dialect), "{}", fixture.place);
    }
}

#[test]
fn every_dialect_shows_the_same_servers() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".env"), "").unwrap();
    let env = Environment::empty()
        .with("GITHUB_TOKEN", "github-secret")
        .with("DOCS_TOKEN", "docs-secret")
        .with("DOCS_SECRET", "x")
        .in_workspace(folder.path());
    for fixture in FIXTURES {
        let document = open(fixture);
        let mut names: Vec<&str> = Vec::new();
        for entry in &document.entries {
            let expanded = expand(&entry.config, &env, &Answers).unwrap();
            let expected = match entry.config.name.as_str() {
                "time" => "mcp-time --zone UTC []",
                "github" => {
                    "npx -y @modelcontextprotocol/server-github [GITHUB_TOKEN=github-secret]"
                }
                "docs" => "http https://docs.example.com/mcp [Authorization: Bearer docs-secret]",
                other => panic!("{other} in {}", fixture.place),
            };
            assert_eq!(effective_settings(&expanded), expected, "{}", fixture.dialect);
            names.push(entry.config.name.as_str());
        }
        names.sort_unstable();
        assert_eq!(names, fixture.servers, "{}", fixture.dialect);
    }
}

#[test]
fn no_realistic_file_gives_an_error_or_a_warning() {
    for fixture in FIXTURES {
        for diagnostic in open(fixture).diagnostics {
            assert!(diagnostic.severity < Severity::Warning, "{diagnostic}");
        }
    }
}

#[test]
fn every_entry_has_its_position() {
    for fixture in FIXTURES {
        for entry in open(fixture).entries {
            let position = entry.place.position.unwrap();
            let line = fixture.text.lines().nth(position.line - 1).unwrap();
            let rest: String = line.chars().skip(position.column - 1).collect();
            let rest = rest.trim_start_matches(['"', '[']).trim_start_matches("mcp_servers.");
            assert!(rest.starts_with(entry.config.name.as_str()), "{}: {rest}", entry.place);
            assert!(entry.place.pointer.ends_with(entry.config.name.as_str()));
        }
    }
}

#[test]
fn settings_are_equal_across_key_names_and_units() {
    let find = |dialect: Dialect, name: &str| {
        let fixture = FIXTURES.iter().find(|fixture| fixture.dialect == dialect).unwrap();
        open(fixture).get(name).unwrap().config.clone()
    };
    let seconds = |seconds| Some(std::time::Duration::from_secs(seconds));
    assert_eq!(find(Dialect::Zed, "github").timeouts.call, seconds(60));
    assert_eq!(find(Dialect::Gemini, "time").timeouts.call, seconds(30));
    assert_eq!(find(Dialect::Connector, "time").timeouts.call, seconds(30));
    assert_eq!(find(Dialect::OpenCode2, "github").timeouts.startup, seconds(20));
    assert_eq!(find(Dialect::CopilotCli, "time").timeouts.call, seconds(30));
    assert_eq!(find(Dialect::Cline, "time").timeouts.call, seconds(30));
    assert_eq!(find(Dialect::Roo, "docs").timeouts.call, seconds(60));
    assert_eq!(find(Dialect::CopilotCli, "time").tools.allow, None);
    assert!(!find(Dialect::CopilotCli, "github").tools.admits("delete_repo"));
    for dialect in [Dialect::Roo, Dialect::Kiro, Dialect::Qwen] {
        assert!(!find(dialect, "github").tools.admits("delete_repo"), "{dialect}");
    }
    assert!(
        !find(Dialect::Amp, "time").tools.admits("set") && !find(Dialect::Amp, "github").enabled
    );
    assert!(!find(Dialect::Cline, "docs").enabled && find(Dialect::Qwen, "time").trust);
    assert!(find(Dialect::Gemini, "docs").trust);
    assert!(!find(Dialect::Gemini, "github").tools.admits("delete_repo"));
    let oauth =
        find(Dialect::ClaudeCode, "docs").transport.remote().unwrap().oauth.clone().unwrap();
    assert_eq!(
        (oauth.callback_port, oauth.scopes),
        (Some(8765), vec!["read".to_owned(), "write".to_owned()])
    );
    #[cfg(feature = "toml")]
    assert_eq!(
        find(Dialect::Codex, "time").timeouts.startup,
        Some(std::time::Duration::from_millis(20_500))
    );
}
