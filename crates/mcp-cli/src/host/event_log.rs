//! The log file of gateways: one line for each event, without secrets, of limited size.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use mcp_audit::timestamp;
use mcp_safe::fs::{Lock, open_private, private_folder};

use crate::{host::places::Places, terminal::out::brief};

/// A file with more bytes is set aside before the next line.
const LARGEST: u64 = 1 << 20;
/// The most characters of one event.
const LONGEST: usize = 600;

/// A file that gateways append to. All gateways of a user share one; a line names the process that wrote it.
#[derive(Debug)]
pub(crate) struct EventLog {
    path: PathBuf,
}

impl EventLog {
    /// Where the log is. `None` without a folder for state.
    pub(crate) fn place(places: &Places) -> Option<PathBuf> {
        Some(places.state.as_ref()?.join("gateways").join("gateway.log"))
    }

    /// The log at `path`, which is created with its folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        path.parent().map_or(Ok(()), private_folder)?;
        open_private(&path, true)?;
        Ok(Self { path })
    }

    /// Appends a line. The file is opened each time, since another gateway may have set it aside.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn write(&self, event: &str, text: &str) -> io::Result<()> {
        rotate(&self.path, LARGEST)?;
        let (time, pid) = (timestamp(SystemTime::now()), std::process::id());
        let line = format!("{time} {pid} {event} {}", brief(text, LONGEST));
        // One write: lines of two processes do not mix.
        open_private(&self.path, true)?.write_all(format!("{}\n", line.trim_end()).as_bytes())
    }
}

/// Renames a file that is too large. The one that was set aside before is replaced.
fn rotate(path: &Path, largest: u64) -> io::Result<()> {
    let is_large = || fs::metadata(path).is_ok_and(|about| about.len() > largest);
    if !is_large() {
        return Ok(());
    }
    // Two gateways that rotate at once would replace the old file by an almost empty one.
    let lock = Lock::try_acquire(&Lock::beside(path))?;
    if lock.is_some() && is_large() {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs").join("gateway.log");
        let log = EventLog::open(path.clone()).unwrap();
        log.write("server.error", "two\nlines \u{1b}[31m").unwrap();
        log.write("gateway.stop", "").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains(" server.error two lines") && !text.contains('\u{1b}'), "{text}");
        assert!(lines[1].ends_with(" gateway.stop"), "{text}");
    }

    #[test]
    fn one_old_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.log");
        for text in ["first", "second", "third"] {
            open_private(&path, true).unwrap().write_all(text.as_bytes()).unwrap();
            rotate(&path, 4).unwrap();
        }
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(folder.path().join("gateway.log.1")).unwrap(), "third");
        rotate(&path, 4).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_log_is_for_its_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateways").join("gateway.log");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let log = EventLog::open(path.clone()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        log.write("gateway.start", "").unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}
