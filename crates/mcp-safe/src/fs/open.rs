//! Opens private files that stay open: logs and locks.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

/// Opens the file at `path` for reading and writing, with `append` only at its end, and creates it with mode 0600. The mode
/// of an existing file becomes 0600. A symbolic link is an error.
///
/// ```
/// use std::io::Write as _;
///
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("events.log");
/// mcp_safe::fs::open_private(&path, true)?.write_all(b"one\n")?;
/// mcp_safe::fs::open_private(&path, true)?.write_all(b"two\n")?;
/// assert_eq!(std::fs::read(&path)?, b"one\ntwo\n");
/// # std::io::Result::Ok(())
/// ```
pub fn open_private(path: &Path, append: bool) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file is a symbolic link"));
    }
    let mut options = OpenOptions::new();
    options.create(true).read(true).write(true).append(append);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.truncate(false).open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o777 != 0o600 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn existing_file_becomes_private_and_a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "kept").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let file = open_private(&path, false).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(&path).unwrap(), b"kept");
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(open_private(&link, true).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
