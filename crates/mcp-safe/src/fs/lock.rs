//! Locks between processes: an empty file next to the data, not the data file, which a rename would replace under the
//! lock.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The pause between attempts: short at first, since most locks are held for a millisecond.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// An exclusive lock, held until it is dropped or its process ends.
///
/// ```
/// use mcp_safe::fs::Lock;
///
/// # let place = tempfile::tempdir()?;
/// let path = Lock::beside(&place.path().join("state.json"));
/// let held = Lock::try_acquire(&path)?;
/// assert!(held.is_some() && Lock::try_acquire(&path)?.is_none());
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    is_removed: bool,
}

impl Lock {
    /// The conventional path of a file's lock: `.NAME.lock` in the same folder.
    pub fn beside(target: &Path) -> PathBuf {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        target.with_file_name(format!(".{}.lock", name.trim_start_matches('.')))
    }

    /// Acquires the lock at `path`, which is created as a private file. `None` if it is held.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        loop {
            if fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "the lock file is a symbolic link",
                ));
            }
            // Not truncated: until it is locked, the file may be that of another process.
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).read(true).write(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(path)?;
            match file.try_lock() {
                // The previous holder may have removed the file, and a lock on a removed file has no effect.
                Ok(()) if is_same_file(&file, path) => {
                    return Ok(Some(Self { file, path: path.to_owned(), is_removed: false }));
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Waits for the lock, and blocks this thread. `None` after `limit`.
    pub fn acquire(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if began.elapsed() >= limit {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Removes the file when the lock is released, for folders of the user.
    #[must_use]
    pub fn removing(mut self) -> Self {
        self.is_removed = true;
        self
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while held, so that no other process can lock it in between. Only Unix can remove an open file
        // cleanly; elsewhere the empty file is kept and reused.
        if self.is_removed && cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|opened| super::read::is_at(&opened, path))
}

#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    // An open file cannot be replaced here.
    path.exists()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn removed_or_replaced_file_is_not_the_locked_one() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lock");
        let file = File::create(&path).unwrap();
        assert!(is_same_file(&file, &path));
        fs::remove_file(&path).unwrap();
        assert!(!is_same_file(&file, &path));
        let _other = File::create(&path).unwrap();
        assert!(!is_same_file(&file, &path));
    }
}
