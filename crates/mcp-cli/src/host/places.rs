//! The folders for configuration, state and cache.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use mcp_config::Environment;
use mcp_safe::fs::private_folder;
use sha2::{Digest as _, Sha256};

/// The folders of this program. `None` without a home directory; then nothing is stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Files of the user and local scopes.
    pub(crate) config: Option<PathBuf>,
    /// Approvals, and which servers need a login.
    pub(crate) state: Option<PathBuf>,
    /// The catalogue, and other files that can be recreated.
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

    /// The file of the user scope.
    pub(crate) fn user_file(&self) -> Option<PathBuf> {
        Some(self.config.as_ref()?.join("mcp.json"))
    }

    /// The file of the local scope: the user's servers in one project, stored outside of it.
    pub(crate) fn local_file(&self, project: &Path) -> Option<PathBuf> {
        let hash = Sha256::digest(project.as_os_str().as_encoded_bytes());
        self.local(project, &format!("{hash:x}"))
    }

    /// The path that versions before 0.2 used for [`Places::local_file`]. An attacker could make two projects share it.
    fn old_local_file(&self, project: &Path) -> Option<PathBuf> {
        let hash = fnv(project.as_os_str().as_encoded_bytes());
        self.local(project, &format!("{hash:016x}"))
    }

    fn local(&self, project: &Path, hash: &str) -> Option<PathBuf> {
        let name = project.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .take(40)
            .collect();
        Some(self.config.as_ref()?.join("local").join(format!("{name}-{hash}.json")))
    }

    /// Creates the folders of a configuration file with access for this user only, or restricts existing ones.
    pub(crate) fn secure(&self, file: &Path) {
        let Some(config) = self.config.as_ref().filter(|config| file.starts_with(config)) else {
            return;
        };
        for folder in [Some(config.as_path()), file.parent()].into_iter().flatten() {
            // If this fails, writing the file reports the error.
            let _ = private_folder(folder);
        }
    }

    /// Renames a local file of an earlier version. Returns the new path if it existed.
    pub(crate) fn migrate(&self, project: &Path) -> Option<PathBuf> {
        let (old, new) = (self.old_local_file(project)?, self.local_file(project)?);
        if new.exists() {
            return None;
        }
        fs::rename(old, &new).ok().map(|()| new)
    }
}

/// Returns the project folder: the nearest one with a `.mcp.json` or a repository, else the current one.
pub(crate) fn project() -> PathBuf {
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let home = env::home_dir();
    let marked = |folder: &&Path| {
        folder.join(".mcp.json").is_file()
            // The home directory may itself be a repository (dotfiles).
            || (folder.join(".git").exists() && home.as_deref() != Some(*folder))
    };
    here.ancestors().find(marked).map_or_else(|| here.clone(), Path::to_owned)
}

/// Whether `path` is inside a repository of a version control system. A home directory may be one as well.
pub(crate) fn is_in_repository(path: &Path) -> bool {
    let marks = [".git", ".hg", ".jj", ".svn"];
    path.ancestors().skip(1).any(|folder| marks.iter().any(|mark| folder.join(mark).exists()))
}

/// FNV-1a, 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_with_the_same_name_have_different_files() {
        let mut environment = Environment::empty();
        environment.home = Some("/user/me".into());
        let places = Places::new(&environment);
        let one = places.local_file(Path::new("/a/app")).unwrap();
        let other = places.local_file(Path::new("/b/app")).unwrap();
        assert!(one.starts_with("/user/me/.config/mcp/local"));
        assert_ne!(one, other);
    }

    #[test]
    fn local_files_are_named_by_the_sha_256_of_the_path() {
        let places = Places { config: Some("/c".into()), ..Places::default() };
        let file = places.local_file(Path::new("/a/app")).unwrap();
        let hash = "8463b3739d7559cc015861410e7eedc51eae9f264578b7dea9dc30230fdd9aaf";
        assert_eq!(file, Path::new("/c/local").join(format!("app-{hash}.json")));
    }

    #[test]
    fn local_file_of_an_earlier_version_is_renamed_once() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: Some(folder.path().into()), ..Places::default() };
        let project = Path::new("/a/app");
        let (old, new) =
            (places.old_local_file(project).unwrap(), places.local_file(project).unwrap());
        assert!(old.ends_with("local/app-c812e46e42a0356d.json"), "{}", old.display());
        assert_eq!(places.migrate(project), None, "there is none");
        fs::create_dir(folder.path().join("local")).unwrap();
        fs::write(&old, "old").unwrap();
        assert_eq!(places.migrate(project), Some(new.clone()));
        assert_eq!((fs::read_to_string(&new).unwrap(), old.exists()), ("old".into(), false));
        fs::write(&old, "planted").unwrap();
        assert_eq!(places.migrate(project), None);
        assert_eq!(fs::read_to_string(&new).unwrap(), "old");
    }

    #[test]
    fn nothing_is_stored_without_a_home_directory() {
        let places = Places::new(&Environment::empty());
        assert!(places.user_file().is_none() && places.state.is_none());
    }
}
