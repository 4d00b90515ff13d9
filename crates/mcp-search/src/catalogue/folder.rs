//! A folder of catalogues: one file for each server and configuration.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use super::{Catalogue, Loaded};

/// How many configurations of one server are remembered. The one stored longest ago goes first.
const MOST_CONFIGURATIONS: usize = 16;

/// The extension of a catalogue.
const EXTENSION: &str = "catalogue";

/// The longest beginning of a server's name in the name of a file.
const LONGEST_NAME: usize = 100;

/// Bytes of the hash that follows the name.
const HASH_BYTES: usize = 8;

/// A folder in which catalogues of many servers are kept.
///
/// Servers of the same name, such as those of two projects, have separate files if their configurations differ.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use mcp_search::catalogue::{Catalogue, CatalogueFolder, Loaded, Origin};
///
/// let catalogues = CatalogueFolder::new(folder.path());
/// let files = Catalogue::new("files", Origin::new("sha-of-the-config", 0), [r#"{"name":"read"}"#])?;
/// catalogues.store(&files)?;
/// assert!(matches!(catalogues.load("files", "sha-of-the-config"), Loaded::Found(_)));
/// assert!(matches!(catalogues.load("files", "another"), Loaded::Missing));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueFolder {
    folder: PathBuf,
}

impl CatalogueFolder {
    /// The folder at this path, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file for a server with this configuration. Files of the same name with another extension belong to it.
    pub fn path(&self, server: &str, config: &str) -> PathBuf {
        let stem = format!("{}-{}", safe(server), hash(server, config));
        self.folder.join(format!("{stem}.{EXTENSION}"))
    }

    /// Loads the catalogue of a server with this configuration, also from a file of the older naming scheme by server
    /// only. Never fails: a file that is invalid or of another server is ignored.
    pub fn load(&self, server: &str, config: &str) -> Loaded {
        let is_it = |catalogue: &Catalogue| {
            catalogue.server() == server && catalogue.origin().config == config
        };
        let old = self.folder.join(format!("{}.{EXTENSION}", safe(server)));
        let mut ignored = None;
        for path in [self.path(server, config), old] {
            match Catalogue::load(&path) {
                Loaded::Found(catalogue) if is_it(&catalogue) => return Loaded::Found(catalogue),
                Loaded::Ignored(error) if ignored.is_none() => ignored = Some(error),
                _ => {}
            }
        }
        ignored.map_or(Loaded::Missing, Loaded::Ignored)
    }

    /// Stores a catalogue in its file. With more than sixteen configurations of one server, the oldest are removed,
    /// together with the files that belong to them.
    ///
    /// # Errors
    ///
    /// Those of the file system, for the file itself. Files that cannot be removed stay.
    pub fn store(&self, catalogue: &Catalogue) -> io::Result<()> {
        let server = catalogue.server();
        catalogue.store(&self.path(server, &catalogue.origin().config))?;
        self.sweep(server);
        Ok(())
    }

    fn sweep(&self, server: &str) {
        let name = safe(server);
        let files = || fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut known: Vec<(SystemTime, PathBuf)> = files()
            .map(|file| file.path())
            .filter(|path| is_of(path, &name) && path.extension().is_some_and(|e| e == EXTENSION))
            .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
            .collect();
        known.sort_unstable();
        let extra = known.len().saturating_sub(MOST_CONFIGURATIONS);
        for (_, old) in &known[..extra] {
            for file in files().map(|file| file.path()) {
                if file.file_stem() == old.file_stem() {
                    // Another process may have removed it already.
                    let _ = fs::remove_file(file);
                }
            }
        }
    }
}

/// Whether a file belongs to a server with the safe name `name`.
fn is_of(path: &Path, name: &str) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let hash =
        stem.and_then(|stem| stem.strip_prefix(name)).and_then(|rest| rest.strip_prefix('-'));
    hash.is_some_and(|hash| {
        hash.len() == HASH_BYTES * 2 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The name with `_` for every character but letters, digits, `_` and `-`.
fn safe(server: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    server.chars().take(LONGEST_NAME).map(safe).collect()
}

fn hash(server: &str, config: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(server.as_bytes());
    digest.update([0]);
    digest.update(config.as_bytes());
    digest.finalize().iter().take(HASH_BYTES).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Origin;

    fn catalogue(server: &str, config: &str, tool: &str) -> Catalogue {
        let definition = format!(r#"{{"name":"{tool}"}}"#);
        Catalogue::new(server, Origin::new(config, 0), [definition]).unwrap()
    }

    fn tool_of(loaded: Loaded) -> Option<String> {
        match loaded {
            Loaded::Found(catalogue) => Some(catalogue.cards(str::to_owned)[0].name.clone()),
            _ => None,
        }
    }

    #[test]
    fn servers_of_one_name_do_not_evict_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let catalogues = CatalogueFolder::new(folder.path());
        for (server, config, tool) in [
            ("time", "here", "a"),
            ("time", "there", "b"),
            ("ti/me", "here", "c"),
            ("ti.me", "here", "d"),
        ] {
            catalogues.store(&catalogue(server, config, tool)).unwrap();
        }
        for (server, config, tool) in [
            ("time", "here", Some("a")),
            ("time", "there", Some("b")),
            ("ti/me", "here", Some("c")),
            ("ti.me", "here", Some("d")),
            ("time", "elsewhere", None),
        ] {
            assert_eq!(
                tool_of(catalogues.load(server, config)).as_deref(),
                tool,
                "{server} {config}"
            );
        }
    }

    #[test]
    fn file_named_by_the_server_alone_is_still_read() {
        let folder = tempfile::tempdir().unwrap();
        let catalogues = CatalogueFolder::new(folder.path());
        let old = catalogue("time", "here", "old");
        old.store(&folder.path().join("time.catalogue")).unwrap();
        assert_eq!(tool_of(catalogues.load("time", "here")).as_deref(), Some("old"));
        assert_eq!(tool_of(catalogues.load("time", "there")), None);
        catalogues.store(&catalogue("time", "here", "new")).unwrap();
        assert_eq!(tool_of(catalogues.load("time", "here")).as_deref(), Some("new"));
        fs::write(folder.path().join("other.catalogue"), "x").unwrap();
        assert!(matches!(catalogues.load("other", "here"), Loaded::Ignored(_)));
    }

    #[test]
    fn configurations_of_one_server_are_bounded_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let catalogues = CatalogueFolder::new(folder.path());
        catalogues.store(&catalogue("time-a", "c", "t")).unwrap();
        fs::write(folder.path().join("time-notes.catalogue"), "mine").unwrap();
        for config in 0..MOST_CONFIGURATIONS + 3 {
            let config = config.to_string();
            catalogues.store(&catalogue("time", &config, "t")).unwrap();
            fs::write(catalogues.path("time", &config).with_extension("offers"), "o").unwrap();
        }
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| name.starts_with("time-"));
        // Each has one accompanying file, and two files belong to another server.
        assert_eq!(names.len(), MOST_CONFIGURATIONS * 2 + 2, "{names:?}");
        assert!(tool_of(catalogues.load("time", "18")).is_some());
        assert!(tool_of(catalogues.load("time-a", "c")).is_some());
    }
}
