//! Where each host keeps its files, as a table.

use std::path::{Path, PathBuf};

use crate::{dialect::Dialect, environment::Environment, scope::Scope, source::FileSource};

/// An operating system, for the places that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Platform {
    /// Linux, and whatever follows its conventions.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one this was built for.
    pub fn current() -> Self {
        match () {
            () if cfg!(windows) => Self::Windows,
            () if cfg!(target_os = "macos") => Self::MacOs,
            () => Self::Linux,
        }
    }
}

/// A place some host reads servers from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownFile {
    /// The file; it need not exist.
    pub path: PathBuf,
    /// How it is read.
    pub dialect: Dialect,
    /// Where its servers belong.
    pub scope: Scope,
}

impl KnownFile {
    /// The file as a source, for the project at hand.
    pub fn source(&self, project: &Path) -> FileSource {
        let source = FileSource::new(self.scope, &self.path).project(project);
        // A name shared by several dialects is told apart by content.
        if self.dialect == Dialect::McpJson || self.dialect == Dialect::OpenCode {
            source
        } else {
            source.dialect(self.dialect)
        }
    }
}

/// What a path in the table starts from.
#[derive(Clone, Copy)]
enum Root {
    Project,
    Home,
    /// `$XDG_CONFIG_HOME` or `~/.config`.
    Config,
    /// `~/Library/Application Support`.
    Library,
    /// `%APPDATA%`.
    AppData,
    /// `$CODEX_HOME` or `~/.codex`.
    Codex,
    Absolute,
}

type Row = (Dialect, Scope, Option<Platform>, Root, &'static str);

const LINUX: Option<Platform> = Some(Platform::Linux);
const MAC: Option<Platform> = Some(Platform::MacOs);
const WINDOWS: Option<Platform> = Some(Platform::Windows);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    (Dialect::McpJson, Scope::Project, None, Root::Project, ".mcp.json"),
    (Dialect::ClaudeCode, Scope::User, None, Root::Home, ".claude.json"),
    (Dialect::ClaudeSettings, Scope::User, None, Root::Home, ".claude/settings.json"),
    (Dialect::ClaudeSettings, Scope::Project, None, Root::Project, ".claude/settings.json"),
    // Meant to be local, but it stands in the repository, and a repository could bring it along.
    (Dialect::ClaudeSettings, Scope::Project, None, Root::Project, ".claude/settings.local.json"),
    (Dialect::ClaudeManaged, Scope::Enterprise, LINUX, Root::Absolute, "/etc/claude-code/managed-mcp.json"),
    (Dialect::ClaudeManaged, Scope::Enterprise, MAC, Root::Absolute, "/Library/Application Support/ClaudeCode/managed-mcp.json"),
    (Dialect::ClaudeManaged, Scope::Enterprise, WINDOWS, Root::Absolute, r"C:\Program Files\ClaudeCode\managed-mcp.json"),
    (Dialect::ClaudeSettings, Scope::Enterprise, LINUX, Root::Absolute, "/etc/claude-code/managed-settings.json"),
    (Dialect::ClaudeSettings, Scope::Enterprise, MAC, Root::Absolute, "/Library/Application Support/ClaudeCode/managed-settings.json"),
    (Dialect::ClaudeSettings, Scope::Enterprise, WINDOWS, Root::Absolute, r"C:\Program Files\ClaudeCode\managed-settings.json"),
    (Dialect::ClaudeDesktop, Scope::User, LINUX, Root::Config, "Claude/claude_desktop_config.json"),
    (Dialect::ClaudeDesktop, Scope::User, MAC, Root::Library, "Claude/claude_desktop_config.json"),
    (Dialect::ClaudeDesktop, Scope::User, WINDOWS, Root::AppData, "Claude/claude_desktop_config.json"),
    (Dialect::VsCode, Scope::User, LINUX, Root::Config, "Code/User/mcp.json"),
    (Dialect::VsCode, Scope::User, MAC, Root::Library, "Code/User/mcp.json"),
    (Dialect::VsCode, Scope::User, WINDOWS, Root::AppData, "Code/User/mcp.json"),
    (Dialect::VsCode, Scope::Project, None, Root::Project, ".vscode/mcp.json"),
    (Dialect::Cursor, Scope::User, None, Root::Home, ".cursor/mcp.json"),
    (Dialect::Cursor, Scope::Project, None, Root::Project, ".cursor/mcp.json"),
    (Dialect::Windsurf, Scope::User, None, Root::Home, ".codeium/windsurf/mcp_config.json"),
    (Dialect::Gemini, Scope::User, None, Root::Home, ".gemini/settings.json"),
    (Dialect::Gemini, Scope::Project, None, Root::Project, ".gemini/settings.json"),
    (Dialect::Codex, Scope::User, None, Root::Codex, "config.toml"),
    (Dialect::Codex, Scope::Project, None, Root::Project, ".codex/config.toml"),
    (Dialect::OpenCode, Scope::User, None, Root::Config, "opencode/opencode.json"),
    (Dialect::OpenCode, Scope::User, None, Root::Config, "opencode/opencode.jsonc"),
    (Dialect::OpenCode, Scope::Project, None, Root::Project, "opencode.json"),
    (Dialect::OpenCode, Scope::Project, None, Root::Project, "opencode.jsonc"),
    (Dialect::Zed, Scope::User, LINUX, Root::Config, "zed/settings.json"),
    (Dialect::Zed, Scope::User, MAC, Root::Config, "zed/settings.json"),
    (Dialect::Zed, Scope::User, WINDOWS, Root::AppData, "Zed/settings.json"),
    (Dialect::Zed, Scope::Project, None, Root::Project, ".zed/settings.json"),
    (Dialect::Goose, Scope::User, LINUX, Root::Config, "goose/config.yaml"),
    (Dialect::Goose, Scope::User, MAC, Root::Config, "goose/config.yaml"),
    (Dialect::Goose, Scope::User, WINDOWS, Root::AppData, "Block/goose/config/config.yaml"),
];

