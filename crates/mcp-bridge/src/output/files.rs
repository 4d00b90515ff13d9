//! Files with the full text of truncated outputs.

use std::{
    collections::VecDeque,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use mcp_safe::fs::{create, create_folder};

/// The age after which files of earlier processes are removed.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

/// The directory for long outputs, and its limits.
///
/// Files are readable by the user only and have unpredictable names. The oldest file is removed when there are too many
/// files, or too many bytes including those of other processes. Files remain for a week after the host ends, because a
/// model may refer to them.
#[derive(Debug)]
pub struct Spill {
    directory: PathBuf,
    most: usize,
    most_bytes: u64,
    written: Mutex<VecDeque<PathBuf>>,
}

impl Spill {
    /// Keeps the last 64 long outputs in `directory`, at most 256 MiB in all. The directory is created on first use.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let (most, most_bytes) = (64, 256 << 20);
        Self { directory: directory.into(), most, most_bytes, written: Mutex::default() }
    }

    /// Sets the maximum number of files.
    #[must_use]
    pub fn keep(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Sets the maximum number of bytes in the directory.
    #[must_use]
    pub fn keep_bytes(mut self, most: u64) -> Self {
        self.most_bytes = most;
        self
    }

    /// Writes `text` to a new file. Blocks.
    pub(crate) fn write(&self, label: &str, extension: &str, text: &[u8]) -> io::Result<PathBuf> {
        let room = self.most_bytes.checked_sub(text.len() as u64);
        let Some(room) = room else { return Err(io::ErrorKind::FileTooLarge.into()) };
        create_folder(&self.directory)?;
        let label: String = crate::tools::name::sanitise(label).chars().take(48).collect();
        let name = format!("{label}-{:016x}.{extension}", crate::random::random());
        let path = self.directory.join(name);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        sweep(&self.directory, SystemTime::now(), room);
        create(&path)?.write_all(text)?;
        written.push_back(path.clone());
        while written.len() > self.most.max(1) {
            if let Some(oldest) = written.pop_front() {
                // The file may have been removed already.
                let _ = fs::remove_file(oldest);
            }
        }
        Ok(path)
    }
}

/// Removes old files, and then the oldest ones until at most `room` bytes are left. Files with other kinds of names are
/// not touched.
fn sweep(directory: &Path, now: SystemTime, room: u64) {
    let Ok(files) = fs::read_dir(directory) else { return };
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = files
        .flatten()
        .filter(|file| file.file_name().to_str().is_some_and(is_ours))
        .filter_map(|file| {
            let data = file.metadata().ok()?;
            Some((data.modified().ok()?, data.len(), file.path()))
        })
        .collect();
    kept.sort();
    let mut bytes: u64 = kept.iter().map(|(_, length, _)| length).sum();
    for (written, length, path) in kept {
        let is_old = now.duration_since(written).is_ok_and(|age| age > OLD);
        if is_old || bytes > room {
            // Another process may have removed it first.
            let _ = fs::remove_file(path);
            bytes -= length;
        }
    }
}

/// Whether a name has the format used here.
fn is_ours(name: &str) -> bool {
    let stem = name.rsplit_once('.').map(|(stem, _)| stem);
    let mark = stem.and_then(|stem| stem.rsplit_once('-')).map(|(_, mark)| mark);
    mark.is_some_and(|mark| mark.len() == 16 && mark.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_output_files_are_kept_with_private_permissions() {
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
    fn only_old_output_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Spill::new(folder.path()).write("tool", "txt", b"x").unwrap();
        let other = folder.path().join("notes-of-mine.txt");
        fs::write(&other, "mine").unwrap();
        sweep(folder.path(), SystemTime::now() + OLD / 2, u64::MAX);
        assert!(kept.exists());
        sweep(folder.path(), SystemTime::now() + OLD * 2, u64::MAX);
        assert!(!kept.exists() && other.exists());
    }

    #[test]
    fn output_files_of_all_processes_share_a_byte_limit() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..10 {
            // One instance per process.
            Spill::new(folder.path()).keep_bytes(1_000).write("tool", "txt", &[b'x'; 300]).unwrap();
        }
        let kept: u64 = fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert_eq!(kept, 900);
        let spill = Spill::new(folder.path()).keep_bytes(1_000);
        assert!(spill.write("tool", "txt", &[b'x'; 1_001]).is_err(), "larger than the limit");
    }
}
