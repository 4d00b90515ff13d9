//! Files that keep what was too long to show.

use std::{
    collections::VecDeque,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use crate::folder::{create_private, make_private};

/// What earlier processes kept is taken away after so long.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

/// Where long outputs are kept, and how many.
///
/// Files belong to the user alone, have names nobody can foresee, and the oldest goes when there are too
/// many. What is left stays when the host ends, since a model may have been pointed to it, and for a week.
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
        create_private(&path)?.write_all(text)?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.is_empty() {
            // Those of earlier processes, which nobody is pointed to any more.
            sweep(&self.directory, SystemTime::now());
        }
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

/// Takes away what was kept long ago. Nothing that has another kind of name is touched.
fn sweep(directory: &Path, now: SystemTime) {
    let Ok(files) = fs::read_dir(directory) else { return };
    for file in files.flatten() {
        let is_ours = file.file_name().to_str().is_some_and(is_ours);
        let written = file.metadata().and_then(|data| data.modified());
        let age = written.ok().and_then(|written| now.duration_since(written).ok());
        if is_ours && age.is_some_and(|age| age > OLD) {
            // Another process may have been quicker.
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Whether a name is of the kind that is given here.
fn is_ours(name: &str) -> bool {
    let stem = name.rsplit_once('.').map(|(stem, _)| stem);
    let mark = stem.and_then(|stem| stem.rsplit_once('-')).map(|(_, mark)| mark);
    mark.is_some_and(|mark| mark.len() == 16 && mark.bytes().all(|b| b.is_ascii_hexdigit()))
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

    #[test]
    fn what_was_left_behind_long_ago_is_taken_away_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Spill::new(folder.path()).write("tool", "txt", b"x").unwrap();
        let other = folder.path().join("notes-of-mine.txt");
        fs::write(&other, "mine").unwrap();
        sweep(folder.path(), SystemTime::now() + OLD / 2);
        assert!(kept.exists());
        sweep(folder.path(), SystemTime::now() + OLD * 2);
        assert!(!kept.exists() && other.exists());
    }
}
