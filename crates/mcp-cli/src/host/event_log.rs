//! The log file of gateways: one line for each event, without secrets, of limited size.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use mcp_safe::fs::{Lock, private_folder};

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
        append(&path)?;
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
        append(&self.path)?.write_all(format!("{}\n", line.trim_end()).as_bytes())
    }
}

/// Opens a file at its end, for this user alone.
fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o777 != 0o600 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
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

/// A moment as `2026-11-18T17:50:38.123Z`.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = date(since.as_secs() / 86_400);
    let seconds = since.as_secs() % 86_400;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

/// Year, month and day of a count of days since 1970-01-01, by the algorithm of Howard Hinnant
/// (<https://howardhinnant.github.io/date_algorithms.html#civil_from_days>): years begin in March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
            (1_795_024_238_123, "2026-11-18T17:50:38.123Z"),
        ] {
            assert_eq!(timestamp(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)), text);
        }
    }

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
            append(&path).unwrap().write_all(text.as_bytes()).unwrap();
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
