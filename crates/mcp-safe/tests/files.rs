//! Tests of private files on a real file system: modes, links, crashes, other processes.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use mcp_safe::fs::{
    Draft, Lock, create, create_folder, find_program, follow, private_folder, read, read_private,
    replace,
};

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn replace_is_complete_and_leaves_no_temporary_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x".repeat(255));
    replace(&path, b"one").unwrap();
    replace(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(count(place.path()), 1);
}

#[test]
fn dropped_or_failed_draft_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    fs::write(&path, "old").unwrap();
    Draft::private(&path).unwrap().file().write_all(b"half").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let folder = place.path().join("folder");
    fs::create_dir(&folder).unwrap();
    assert!(replace(&folder, b"new").is_err());
    assert!(replace(Path::new("/"), b"new").is_err());
    assert_eq!(count(place.path()), 2);
}

#[test]
fn concurrent_readers_never_see_partial_content() {
    let place = tempfile::tempdir().unwrap();
    private_folder(place.path()).unwrap();
    let path = place.path().join("file");
    replace(&path, &[0; 4096]).unwrap();
    thread::scope(|scope| {
        for writer in 1..4_u8 {
            let path = &path;
            scope.spawn(move || (0..20).for_each(|_| replace(path, &[writer; 4096]).unwrap()));
        }
        for _ in 0..200 {
            let bytes = read_private(&path, 4096).unwrap().unwrap();
            assert!(bytes.len() == 4096 && bytes.iter().all(|byte| *byte == bytes[0]));
        }
    });
    assert_eq!(count(place.path()), 1);
}

