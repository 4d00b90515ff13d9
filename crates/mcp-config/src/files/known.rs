//! A table of the configuration files of each host.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{config_file::ConfigFile, source::FileSource};
use crate::{dialect::Dialect, expand::Environment, model::Scope};

/// An operating system, for paths that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Platform {
    /// Linux and systems with its conventions.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// The platform this was built for.
    pub fn current() -> Self {
        match () {
            () if cfg!(windows) => Self::Windows,
            () if cfg!(target_os = "macos") => Self::MacOs,
            () => Self::Linux,
        }
    }
}

/// A file that some host reads servers from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownFile {
    /// The path; the file may not exist.
    pub path: PathBuf,
    /// Its dialect.
    pub dialect: Dialect,
    /// The scope of its servers.
    pub scope: Scope,
    /// Among files of one scope, the lowest rank takes precedence; see
    /// [`Source::rank`](crate::files::Source::rank).
    pub rank: i32,
}

impl KnownFile {
    /// The file, for changes. If two dialects share its name, an existing file's dialect is detected.
    pub fn config_file(&self, project: &Path) -> ConfigFile {
        let mut file = ConfigFile::new(&self.path);
        let is_told_apart = self.dialect == Dialect::OpenCode && self.path.exists();
        file.dialect = (!is_told_apart).then_some(self.dialect);
        file.project = Some(project.to_owned());
        file.scope = Some(self.scope);
        file
    }

    /// The file as a source, for the current project.
    pub fn source(&self, project: &Path) -> FileSource {
        let mut source = FileSource::new(self.scope, &self.path).project(project);
        source.rank = self.rank;
        // Several dialects share the name, so detect the dialect by content.
        if self.dialect == Dialect::McpJson || self.dialect == Dialect::OpenCode {
            source
        } else {
            source.dialect(self.dialect)
        }
    }
}

/// The file to change for a tool's servers of one scope: the first of `files` that exists, else the first.
/// opencode reads `opencode.json` and `opencode.jsonc`, and creates the second.
pub fn file_to_change(files: &[KnownFile], dialect: Dialect, scope: Scope) -> Option<&KnownFile> {
    let is_it = |file: &&KnownFile| file.dialect == dialect && file.scope == scope;
    let mut all = files.iter().filter(is_it);
    let first = all.clone().next();
    all.find(|file| file.path.exists()).or(first)
}

/// The base folder of a path in the table.
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
    /// `$COPILOT_HOME` or `~/.copilot`.
    Copilot,
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
    // Intended to be local, but it is in the project folder, so a repository could supply it.
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
    (Dialect::CopilotCli, Scope::User, None, Root::Copilot, "mcp-config.json"),
    (Dialect::Cline, Scope::User, LINUX, Root::Config, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    (Dialect::Cline, Scope::User, MAC, Root::Library, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    (Dialect::Cline, Scope::User, WINDOWS, Root::AppData, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    // Of the command line tool.
    (Dialect::Cline, Scope::User, None, Root::Home, ".cline/data/settings/cline_mcp_settings.json"),
    (Dialect::Roo, Scope::User, LINUX, Root::Config, "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    (Dialect::Roo, Scope::User, MAC, Root::Library, "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    (Dialect::Roo, Scope::User, WINDOWS, Root::AppData, "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    (Dialect::Roo, Scope::Project, None, Root::Project, ".roo/mcp.json"),
    (Dialect::Kiro, Scope::User, None, Root::Home, ".kiro/settings/mcp.json"),
    (Dialect::Kiro, Scope::Project, None, Root::Project, ".kiro/settings/mcp.json"),
    (Dialect::Amp, Scope::User, LINUX, Root::Config, "amp/settings.json"),
    (Dialect::Amp, Scope::User, MAC, Root::Config, "amp/settings.json"),
    (Dialect::Amp, Scope::User, WINDOWS, Root::Home, ".config/amp/settings.json"),
    (Dialect::Amp, Scope::Project, None, Root::Project, ".amp/settings.json"),
    (Dialect::Qwen, Scope::User, None, Root::Home, ".qwen/settings.json"),
    (Dialect::Qwen, Scope::Project, None, Root::Project, ".qwen/settings.json"),
    // Like Claude Code's: intended to be local, but a repository could supply it.
    (Dialect::Qwen, Scope::Project, None, Root::Project, ".qwen/settings.local.json"),
    (Dialect::LmStudio, Scope::User, None, Root::Home, ".lmstudio/mcp.json"),
    (Dialect::Junie, Scope::User, None, Root::Home, ".junie/mcp/mcp.json"),
    (Dialect::Junie, Scope::Project, None, Root::Project, ".junie/mcp/mcp.json"),
];

/// All files that any known host reads for a user (`env.home`) in `project`.
///
/// Drop-ins of `managed-settings.json` are listed if they exist in `managed-settings.d`; other files need not
/// exist.
///
/// ```
/// use mcp_config::{Dialect, Environment, known_files, files::Platform};
/// let mut env = Environment::empty();
/// env.home = Some("/user/me".into());
/// let files = known_files(Platform::Linux, &env, "/code/app".as_ref());
/// let cursor = files.iter().find(|file| file.dialect == Dialect::Cursor).unwrap();
/// assert_eq!(cursor.path, std::path::Path::new("/user/me/.cursor/mcp.json"));
/// ```
pub fn known_files(platform: Platform, env: &Environment, project: &Path) -> Vec<KnownFile> {
    let rows = TABLE.iter().filter(|(_, _, only, _, _)| only.is_none_or(|only| only == platform));
    let files = rows.filter_map(|(dialect, scope, _, root, rest)| {
        let path = base(*root, env, project)?.join(rest);
        Some(KnownFile { path, dialect: *dialect, scope: *scope, rank: 0 })
    });
    files.flat_map(with_drop_ins).collect()
}

/// `file`, and for Claude Code's managed settings the `*.json` drop-ins beside it, sorted by name. A later
/// one takes precedence.
fn with_drop_ins(file: KnownFile) -> Vec<KnownFile> {
    let mut files = vec![file];
    let KnownFile { path, dialect, scope, .. } = files[0].clone();
    if (dialect, scope) != (Dialect::ClaudeSettings, Scope::Enterprise) {
        return files;
    }
    let folder = path.with_extension("d");
    for (place, path) in drop_ins(&folder).into_iter().enumerate() {
        let rank = i32::try_from(place).map_or(i32::MIN, |place| -1 - place);
        files.push(KnownFile { path, dialect, scope, rank });
    }
    files
}

fn drop_ins(folder: &Path) -> Vec<PathBuf> {
    let listed = folder.read_dir().and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()
    });
    let mut files = match listed {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        // Report an unreadable drop-in folder as an unreadable file, so that policy fails closed.
        Err(_) => return vec![folder.to_owned()],
    };
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.starts_with('.')
    });
    files.sort();
    files
}

