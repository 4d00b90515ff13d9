//! The effective user of this process, read from file metadata, since the standard library has no function for it.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use super::draft::create;

/// The id of the user that owns the files this process creates.
pub(super) fn current() -> io::Result<u32> {
    // On Linux, `/proc/self` belongs to the effective user, even if the process is not dumpable.
    match fs::metadata("/proc/self") {
        Ok(about) => Ok(about.uid()),
        Err(_) => of_new_file(),
    }
}

/// Creates a file, reads its owner, and removes it.
fn of_new_file() -> io::Result<u32> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!(".mcp-owner-{}-{count}", process::id()));
    let file = create(&path)?;
    let owner = file.metadata().map(|about| about.uid());
    fs::remove_file(&path)?;
    owner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_owner_lookups_return_the_same_user() {
        assert_eq!(current().unwrap(), of_new_file().unwrap());
    }

    /// Runs as another user, too, since many checks cannot fail for root.
    #[test]
    fn private_files_of_an_ordinary_user_are_its_own() {
        use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};

        const USER: &str = "MCP_SAFE_USER_TEST";
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        crate::fs::replace(&path, b"own").unwrap();
        assert_eq!(crate::fs::read_private(&path, 3).unwrap().as_deref(), Some(&b"own"[..]));
        let user = path.metadata().unwrap().uid();
        assert_eq!((current().unwrap(), of_new_file().unwrap()), (user, user));
        if user != 0 || std::env::var_os(USER).is_some() {
            assert_ne!(user, 0);
            return;
        }
        // The program may be in a folder that only root can enter.
        let program = place.path().join("tests");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        for path in [place.path(), &program] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let name = "fs::owner::tests::private_files_of_an_ordinary_user_are_its_own";
        let mut again = process::Command::new(&program);
        again.args(["--exact", name]).env(USER, "").current_dir("/").uid(65534).gid(65534);
        let output = again.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    }
}
