//! The file that names the last line, so that removing lines at the end is detected.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use crate::{
    chain::Link,
    files,
    key::{AuditKey, from_hex, hex},
};

/// The last line of a log at some moment, for a place that the log's folder does not share: a secret store. With it,
/// [`verify`](crate::verify) detects that the whole folder was replaced by an older copy or deleted.
///
/// ```
/// # use std::time::SystemTime;
/// # use mcp_audit::{AuditKey, AuditLog, Checkpoint, Kind, LogOptions, Record, verify};
/// # let folder = tempfile::tempdir()?;
/// # let key = AuditKey::generate()?;
/// let log = AuditLog::open(folder.path(), key.clone(), LogOptions::default())?;
/// log.append(&Record::new(Kind::HostStart, SystemTime::now()))?;
/// let stored = log.checkpoint()?.to_text();
///
/// let checkpoint = Checkpoint::from_text(&stored);
/// assert!(verify(folder.path(), &key, checkpoint.as_ref())?.is_intact());
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(pub(crate) Link);

impl Checkpoint {
    /// The number of the line, from 1; 0 for an empty log.
    pub fn line(&self) -> u64 {
        self.0.seq
    }

    /// The checkpoint as text.
    pub fn to_text(&self) -> String {
        text(&self.0)
    }

    /// Reads what [`to_text`](Self::to_text) wrote; `None` for any other text.
    pub fn from_text(text: &str) -> Option<Self> {
        let (seq, seal) = text.trim().split_once(' ')?;
        let is_number = seq.len() == 20 && seq.bytes().all(|byte| byte.is_ascii_digit());
        let seq = seq.parse().ok().filter(|_| is_number)?;
        Some(Self(Link { seq, seal: from_hex(seal)? }))
    }
}

fn text(link: &Link) -> String {
    format!("{:020} {}", link.seq, hex(&link.seal))
}

/// The content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The file is new or empty.
    Missing,
    /// It was not written with this key.
    Invalid,
    Last(Link),
}

/// The open file.
#[derive(Debug)]
pub(crate) struct HeadFile(File);

impl HeadFile {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        files::open(&files::head(folder), false).map(Self)
    }

    pub(crate) fn read(&mut self, key: &AuditKey) -> io::Result<Head> {
        self.0.seek(SeekFrom::Start(0))?;
        let mut found = String::new();
        if (&self.0).take(1_024).read_to_string(&mut found).is_err() {
            return Ok(Head::Invalid);
        }
        if found.is_empty() {
            return Ok(Head::Missing);
        }
        let link = found.trim_end().rsplit_once(' ').and_then(|(head, seal)| {
            let link = Checkpoint::from_text(head)?.0;
            (from_hex(seal)? == key.of_head(head)).then_some(link)
        });
        Ok(link.map_or(Head::Invalid, Head::Last))
    }

    /// Replaces the content in place. It always has the same length, so one write replaces all of it.
    pub(crate) fn write(&mut self, key: &AuditKey, link: &Link) -> io::Result<()> {
        let head = text(link);
        let seal = hex(&key.of_head(&head));
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(format!("{head} {seal}\n").as_bytes())
    }
}