fn base(root: Root, env: &Environment, project: &Path) -> Option<PathBuf> {
    let home = || env.home.clone();
    // The XDG specification says to ignore relative values; do the same for the other variables.
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
        Root::Copilot => variable("COPILOT_HOME").or_else(|| Some(home()?.join(".copilot"))),
        Root::Absolute => Some(PathBuf::new()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use super::*;
    use crate::{
        files::{Source, source::load},
        model::{Remote, ServerConfig, Transport},
        policy::Refusal,
        resolve::{Layers, resolve},
    };

    fn managed(folder: &Path) -> KnownFile {
        let path = folder.join("managed-settings.json");
        KnownFile { path, dialect: Dialect::ClaudeSettings, scope: Scope::Enterprise, rank: 0 }
    }

    fn layers(folder: &Path) -> Layers {
        let files = with_drop_ins(managed(folder));
        let source = |file: &KnownFile| Arc::new(file.source(folder)) as Arc<dyn Source>;
        let mut layers = Layers::new();
        layers.layers = load(&files.iter().map(source).collect::<Vec<_>>());
        layers
    }

    fn judge(folder: &Path, url: &str) -> Result<(), Refusal> {
        let layers = layers(folder);
        let config = ServerConfig::new("x".parse().unwrap(), Transport::Http(Remote::new(url)));
        resolve(&layers).policy.check_in(Scope::User, &config, &layers.env)
    }

    #[test]
    fn drop_ins_of_managed_settings_are_read_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let write = |name: &str, text: &str| fs::write(at.join(name), text).unwrap();
        write(
            "managed-settings.json",
            r#"{"allowedMcpServers":[{"serverUrl":"https://a.test/*"}]}"#,
        );
        assert_eq!(with_drop_ins(managed(at)).len(), 1);
        fs::create_dir(at.join("managed-settings.d")).unwrap();
        let server = |command| format!(r#"{{"mcpServers":{{"own":{{"command":"{command}"}}}}}}"#);
        write("managed-settings.d/10-first.json", &server("first"));
        write("managed-settings.d/20-last.json", &server("last"));
        write(
            "managed-settings.d/30-rules.json",
            r#"{"deniedMcpServers":[{"serverUrl":"https://a.test/no"}],
                "allowedMcpServers":[{"serverUrl":"https://b.test/*"},{"serverCommand":["last"]}]}"#,
        );
        write("managed-settings.d/.hidden.json", "{");
        write("managed-settings.d/notes.txt", "{");
        let ranks: Vec<i32> = with_drop_ins(managed(at)).iter().map(|file| file.rank).collect();
        assert_eq!(ranks, [0, -1, -2, -3]);
        // Lists of one kind are concatenated over the files, as in Claude Code.
        assert_eq!(judge(at, "https://a.test/x"), Ok(()));
        assert_eq!(judge(at, "https://b.test/x"), Ok(()));
        assert_eq!(judge(at, "https://c.test/x"), Err(Refusal::NotAllowed));
        assert!(matches!(judge(at, "https://a.test/no"), Err(Refusal::Denied(_))));
        let resolution = resolve(&layers(at));
        let own = &resolution.get("own").unwrap().entry;
        assert!(own.place.file.ends_with("20-last.json"), "{}", own.place);
    }

    #[test]
    fn unreadable_drop_in_refuses_every_server() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let drop_ins = at.join("managed-settings.d");
        // Not a folder, so it cannot be listed, as if permission were denied.
        fs::write(&drop_ins, "").unwrap();
        assert_eq!(super::drop_ins(&drop_ins), std::slice::from_ref(&drop_ins));
        fs::remove_file(&drop_ins).unwrap();
        fs::create_dir(&drop_ins).unwrap();
        assert_eq!(judge(at, "https://a.test/"), Ok(()));
        fs::write(drop_ins.join("1.json"), "{").unwrap();
        assert_eq!(judge(at, "https://a.test/"), Err(Refusal::BrokenPolicy));
    }
}
