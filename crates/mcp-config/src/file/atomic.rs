//! Replacing a file in one step, under a lock, without losing a change made meanwhile.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::FileError;
use crate::{
    diagnostic::{Diagnostic, Problem, Severity},
    document::Document,
    edit::EditError,
};

/// How often a change is applied anew because somebody without our lock wrote meanwhile.
const MAX_ROUNDS: usize = 16;

/// How a file may be touched.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) lock_timeout: Duration,
    pub(crate) max_bytes: usize,
}

/// What a change makes of the bytes there are, or of no file.
pub(crate) type Change<'c> = &'c mut dyn FnMut(Option<&[u8]>) -> Result<Vec<u8>, EditError>;

/// Replaces the file at `path` by what `change` makes of it.
pub(crate) fn update(path: &Path, access: Access, change: Change<'_>) -> Result<(), FileError> {
    // Through a link to the file it stands for: people keep their configuration elsewhere.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => end_of_links(path),
        Err(error) => return Err(FileError::Io("open", path.to_owned(), error)),
    };
    let failed = |action| {
        let path = path.to_owned();
        move |error| FileError::Io(action, path.clone(), error)
    };
    if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(failed("create the folder of"))?;
    }
    let _lock = Lock::take(&target, access.lock_timeout)?;
    for _ in 0..MAX_ROUNDS {
        let old = read_limited(&target, access.max_bytes).map_err(failed("read"))?;
        let new =
            change(old.as_deref()).map_err(|error| FileError::Edit(path.to_owned(), error))?;
        if old.as_deref() == Some(new.as_slice()) {
            return Ok(());
        }
        let temporary = Temporary::write(&target, &new).map_err(failed("write beside"))?;
        // The lock binds only those who know it; an editor does not. What it wrote counts.
        if read_limited(&target, access.max_bytes).map_err(failed("read"))? != old {
            continue;
        }
        return temporary.replace(&target).map_err(failed("replace"));
    }
    Err(FileError::Contended(path.to_owned()))
}

/// Where a file at `path` would come to be, if that is a link to one that does not exist yet.
fn end_of_links(path: &Path) -> PathBuf {
    // As many as Linux follows. A ring of links is another error and does not come here.
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else { break };
        // Relative to the folder the link is in; an absolute one replaces it all.
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

/// The bytes of a regular file, `None` if there is none. Refuses what could block or fill memory.
pub(crate) fn read_limited(path: &Path, max: usize) -> io::Result<Option<Vec<u8>>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        // A path through a file is as absent as one through nothing.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "a directory"));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {max} bytes"));
    if metadata.len() > max as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    File::open(path)?.take(max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max { Err(too_large()) } else { Ok(Some(bytes)) }
}

/// A document that says why there is none.
pub(crate) fn unreadable(label: &str, error: &io::Error) -> Document {
    let mut document = Document::empty(label);
    let found = match error.kind() {
        io::ErrorKind::PermissionDenied => "a file we may not read".to_owned(),
        io::ErrorKind::IsADirectory => "a directory".to_owned(),
        // The kind for too many links is not stable yet; the operating system's number is.
        _ if error.raw_os_error() == Some(ELOOP) => "a loop of links".to_owned(),
        _ => error.to_string(),
    };
    let fault = Diagnostic::of_file(label, Severity::Error, Problem::Unreadable, found);
    document.diagnostics.push(fault.expected("a readable file"));
    document
}

const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };

/// The lock beside a file, which goes away with it.
struct Lock {
    file: Option<File>,
    path: PathBuf,
}

impl Lock {
    fn take(target: &Path, timeout: Duration) -> Result<Self, FileError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{}.lock", name.trim_start_matches('.')));
        let deadline = Instant::now() + timeout;
        let mut pause = Duration::from_millis(1);
        loop {
            let failed = |error| FileError::Io("lock", target.to_owned(), error);
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            let file = file.map_err(failed)?;
            match file.try_lock() {
                // Whoever held it may have removed it: a lock on a removed file locks nothing.
                Ok(()) if is_same_file(&file, &path) => return Ok(Self { file: Some(file), path }),
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            if Instant::now() >= deadline {
                return Err(FileError::Busy(target.to_owned()));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still held, so that nobody can have locked it in between. Elsewhere a file
        // that is open can't be removed cleanly; there the empty file stays, and is used again.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        self.file = None;
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    // A file that is open can't be replaced under its name here.
    path.exists()
}

/// The new content beside the old, until it takes its place or is dropped.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn write(target: &Path, bytes: &[u8]) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.{}.{count}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // Private from the first byte on: the content may hold secrets.
            options.mode(0o600);
        }
        let mut file = options.open(&path)?;
        let this = Self(Some(path.clone()));
        file.write_all(bytes)?;
        if let Ok(old) = fs::metadata(target) {
            keep_owner(&path, &old);
            fs::set_permissions(&path, old.permissions())?;
        }
        file.sync_all()?;
        Ok(this)
    }

    fn replace(mut self, target: &Path) -> io::Result<()> {
        let Some(path) = self.0.take() else { return Ok(()) };
        if let Err(error) = fs::rename(&path, target) {
            self.0 = Some(path);
            return Err(error);
        }
        // The name itself must survive a power failure too. Not every file system can say so.
        #[cfg(unix)]
        if let Some(folder) = target.parent() {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(unix)]
fn keep_owner(path: &Path, old: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt as _, chown};
    // Only root can give a file away; for everybody else it already is as it was.
    let _ = chown(path, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_path: &Path, _old: &fs::Metadata) {}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCESS: Access = Access { lock_timeout: Duration::from_secs(10), max_bytes: 1 << 20 };

    fn text(old: Option<&[u8]>) -> String {
        String::from_utf8(old.unwrap_or_default().to_vec()).unwrap()
    }

    #[test]
    fn what_someone_without_the_lock_writes_meanwhile_is_built_upon() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut rounds = 0;
        let result = update(&path, ACCESS, &mut |old| {
            rounds += 1;
            let old = text(old);
            if rounds == 1 {
                fs::write(&path, "theirs").unwrap();
            }
            Ok(format!("{old} and ours").into_bytes())
        });
        result.unwrap();
        assert_eq!((rounds, fs::read_to_string(&path).unwrap().as_str()), (2, "theirs and ours"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_never_rests_is_given_up_and_left_to_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut rounds = 0;
        let result = update(&path, ACCESS, &mut |_| {
            rounds += 1;
            fs::write(&path, format!("theirs {rounds}")).unwrap();
            Ok(b"ours".to_vec())
        });
        assert!(matches!(result, Err(FileError::Contended(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("theirs {MAX_ROUNDS}"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