/// Every file any known host would read for a user (`env.home`) in `project`.
///
/// ```
/// use mcp_config::{Dialect, Environment, Platform, known_files};
/// let mut env = Environment::empty();
/// env.home = Some("/user/me".into());
/// let files = known_files(Platform::Linux, &env, "/code/app".as_ref());
/// let cursor = files.iter().find(|file| file.dialect == Dialect::Cursor).unwrap();
/// assert_eq!(cursor.path, std::path::Path::new("/user/me/.cursor/mcp.json"));
/// ```
pub fn known_files(platform: Platform, env: &Environment, project: &Path) -> Vec<KnownFile> {
    let rows = TABLE.iter().filter(|(_, _, only, _, _)| only.is_none_or(|only| only == platform));
    rows.filter_map(|(dialect, scope, _, root, rest)| {
        let path = base(*root, env, project)?.join(rest);
        Some(KnownFile { path, dialect: *dialect, scope: *scope })
    })
    .collect()
}

fn base(root: Root, env: &Environment, project: &Path) -> Option<PathBuf> {
    let home = || env.home.clone();
    // A relative value is to be ignored, the XDG specification says; it suits the others as well.
    let variable = |name| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match root {
        Root::Project => Some(project.to_owned()),
        Root::Home => home(),
        Root::Config => variable("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config"))),
        Root::Library => Some(home()?.join("Library/Application Support")),
        Root::AppData => {
            env.get("APPDATA").map(PathBuf::from).or_else(|| Some(home()?.join("AppData/Roaming")))
        }
        Root::Codex => variable("CODEX_HOME").or_else(|| Some(home()?.join(".codex"))),
        Root::Absolute => Some(PathBuf::new()),
    }
}
