//! Files that keep what was too long to show.

use std::{
    collections::VecDeque,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::folder::make_private;

/// Where long outputs are kept, and how many.
///
/// Files belong to the user alone, have names nobody can foresee, and the oldest goes when there are too
/// many. What is left stays when the host ends: a model may have been pointed to it.
#[derive(Debug)]
pub struct Spill {
    directory: PathBuf,
    most: usize,
    written: Mutex<VecDeque<PathBuf>>,
}

impl Spill {
    /// Keeps the last 64 long outputs in `directory`, which is made when first needed.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), most: 64, written: Mutex::default() }
    }

    /// Keeps another number of them.
    #[must_use]
    pub fn keep(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Writes `text` to a file of its own. Blocks.
    pub(crate) fn write(&self, label: &str, extension: &str, text: &[u8]) -> io::Result<PathBuf> {
        make_private(&self.directory)?;
        let label: String = crate::name::sanitise(label).chars().take(48).collect();
        let name = format!("{label}-{:016x}.{extension}", crate::trace::random());
        let path = self.directory.join(name);
        create(&path)?.write_all(text)?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.push_back(path.clone());
        while written.len() > self.most.max(1) {
            if let Some(oldest) = written.pop_front() {
                // Somebody may have taken it away already.
                let _ = fs::remove_file(oldest);
            }
        }
        Ok(path)
    }
}

fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_belong_to_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path().join("deep/er")).keep(2);
        let paths: Vec<_> =
            (0..3).map(|n| spill.write("a/../b", "txt", &[b'0' + n]).unwrap()).collect();
        assert!(!paths[0].exists());
        assert_eq!(fs::read(&paths[2]).unwrap(), b"2");
        assert!(paths[2].starts_with(folder.path().join("deep/er")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&paths[2]), 0o600);
            assert_eq!(mode(&folder.path().join("deep/er")), 0o700);
            assert_eq!(mode(&folder.path().join("deep")), 0o700);
        }
    }
}
