//! Atomic replacement of files through a temporary file.

use std::{
    collections::hash_map::RandomState,
    fs::{self, File, OpenOptions},
    hash::BuildHasher as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::text::prefix;

/// The limit of symbolic links that Linux follows.
const MAX_LINKS: usize = 40;

/// Creates a file that only this user can read, regardless of the umask. Fails if `path` exists, even as a dangling
/// symbolic link.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("report.txt");
/// std::io::Write::write_all(&mut mcp_safe::fs::create(&path)?, b"text")?;
/// assert!(mcp_safe::fs::create(&path).is_err());
/// # std::io::Result::Ok(())
/// ```
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // The umask only removes bits: with 0277 the owner could not write the file the next time.
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// Replaces the file at `path` by a private file with `bytes`. Readers see either the old content or the new one, and
/// so does the next process after a crash. A symbolic link at `path` is replaced, not followed.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("state.json");
/// mcp_safe::fs::replace(&path, b"{}")?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # std::io::Result::Ok(())
/// ```
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::private(path)?;
    draft.file().write_all(bytes)?;
    draft.commit()
}

/// The file that `path` refers to through symbolic links, whether it exists or not. Pass it to a [`Draft`] to keep
/// the links.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// let path = place.path().canonicalize()?.join("absent");
/// assert_eq!(mcp_safe::fs::follow(&path)?, path);
/// # std::io::Result::Ok(())
/// ```
pub fn follow(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        result => return result,
    }
    let mut path = path.to_owned();
    // A cycle of links is a different error, which is returned above.
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else { break };
        // Relative to the folder of the link; an absolute target replaces the whole path.
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    Ok(path)
}

/// New content for a file, in a private temporary file next to it. [`Draft::commit`] replaces the file. If the draft is
/// dropped instead, it is removed and the file is unchanged. Folders, pipes and devices are not replaced.
///
/// ```
/// use std::io::Write as _;
///
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("config.json");
/// std::fs::write(&path, "old")?;
/// let mut draft = mcp_safe::fs::Draft::keeping(&path)?;
/// draft.file().write_all(b"new")?;
/// assert_eq!(std::fs::read(&path)?, b"old");
/// draft.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"new");
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Draft {
    file: File,
    place: Temporary,
    target: PathBuf,
    keeps: bool,
    is_synced: bool,
}

impl Draft {
    /// A draft with mode 0600, for private files.
    pub fn private(target: &Path) -> io::Result<Self> {
        Self::new(target, false)
    }

    /// A draft with the owner and mode of the existing file, or mode 0600 if there is none, for files of the
    /// user.
    pub fn keeping(target: &Path) -> io::Result<Self> {
        Self::new(target, true)
    }

    fn new(target: &Path, keeps: bool) -> io::Result<Self> {
        let name = target.file_name().ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file")
        })?;
        if fs::symlink_metadata(target).is_ok_and(|about| !about.is_file() && !about.is_symlink()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let name = name.to_string_lossy();
        // Leave room for the suffix in long names.
        let name = prefix(name.trim_start_matches('.'), 64);
        // Random, so that it does not collide with a file left by a crash, or placed by others.
        let path = target.with_file_name(format!(".{name}.{:016x}.tmp", random()));
        let file = create(&path)?;
        Ok(Self {
            file,
            place: Temporary(Some(path)),
            target: target.to_owned(),
            keeps,
            is_synced: false,
        })
    }

    /// The temporary file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs the content to disk, so that [`Draft::commit`] only renames. Allows a last check of the existing file in
    /// between.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.keeps
            && let Ok(old) = fs::metadata(&self.target)
        {
            // Before the mode, which would otherwise apply to our own group for a moment.
            keep_owner(&self.file, &old);
            self.file.set_permissions(old.permissions())?;
        }
        // A file system may write the rename before the content; after a crash the file would be empty.
        self.file.sync_all()?;
        self.is_synced = true;
        Ok(())
    }

    /// Syncs the content to disk, and replaces the file.
    pub fn commit(mut self) -> io::Result<()> {
        if !self.is_synced {
            self.sync()?;
        }
        let Self { file, mut place, target, .. } = self;
        drop(file);
        if let Some(path) = &place.0 {
            fs::rename(path, &target)?;
        }
        place.0 = None;
        sync_folder(&target)
    }
}

/// A path that is removed on drop, unless the file has been renamed.
#[derive(Debug)]
struct Temporary(Option<PathBuf>);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// An unguessable number: the standard library seeds its hashers randomly.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    // Only root can change the owner; for other users it is already right.
    let _ = fchown(file, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _old: &fs::Metadata) {}

/// Syncs the folder of `target`: a rename is durable only then.
#[cfg(unix)]
fn sync_folder(target: &Path) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    // A folder without read permission cannot be opened.
    let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) else { return Ok(()) };
    match folder.sync_all() {
        // Some file systems do not support this.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        result => result,
    }
}

#[cfg(not(unix))]
fn sync_folder(_target: &Path) -> io::Result<()> {
    Ok(())
}
