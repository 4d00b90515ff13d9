//! Appends records to the files.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use crate::{
    chain::{Link, Sealed},
    files,
    head::{Checkpoint, Head, HeadFile},
    key::{AuditKey, hex},
    read::LONGEST_LINE,
    record::{Kind, Record},
};

/// How a log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogOptions {
    /// A file is set aside before it exceeds this. Default: 16 MiB.
    pub max_bytes: u64,
    /// How many files that were set aside are kept. Default: 16.
    pub max_files: usize,
    /// Whether arguments and results are recorded as text, up to 64 KiB each. Default: no, only length and keyed hash.
    pub contents: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { max_bytes: 16 << 20, max_files: 16, contents: false }
    }
}

impl LogOptions {
    /// Sets [`max_bytes`](Self::max_bytes).
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Sets [`max_files`](Self::max_files).
    #[must_use]
    pub fn with_max_files(mut self, max_files: usize) -> Self {
        self.max_files = max_files;
        self
    }

    /// Sets [`contents`](Self::contents).
    #[must_use]
    pub fn with_contents(mut self, contents: bool) -> Self {
        self.contents = contents;
        self
    }
}

/// An audit log in a private folder. Several threads and processes may append to it; they need the same key.
///
/// When [`append`](Self::append) returns, the line is with the operating system and survives the end of the process, also by
/// SIGKILL. It is not synced to disk, so a loss of power may lose the last lines; [`verify`](crate::verify) then says so.
#[derive(Debug)]
pub struct AuditLog {
    folder: PathBuf,
    key: AuditKey,
    options: LogOptions,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    lock: File,
    head: HeadFile,
    /// The current file, as this process left it. `None` before the first line and after an error.
    open: Option<Current>,
}

#[derive(Debug)]
struct Current {
    file: File,
    length: u64,
    /// The number of the first line; `None` if the file is empty.
    first: Option<u64>,
    last: Link,
}

impl AuditLog {
    /// Opens the log in `folder`, which is created with mode 0700.
    ///
    /// # Errors
    /// When the folder is not private or its files cannot be opened.
    pub fn open(folder: &Path, key: AuditKey, options: LogOptions) -> io::Result<Self> {
        mcp_safe::fs::private_folder(folder)?;
        let lock = files::open(&files::lock(folder), false)?;
        let head = HeadFile::open(folder)?;
        let state = Mutex::new(State { lock, head, open: None });
        let log = Self { folder: folder.to_owned(), key, options, state };
        // Reads the end of the files, so that problems with them show at once.
        log.checkpoint()?;
        Ok(log)
    }

    /// Appends a line.
    ///
    /// # Errors
    /// When it cannot be written. An incomplete line is marked by the next call.
    pub fn append(&self, record: &Record<'_>) -> io::Result<()> {
        self.locked(|writer| {
            writer.refresh()?;
            writer.append(record)
        })
    }

    /// The last line, for a place outside the folder.
    ///
    /// # Errors
    /// When the files cannot be read.
    pub fn checkpoint(&self) -> io::Result<Checkpoint> {
        self.locked(|writer| {
            writer.refresh()?;
            Ok(Checkpoint(writer.state.open.as_ref().map_or(Link::START, |open| open.last)))
        })
    }

    fn locked<T>(&self, run: impl FnOnce(&mut Writer<'_>) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.lock.lock()?;
        let mut writer = Writer { log: self, state: &mut state };
        let done = run(&mut writer);
        if done.is_err() {
            // A part of a line may have been written: look at the file again before the next one.
            state.open = None;
        }
        state.lock.unlock()?;
        done
    }
}

/// The holder of the lock.
struct Writer<'l> {
    log: &'l AuditLog,
    state: &'l mut State,
}

