//! Reads regular files of limited size.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    path::Path,
};

#[cfg(unix)]
use super::owner;

/// How often a private file is read again because it was replaced between the check and the opening.
const ROUNDS: usize = 16;

/// Reads the regular file at `path`; `None` if it does not exist. Rejects files that could block or exhaust memory:
/// pipes, devices, folders, and files of more than `most` bytes
/// ([`FileTooLarge`](io::ErrorKind::FileTooLarge)). Follows symbolic links.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// assert_eq!(mcp_safe::fs::read(&place.path().join("absent"), 1024)?, None);
/// assert!(mcp_safe::fs::read(place.path(), 1024).is_err());
/// # std::io::Result::Ok(())
/// ```
pub fn read(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path).and_then(|about| read_open(&open(path, &about)?, most)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Like [`read`], for a file whose content is trusted, such as the user's configuration. The error is
/// [`PermissionDenied`](io::ErrorKind::PermissionDenied), without the code of the operating system, if it belongs to a
/// user other than this one or root, or if every user can write to it. A file that its group can write is read: a umask
/// of 002 is common.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("config.json");
/// mcp_safe::fs::replace(&path, b"{}")?;
/// assert_eq!(mcp_safe::fs::read_own(&path, 1024)?.as_deref(), Some(&b"{}"[..]));
/// # std::io::Result::Ok(())
/// ```
pub fn read_own(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    let own = |about| {
        let file = open(path, &about)?;
        // The opened file is judged, since the path may lead to another one by now.
        check_writers(&file.metadata()?)?;
        read_open(&file, most)
    };
    match fs::metadata(path).and_then(own) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Like [`read`], for a file that must be private. The error is
/// [`PermissionDenied`](io::ErrorKind::PermissionDenied) if it is a symbolic link, belongs to another user or is
/// accessible to others, or if its folder belongs to another user or is writable by others.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("secrets.json");
/// mcp_safe::fs::replace(&path, b"{}")?;
/// assert_eq!(mcp_safe::fs::read_private(&path, 1024)?.as_deref(), Some(&b"{}"[..]));
/// # std::io::Result::Ok(())
/// ```
pub fn read_private(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    for _ in 0..ROUNDS {
        match read_private_once(path, most) {
            Ok(Some(bytes)) => return Ok(Some(bytes)),
            Ok(None) => {}
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::ResourceBusy,
        "the file was replaced during every attempt to read it",
    ))
}

/// `None` if the opened file is not the checked one.
fn read_private_once(path: &Path, most: usize) -> io::Result<Option<Vec<u8>>> {
    let about = fs::symlink_metadata(path)?;
    if about.is_symlink() {
        return Err(denied("it is a symbolic link"));
    }
    check_access(path, &about)?;
    let file = open(path, &about)?;
    if !is_same(&about, &file.metadata()?) {
        return Ok(None);
    }
    read_open(&file, most).map(Some)
}

/// A path through a regular file does not exist either.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens a regular file. Opening a pipe would block until it has a writer.
fn open(path: &Path, about: &Metadata) -> io::Result<File> {
    if about.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "a directory"));
    }
    if !about.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    File::open(path)
}

fn read_open(file: &File, most: usize) -> io::Result<Vec<u8>> {
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} bytes"));
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if length > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length);
    // The file may grow. One byte more than allowed is enough to detect that.
    file.take((most as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() > most { Err(too_large()) } else { Ok(bytes) }
}

fn denied(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

#[cfg(unix)]
fn check_access(path: &Path, about: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::metadata(folder.unwrap_or(Path::new(".")))?;
    if about.mode() & 0o077 != 0 {
        return Err(denied("others have access to it"));
    }
    if folder.mode() & 0o022 != 0 {
        return Err(denied("others can write in its folder"));
    }
    let us = owner::current()?;
    if about.uid() != us {
        return Err(denied("it belongs to another user"));
    }
    // Folders of root, such as `/`, are accepted.
    if folder.uid() != us && folder.uid() != 0 {
        return Err(denied("its folder belongs to another user"));
    }
    Ok(())
}

#[cfg(unix)]
fn check_writers(about: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    refuse_writers(about.mode(), about.uid(), owner::current()?).map_err(denied)
}

#[cfg(unix)]
fn refuse_writers(mode: u32, owner: u32, us: u32) -> Result<(), &'static str> {
    if mode & 0o002 != 0 {
        return Err("every user can write to it");
    }
    // Root can write everything, and package managers such as Nix link configuration to files of root.
    if owner != 0 && owner != us { Err("it belongs to another user") } else { Ok(()) }
}

#[cfg(not(unix))]
fn check_writers(_about: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn check_access(_path: &Path, _about: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Whether `path` itself, without following links, is the file described by `opened`.
#[cfg(unix)]
pub(super) fn is_at(opened: &Metadata, path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| is_same(opened, &about))
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_a: &Metadata, _b: &Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn trusted_file_is_writable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        assert_eq!(read_own(&path, 9).unwrap(), None);
        fs::write(&path, "own").unwrap();
        for (mode, is_read) in [(0o600, true), (0o644, true), (0o664, true), (0o646, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let result = read_own(&path, 9);
            assert_eq!(result.is_ok(), is_read, "{mode:o}: {result:?}");
            if let Err(error) = result {
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
                assert_eq!(error.raw_os_error(), None);
            }
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(read_own(&path, 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(
            read_own(Path::new("/etc/passwd"), 1 << 20).map(|text| text.is_some()).ok(),
            Some(true)
        );
    }

    #[test]
    fn file_of_another_user_is_not_trusted() {
        const THEIRS: Result<(), &str> = Err("it belongs to another user");
        for (owner, us, expected) in
            [(1000, 1000, Ok(())), (0, 1000, Ok(())), (1001, 1000, THEIRS), (1000, 0, THEIRS)]
        {
            assert_eq!(refuse_writers(0o100_600, owner, us), expected, "{owner} {us}");
        }
    }

    #[test]
    fn replaced_file_is_a_different_file() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (place.path().join("one"), place.path().join("other"));
        for path in [&one, &other] {
            fs::write(path, "same").unwrap();
        }
        let about = |path: &Path| fs::symlink_metadata(path).unwrap();
        assert!(is_same(&about(&one), &about(&one)) && !is_same(&about(&one), &about(&other)));
        let opened = File::open(&one).unwrap().metadata().unwrap();
        assert!(is_at(&opened, &one) && !is_at(&opened, &other));
        fs::rename(&other, &one).unwrap();
        assert!(!is_at(&opened, &one) && !is_at(&opened, &other));
    }
}