#[test]
fn only_regular_files_within_the_limit_are_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    assert_eq!(read(&path, 3).unwrap(), None);
    assert_eq!(read_private(&path, 3).unwrap(), None);
    fs::write(&path, "four").unwrap();
    assert_eq!(read(&path.join("below"), 3).unwrap(), None);
    assert_eq!(read(&path, 4).unwrap().unwrap(), b"four");
    assert_eq!(read(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(read(place.path(), 3).unwrap_err().kind(), io::ErrorKind::IsADirectory);
}

#[test]
fn a_lock_is_exclusive_and_freed_on_drop() {
    let place = tempfile::tempdir().unwrap();
    let path = Lock::beside(&place.path().join(".mcp.json"));
    assert_eq!(path, place.path().join(".mcp.json.lock"));
    let held = Lock::try_acquire(&path).unwrap().unwrap();
    assert!(Lock::try_acquire(&path).unwrap().is_none());
    assert!(Lock::acquire(&path, Duration::from_millis(5)).unwrap().is_none());
    drop(held);
    assert!(path.exists());
    drop(Lock::try_acquire(&path).unwrap().unwrap().removing());
    assert_eq!(path.exists(), cfg!(not(unix)));
}

#[test]
fn lock_with_removed_file_is_still_exclusive() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("lock");
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    // Without a pause, so that the file is often removed between the opening and the locking of it.
                    let lock =
                        std::iter::repeat_with(|| Lock::try_acquire(&path).unwrap()).flatten();
                    let _lock = lock.take(1).next().unwrap().removing();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn private_draft_is_0600_and_keeping_draft_keeps_the_mode() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "old").unwrap();
        for theirs in [0o644, 0o400, 0o755] {
            set_mode(&path, theirs);
            let before = fs::metadata(&path).unwrap();
            let mut draft = Draft::keeping(&path).unwrap();
            draft.file().write_all(b"new").unwrap();
            draft.commit().unwrap();
            let after = fs::metadata(&path).unwrap();
            assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
            assert_ne!(after.ino(), before.ino());
        }
        replace(&path, b"ours").unwrap();
        assert_eq!(mode(&path), 0o600);
        let new = place.path().join("new");
        Draft::keeping(&new).unwrap().commit().unwrap();
        assert_eq!(mode(&new), 0o600);
    }

    #[test]
    fn keeping_draft_keeps_the_owner() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        fs::write(&path, "old").unwrap();
        // Only root can change it. For other users the file stays their own.
        let _ = std::os::unix::fs::chown(&path, Some(12345), Some(54321));
        let before = fs::metadata(&path).unwrap();
        Draft::keeping(&path).unwrap().commit().unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        assert_ne!(after.ino(), before.ino());
    }

    #[test]
    fn existing_folder_mode_changes_only_on_request() {
        let place = tempfile::tempdir().unwrap();
        let (old, new) = (place.path().join("old"), place.path().join("old/a/b"));
        fs::create_dir(&old).unwrap();
        set_mode(&old, 0o755);
        create_folder(&new).unwrap();
        create_folder(&new).unwrap();
        assert_eq!([mode(&old), mode(&old.join("a")), mode(&new)], [0o755, 0o700, 0o700]);
        private_folder(&old).unwrap();
        assert_eq!(mode(&old), 0o700);
        fs::write(place.path().join("file"), "").unwrap();
        assert!(create_folder(&place.path().join("file")).is_err());
    }

    /// Creates the files in another process, because the umask belongs to the process.
    #[test]
    fn file_modes_do_not_depend_on_the_umask() {
        const PLACE: &str = "MCP_SAFE_UMASK_TEST";
        if let Some(place) = std::env::var_os(PLACE) {
            let folder = Path::new(&place).join("a/b");
            create_folder(&folder).unwrap();
            replace(&folder.join("file"), b"").unwrap();
            return;
        }
        for mask in ["000", "077", "777"] {
            let place = tempfile::tempdir().unwrap();
            let status = std::process::Command::new("sh")
                .args(["-c", &format!("umask {mask} && exec \"$0\" \"$@\"")])
                .arg(std::env::current_exe().unwrap())
                .args(["--exact", "unix::file_modes_do_not_depend_on_the_umask"])
                .env(PLACE, place.path())
                .output()
                .unwrap();
            assert!(status.status.success(), "{status:?}");
            let folder = place.path().join("a/b");
            let modes = [mode(&place.path().join("a")), mode(&folder), mode(&folder.join("file"))];
            assert_eq!(modes, [0o700, 0o700, 0o600], "{mask}");
        }
    }

    #[test]
    fn private_replace_replaces_links_and_follow_keeps_them() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        let (target, link) = (base.join("target"), base.join("link"));
        symlink("target", &link).unwrap();
        assert!(create(&link).is_err() && !target.exists());
        assert_eq!(follow(&link).unwrap(), target);
        replace(&follow(&link).unwrap(), b"through").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"through");
        assert_eq!(follow(&link).unwrap(), target);
        replace(&link, b"instead").unwrap();
        assert!(!link.is_symlink() && fs::read(&target).unwrap() == b"through");
        symlink("ring", base.join("ring")).unwrap();
        assert!(follow(&base.join("ring")).is_err());
    }

    #[test]
    fn private_file_accessible_to_others_is_rejected() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("folder");
        let path = folder.join("file");
        private_folder(&folder).unwrap();
        replace(&path, b"fine").unwrap();
        assert_eq!(read_private(&path, 4).unwrap().unwrap(), b"fine");
        let refusal = |path: &Path| {
            let error = read_private(path, 4).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            error.to_string()
        };
        symlink("file", folder.join("link")).unwrap();
        assert_eq!(refusal(&folder.join("link")), "it is a symbolic link");
        set_mode(&path, 0o640);
        assert_eq!(refusal(&path), "others have access to it");
        set_mode(&path, 0o600);
        set_mode(&folder, 0o777);
        assert_eq!(refusal(&path), "others can write in its folder");
        set_mode(&folder, 0o700);
        // Only root can change the owner.
        if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
            assert_eq!(refusal(&path), "it belongs to another user");
        }
    }

    #[test]
    fn a_lock_does_not_follow_links_and_is_private() {
        let place = tempfile::tempdir().unwrap();
        let (link, lock) = (place.path().join("link"), place.path().join("lock"));
        symlink("elsewhere", &link).unwrap();
        assert!(Lock::try_acquire(&link).is_err() && count(place.path()) == 1);
        let _held = Lock::try_acquire(&lock).unwrap().unwrap();
        assert_eq!(mode(&lock), 0o600);
    }

    #[test]
    fn pipes_are_neither_opened_nor_replaced() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(read(&pipe, 1).unwrap_err().to_string(), "not a regular file");
            assert_eq!(replace(&pipe, b"x").unwrap_err().to_string(), "not a regular file");
        }
    }
}

