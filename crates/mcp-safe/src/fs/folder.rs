//! Private folders.

use std::{
    fs::{self, DirBuilder},
    io,
    path::Path,
};

/// Creates `folder` and its missing parents with mode 0700, regardless of the umask. Existing folders are not
/// changed.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// mcp_safe::fs::create_folder(&place.path().join("state/mcp"))?;
/// assert!(place.path().join("state/mcp").is_dir());
/// # std::io::Result::Ok(())
/// ```
pub fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        create_folder(above)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // The umask may have removed the owner's bits.
        Ok(()) => make_private(folder),
        // Another process created it in the meantime.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Like [`create_folder`], but also removes the access of others to an existing `folder`.
///
/// ```
/// # let place = tempfile::tempdir()?;
/// let folder = place.path().join("secrets");
/// std::fs::create_dir(&folder)?;
/// mcp_safe::fs::private_folder(&folder)?;
/// # #[cfg(unix)]
/// assert_eq!(std::os::unix::fs::MetadataExt::mode(&folder.metadata()?) & 0o777, 0o700);
/// # std::io::Result::Ok(())
/// ```
pub fn private_folder(folder: &Path) -> io::Result<()> {
    create_folder(folder)?;
    make_private(folder)
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if fs::metadata(folder)?.permissions().mode() & 0o777 == 0o700 {
        return Ok(());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::metadata(folder).map(drop)
}
