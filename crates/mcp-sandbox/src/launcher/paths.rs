//! Opens and creates paths without following links.
//!
//! Rules hold real paths. A link in one of them was put there since, by a server that runs at the same time; one in the
//! private home, by an earlier start. Following it would mount a folder elsewhere, without the read-only parts of it.

use std::{ffi::OsStr, io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat},
    io::Errno,
};

const ANYTHING: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const FOLDER: OFlags = ANYTHING.union(OFlags::DIRECTORY);

/// Opens a path, as a path only.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    without_links(path, ANYTHING)
}

/// Opens a folder, and creates it if it is missing.
pub(super) fn folder(path: &Path) -> io::Result<OwnedFd> {
    let missing = match without_links(path, FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => error,
        opened => return opened,
    };
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(missing);
    };
    let parent = folder(parent)?;
    match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat(&parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Creates an empty file in a folder.
pub(super) fn file(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::from_raw_mode(0o644)).map(drop)?)
}

/// Creates a link in a folder.
pub(super) fn link(folder: &OwnedFd, name: &OsStr, target: &Path) -> io::Result<()> {
    Ok(symlinkat(target, folder, name)?)
}

fn without_links(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let rules = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, flags, Mode::empty(), rules).map_err(|error| {
        if error == Errno::LOOP {
            io::Error::other("has become a link, or is below one")
        } else {
            error.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_are_neither_followed_nor_created_through() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        assert!(open(&root.join("real")).is_ok());
        for path in ["link", "link/new", "link/new/deep"] {
            assert!(open(&root.join(path)).is_err(), "{path}");
            assert!(folder(&root.join(path)).is_err(), "{path}");
        }
        let made = folder(&root.join("real/a/b")).unwrap();
        file(&made, "f".as_ref()).unwrap();
        link(&made, "l".as_ref(), Path::new("f")).unwrap();
        assert!(file(&made, "l".as_ref()).is_err());
        assert_eq!(fs::read_link(root.join("real/a/b/l")).unwrap(), Path::new("f"));
        assert_eq!(fs::read_dir(root.join("real")).unwrap().count(), 1);
    }
}
