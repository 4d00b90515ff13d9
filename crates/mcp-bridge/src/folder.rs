//! Folders and files that are nobody else's business.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::Path,
    time::{Duration, Instant},
};

/// Makes a folder, and those it is in, for this user alone. One that is there already stays as it is.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes a file for this user alone, where there is none.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options).open(path)
}

/// Puts a file in the place of another in one step: whoever reads sees the old one or the new one.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension(format!("{:016x}.tmp", crate::trace::random()));
    let written = create_private(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        // The error that matters is the first; the file is ours and worthless.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Holds off every other process that wants to change what stands at `path`, until it is dropped. One that
/// does not let go is not waited for longer than this.
pub(crate) fn lock_beside(path: &Path, patience: Duration) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let file = private(&mut options).open(path.with_extension("lock"))?;
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