#[test]
fn folder_can_be_created_by_several_at_once() {
    let place = tempfile::tempdir().unwrap();
    let barrier = std::sync::Barrier::new(4);
    // A panic in a thread would leave the others waiting.
    let failures = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..100 {
                    barrier.wait();
                    if create_folder(&place.path().join(format!("{round}/a/b"))).is_err() {
                        failures.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!((failures.into_inner(), count(place.path())), (0, 100));
    // The parent of a relative path.
    create_folder(Path::new("")).unwrap();
}

#[test]
fn file_of_exactly_the_limit_is_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    for length in [0, 1, 9, 10] {
        replace(&path, &vec![b'a'; length]).unwrap();
        assert_eq!(read(&path, 10).unwrap().map(|bytes| bytes.len()), Some(length));
        assert_eq!(read_private(&path, 10).unwrap().map(|bytes| bytes.len()), Some(length));
    }
    replace(&path, &[b'a'; 11]).unwrap();
    assert_eq!(read(&path, 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(read_private(&path, 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

#[cfg(target_os = "linux")]
#[test]
fn file_with_reported_size_zero_is_read_up_to_the_limit() {
    // The kernel reports a size of 0 but returns more bytes.
    let path = Path::new("/proc/self/status");
    assert!(read(path, 1 << 20).unwrap().unwrap().len() > 16);
    assert_eq!(read(path, 16).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

/// Only root can change the owner of files.
#[cfg(unix)]
#[test]
fn files_and_folders_of_another_user_are_rejected() {
    use std::os::unix::fs::chown;
    let place = tempfile::tempdir().unwrap();
    let (path, other) = (place.path().join("file"), Some(65534));
    replace(&path, b"x").unwrap();
    if chown(&path, other, None).is_err() {
        return;
    }
    let why = || read_private(&path, 10).unwrap_err().to_string();
    assert_eq!(why(), "it belongs to another user");
    chown(place.path(), other, None).unwrap();
    assert_eq!(why(), "it belongs to another user");
    chown(&path, Some(0), None).unwrap();
    assert_eq!(why(), "its folder belongs to another user");
    chown(place.path(), Some(0), None).unwrap();
    assert_eq!(read_private(&path, 10).unwrap().as_deref(), Some(&b"x"[..]));
}

#[cfg(unix)]
#[test]
fn find_program_searches_like_a_shell() {
    use std::{ffi::OsStr, os::unix::fs::PermissionsExt as _};
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    let put = |name: &str, mode| {
        let path = at.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let plain = put("a/tool", 0o644);
    let tool = put("b/tool", 0o755);
    let later = put("c/tool", 0o755);
    fs::create_dir_all(at.join("d/tool")).unwrap();
    let path = std::env::join_paths(
        ["d", "a", "b", "", "c", "b"]
            .map(|name| if name.is_empty() { name.into() } else { at.join(name) }),
    );
    let path = path.unwrap();
    let find = |name: &str, cwd| find_program(OsStr::new(name), cwd, Some(&path));
    assert_eq!(find("tool", None), Ok(tool.clone()));
    assert_eq!(find_program(OsStr::new("tool"), None, Some(at.join("a").as_ref())), Ok(plain));
    let searched = ["d", "a", "b", "c"].map(|name| at.join(name)).to_vec();
    assert_eq!(find("absent", None), Err(searched));
    assert_eq!(find_program(OsStr::new("tool"), None, None), Err(Vec::new()));
    // A path is not searched in `PATH`.
    assert_eq!(find("c/tool", Some(at)), Ok(later.clone()));
    assert_eq!(find(later.to_str().unwrap(), Some(Path::new("/"))), Ok(later));
    assert_eq!(find("./absent", Some(at)), Err(vec![at.to_owned()]));
}
