//! Loads and stores the catalogue file.

use std::{io, path::Path};

use mcp_safe::fs;

use super::{
    Catalogue,
    codec::{CatalogueError, LARGEST},
};

/// The result of loading a file.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "the list of cases is complete")]
pub enum Loaded {
    /// A catalogue.
    Found(Catalogue),
    /// The file does not exist.
    Missing,
    /// An invalid file, with the reason. The next [`Catalogue::store`] replaces it.
    Ignored(CatalogueError),
}

impl Catalogue {
    /// Loads a catalogue from a file. Never fails: an invalid file is ignored.
    pub fn load(path: &Path) -> Loaded {
        let bytes = match fs::read(path, LARGEST) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Loaded::Missing,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                return Loaded::Ignored(CatalogueError::TooLarge);
            }
            Err(error) => return Loaded::Ignored(CatalogueError::Io(error)),
        };
        match Self::decode(&bytes) {
            Ok(catalogue) => Loaded::Found(catalogue),
            Err(error) => Loaded::Ignored(error),
        }
    }

    /// Stores the catalogue in a file, replacing an existing one.
    ///
    /// The file is replaced atomically: it is written under another name and renamed, so that a
    /// concurrent reader sees the old or the new one.
    ///
    /// # Errors
    ///
    /// Those of the file system. The old file is then unchanged.
    pub fn store(&self, path: &Path) -> io::Result<()> {
        fs::replace(path, &self.encode())
    }
}
