//! Locks that hold between processes: an empty file beside the data, never the data itself, since a rename
//! would swap the file under the lock.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Held until it is dropped, or its process ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

/// How long to wait between two tries: short at first, as most locks are held for a millisecond.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

impl FileLock {
    /// The lock, unless somebody else has it. Does not wait.
    pub(crate) fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the lock on this thread. `None` when `limit` has passed.
    pub(crate) fn acquire_blocking(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
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

    /// Waits for the lock without holding a thread. `None` when `limit` has passed.
    ///
    /// # Cancel safety
    /// Dropped while waiting, it holds nothing.
    pub(crate) async fn acquire(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        let (began, mut pause) = (tokio::time::Instant::now(), FIRST_PAUSE);
        loop {
            // Opening and trying take microseconds, and never wait for the holder.
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if began.elapsed() >= limit {
                return Ok(None);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_exclusive_and_freed_on_drop() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        assert!(FileLock::acquire_blocking(&path, Duration::ZERO).unwrap().is_none());
        drop(held);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let _held = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::acquire(&path, Duration::from_secs(60)).await.unwrap().is_none());
    }
}
