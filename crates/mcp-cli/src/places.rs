//! Where the command keeps its own things.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use mcp_config::Environment;

/// Folders of ours. Without a home there are none, and nothing is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Servers of the user, and of the user in one project.
    pub(crate) config: Option<PathBuf>,
    /// Decisions, and which servers need a login.
    pub(crate) state: Option<PathBuf>,
    /// Tools of servers, to be found before anything is started.
    pub(crate) cache: Option<PathBuf>,
}

impl Places {
    pub(crate) fn new(environment: &Environment) -> Self {
        let home = environment.home.as_ref().filter(|home| home.is_absolute());
        let folder = |variable: &str, default: &str| {
            let named = environment.get(variable).map(PathBuf::from).filter(|p| p.is_absolute());
            named.or_else(|| Some(home?.join(default))).map(|folder| folder.join("mcp"))
        };
        Self {
            config: folder("XDG_CONFIG_HOME", ".config"),
            state: folder("XDG_STATE_HOME", ".local/state"),
            cache: folder("XDG_CACHE_HOME", ".cache"),
        }
    }

    /// The user's servers, everywhere.
    pub(crate) fn user_file(&self) -> Option<PathBuf> {
        Some(self.config.as_ref()?.join("mcp.json"))
    }

    /// The user's servers in one project, kept outside of it.
    pub(crate) fn local_file(&self, project: &Path) -> Option<PathBuf> {
        let name = project.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(40)
            .collect();
        let hash = fnv(project.as_os_str().as_encoded_bytes());
        Some(self.config.as_ref()?.join("local").join(format!("{name}-{hash:016x}.json")))
    }
}

/// Makes a folder of ours, for this user alone. One that is there already stays as it is.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a file that only this user can read, if it is new.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// The folder whose servers count: the nearest with a `.mcp.json` or a repository, else the current one.
pub(crate) fn project() -> PathBuf {
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let home = env::home_dir();
    let marked = |folder: &&Path| {
        folder.join(".mcp.json").is_file()
            // Some people keep their whole home in a repository.
            || (folder.join(".git").exists() && home.as_deref() != Some(*folder))
    };
    here.ancestors().find(marked).map_or_else(|| here.clone(), Path::to_owned)
}

/// FNV-1a: two projects of one name have two files, and the name is the same every time.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_of_one_name_have_files_of_their_own() {
        let mut environment = Environment::empty();
        environment.home = Some("/user/me".into());
        let places = Places::new(&environment);
        let one = places.local_file(Path::new("/a/app")).unwrap();
        let other = places.local_file(Path::new("/b/app")).unwrap();
        assert!(one.starts_with("/user/me/.config/mcp/local"));
        assert_ne!(one, other);
    }

    #[test]
    fn without_a_home_nothing_is_kept() {
        let places = Places::new(&Environment::empty());
        assert!(places.user_file().is_none() && places.state.is_none());
    }
}
