//! Replaces a file atomically, under a lock, without losing concurrent changes.

use std::{io::Write as _, path::Path, time::Duration};

use mcp_safe::fs::{Draft, Lock, create_folder, follow, read};

use super::error::FileError;
use crate::edit::EditError;

/// How often a change is applied again because a program without our lock wrote in the meantime.
const MAX_ROUNDS: usize = 16;

/// How to access a file.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) lock_timeout: Duration,
    pub(crate) max_bytes: usize,
}

/// Computes the new bytes from the current ones, or from `None` if the file does not exist.
pub(crate) type Change<'c> = &'c mut dyn FnMut(Option<&[u8]>) -> Result<Vec<u8>, EditError>;

/// Replaces the file at `path` with the result of `change`.
pub(crate) fn update(path: &Path, access: Access, change: Change<'_>) -> Result<(), FileError> {
    let failed = |action| {
        let path = path.to_owned();
        move |error| FileError::Io(action, path, error)
    };
    // Follow symlinks, because users keep their configuration elsewhere, for example in a dotfiles
    // repository.
    let target = follow(path).map_err(failed("open"))?;
    if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder).map_err(failed("create the folder of"))?;
    }
    let lock = Lock::acquire(&Lock::beside(&target), access.lock_timeout);
    let lock = lock.map_err(failed("lock"))?.ok_or_else(|| FileError::Busy(target.clone()))?;
    let _lock = lock.removing();
    for _ in 0..MAX_ROUNDS {
        let old = read(&target, access.max_bytes).map_err(failed("read"))?;
        let new =
            change(old.as_deref()).map_err(|error| FileError::Edit(path.to_owned(), error))?;
        if old.as_deref() == Some(new.as_slice()) {
            return Ok(());
        }
        let draft = Draft::keeping(&target).and_then(|mut draft| {
            draft.file().write_all(&new)?;
            draft.sync()?;
            Ok(draft)
        });
        let draft = draft.map_err(failed("write beside"))?;
        // Editors do not take our lock. If the file has changed, start over from the new content.
        if read(&target, access.max_bytes).map_err(failed("read"))? != old {
            continue;
        }
        return draft.commit().map_err(failed("replace"));
    }
    Err(FileError::Contended(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ACCESS: Access = Access { lock_timeout: Duration::from_secs(10), max_bytes: 1 << 20 };

    fn text(old: Option<&[u8]>) -> String {
        String::from_utf8(old.unwrap_or_default().to_vec()).unwrap()
    }

    #[test]
    fn change_is_reapplied_after_a_concurrent_write_without_lock() {
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
    fn update_fails_if_the_file_keeps_changing() {
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
