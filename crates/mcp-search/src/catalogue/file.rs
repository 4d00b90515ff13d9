//! Reading and replacing the file.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::{
    Catalogue,
    codec::{CatalogueError, LARGEST},
};

/// What a file gave.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing else a file can be")]
pub enum Loaded {
    /// A catalogue.
    Found(Catalogue),
    /// There is no file.
    Missing,
    /// A file that is not to be believed, and why. The next [`Catalogue::store`] replaces it.
    Ignored(CatalogueError),
}

impl Catalogue {
    /// Reads a catalogue from a file. Never fails: a file that can't be believed is none.
    pub fn load(path: &Path) -> Loaded {
        let bytes = match read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Loaded::Missing,
            Err(error) => return Loaded::Ignored(CatalogueError::Io(error)),
        };
        match Self::decode(&bytes) {
            Ok(catalogue) => Loaded::Found(catalogue),
            Err(error) => Loaded::Ignored(error),
        }
    }

    /// Writes the catalogue to a file, in place of what was there.
    ///
    /// Who reads the file meanwhile sees the old one or the new one, never a part: it is written
    /// beside the old one and renamed.
    ///
    /// # Errors
    ///
    /// Those of the file system. The old file is then as it was.
    pub fn store(&self, path: &Path) -> io::Result<()> {
        let beside = beside(path)?;
        let written = write(&beside, &self.encode()).and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            // The error that matters is the first; the file is ours and worthless.
            let _ = fs::remove_file(&beside);
        }
        written
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let mut bytes = Vec::new();
    // One byte more than is allowed is enough to know that it is too large.
    File::open(path)?.take(LARGEST as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name in the same directory that no other writer has.
fn beside(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file")
    })?;
    let mut own = OsString::from(".");
    own.push(name);
    own.push(format!(".{}-{}.tmp", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    Ok(path.with_file_name(own))
}