impl Writer<'_> {
    /// Takes over what other processes wrote since.
    fn refresh(&mut self) -> io::Result<()> {
        let head = self.state.head.read(&self.log.key)?;
        if let Some(open) = &self.state.open {
            let is_same =
                head == Head::Last(open.last) || head == Head::Missing && open.last.seq == 0;
            if is_same && open.file.metadata()?.len() == open.length {
                return Ok(());
            }
        }
        let remarks = self.reload(head)?;
        for remark in remarks {
            self.append(&remark)?;
        }
        Ok(())
    }

    /// Finds the last line. Returns what the log should say about its own state.
    fn reload(&mut self, head: Head) -> io::Result<Vec<Record<'static>>> {
        let note = |reason: &str| Record::new(Kind::Log, SystemTime::now()).with_reason(reason);
        let mut file = files::open(&files::current(&self.log.folder), true)?;
        let end = End::read(&mut file)?;
        let mut remarks = Vec::new();
        let mut length = file.metadata()?.len();
        if end.torn > 0 {
            // The line stays, so that its length can be compared with the remark.
            file.write_all(b"\n")?;
            length += 1;
            remarks.push(note("a line was not written completely").number("torn", end.torn));
        }
        let last = match (head, end.last) {
            (Head::Last(head), Some(last)) if last.seq > head.seq => last,
            (Head::Last(head), _) => head,
            (Head::Missing, None) if length == 0 => Link::START,
            (Head::Missing, last) => {
                remarks.push(note("audit.head is missing"));
                last.unwrap_or(Link::START)
            }
            (Head::Invalid, last) => {
                remarks.push(note("audit.head was changed"));
                last.unwrap_or(Link::START)
            }
        };
        self.state.open = Some(Current { file, length, first: end.first, last });
        Ok(remarks)
    }

    fn append(&mut self, record: &Record<'_>) -> io::Result<()> {
        let (key, options) = (&self.log.key, &self.log.options);
        let Some(open) = &mut self.state.open else {
            return Err(io::Error::other("the log is not open"));
        };
        let mut last = open.last;
        let body = record.body(last.seq + 1, key, options.contents);
        let mut line = last.append(key, &body);
        line.push('\n');
        let line_length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if let Some(first) = open.first
            && open.length.saturating_add(line_length) > options.max_bytes
        {
            self.rotate(first)?;
            // The line about deleted files comes first, so this one gets another number.
            return self.append(record);
        }
        open.file.write_all(line.as_bytes())?;
        open.length += line_length;
        open.first.get_or_insert(last.seq);
        open.last = last;
        self.state.head.write(key, &last)
    }

    /// Sets the current file aside, and deletes the oldest ones.
    fn rotate(&mut self, first: u64) -> io::Result<()> {
        let folder = &self.log.folder;
        let Some(open) = &mut self.state.open else { return Ok(()) };
        open.file.sync_data()?;
        fs::rename(files::current(folder), files::rotated(folder, first))?;
        let file = files::open(&files::current(folder), true)?;
        *open = Current { file, length: 0, first: None, last: open.last };
        let old = files::all_rotated(folder)?;
        let surplus = old.len().saturating_sub(self.log.options.max_files);
        let mut deleted = None;
        for path in &old[..surplus] {
            deleted = End::read(&mut File::open(path)?)?.last.or(deleted);
            fs::remove_file(path)?;
        }
        let Some(until) = deleted else { return Ok(()) };
        let reason = "the oldest lines were deleted";
        let record = Record::new(Kind::Log, SystemTime::now()).with_reason(reason);
        self.append(&record.number("until", until.seq).text("last", &hex(&until.seal)))
    }
}

/// The ends of a file.
struct End {
    /// The number of the first line.
    first: Option<u64>,
    last: Option<Link>,
    /// The bytes after the last line break.
    torn: u64,
}

impl End {
    fn read(file: &mut File) -> io::Result<Self> {
        let mut start = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        (&*file).take(64).read_to_end(&mut start)?;
        let length = file.metadata()?.len();
        // The last line and one that is incomplete.
        file.seek(SeekFrom::Start(length.saturating_sub(2 * LONGEST_LINE)))?;
        let mut end = Vec::new();
        (&*file).take(2 * LONGEST_LINE).read_to_end(&mut end)?;
        let complete = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let last = end[..complete]
            .split(|byte| *byte == b'\n')
            .rev()
            .find_map(|line| Sealed::parse(std::str::from_utf8(line).ok()?).map(|line| line.link));
        let first = std::str::from_utf8(&start)
            .ok()
            .and_then(|start| start.strip_prefix(r#"{"seq":"#)?.split_once(',')?.0.parse().ok());
        Ok(Self {
            // A file that begins with something else is still set aside by a number of its own.
            first: first.or(last.map(|last| last.seq)),
            last,
            torn: u64::try_from(end.len() - complete).unwrap_or(u64::MAX),
        })
    }
}
