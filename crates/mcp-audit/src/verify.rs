//! Finds changed, removed and reordered lines.

use std::{fmt, io, path::Path};

use serde_json::Value;

use crate::{
    chain::{Link, Sealed},
    files,
    head::{Checkpoint, Head, HeadFile},
    key::{AuditKey, from_hex},
    read::{Line, Reader},
};

/// More findings are only counted.
const MOST_FINDINGS: usize = 100;

/// A place where the log is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// The text of a line or its seal was changed, or the line was inserted.
    Changed {
        /// `file:line`.
        place: String,
        /// The number that the line claims.
        line: u64,
    },
    /// Lines are missing before this place.
    Missing {
        /// `file:line` of the next line.
        place: String,
        /// The first missing line.
        from: u64,
        /// The last missing line.
        to: u64,
    },
    /// A line stands after one with a higher number, or twice.
    OutOfOrder {
        /// `file:line`.
        place: String,
        /// The number that the line claims.
        line: u64,
    },
    /// Text that is not a line of a log.
    Foreign {
        /// `file:line`.
        place: String,
    },
    /// The oldest lines are missing, and the log does not say that it deleted them.
    StartMissing {
        /// The last missing line.
        to: u64,
    },
    /// Lines at the end are missing.
    EndMissing {
        /// The first missing line.
        from: u64,
        /// The last missing line.
        to: u64,
    },
    /// `audit.head` is missing, was changed or is outdated.
    Head(&'static str),
    /// The line of the checkpoint has another content.
    Checkpoint {
        /// The number of the line.
        line: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { place, line } => write!(f, "{place}: line {line} was changed"),
            Self::Missing { place, from, to } => {
                write!(f, "{place}: lines {from} to {to} are missing before this one")
            }
            Self::OutOfOrder { place, line } => write!(f, "{place}: line {line} is out of order"),
            Self::Foreign { place } => write!(f, "{place}: not a line of the log"),
            Self::StartMissing { to } => {
                write!(f, "lines 1 to {to} are missing, and the log has not deleted them")
            }
            Self::EndMissing { from, to } => {
                write!(f, "lines {from} to {to} are missing at the end")
            }
            Self::Head(problem) => write!(f, "audit.head {problem}"),
            Self::Checkpoint { line } => {
                write!(f, "line {line} is not the one of the stored checkpoint")
            }
        }
    }
}

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// How many lines there are.
    pub lines: u64,
    /// The number of the first line. Above 1 if older ones were deleted.
    pub first: u64,
    /// The number of the last line.
    pub last: u64,
    /// Up to 100 findings, in order.
    pub findings: Vec<Finding>,
    /// How many findings there are in all.
    pub count: usize,
    /// Places of lines that a writer could not complete, because it was killed or the disk was full.
    pub incomplete: Vec<String>,
}

impl Verification {
    /// Whether nothing was changed, removed or reordered.
    pub fn is_intact(&self) -> bool {
        self.count == 0
    }

    fn push(&mut self, finding: Finding) {
        self.count += 1;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        }
    }
}

/// Compares the log in `folder` with the seals of its lines, with `audit.head`, and with a checkpoint from another place.
/// Writers may go on meanwhile.
///
/// # Errors
/// When the files cannot be read. A log that was tampered with is not an error.
pub fn verify(
    folder: &Path,
    key: &AuditKey,
    checkpoint: Option<&Checkpoint>,
) -> io::Result<Verification> {
    let lock = files::open(&files::lock(folder), false)?;
    lock.lock()?;
    let opened = HeadFile::open(folder)
        .and_then(|mut head| head.read(key))
        .and_then(|head| Ok((head, Reader::open(folder)?)));
    lock.unlock()?;
    let (head, lines) = opened?;
    let mut walk = Walk::new(key, checkpoint);
    for line in lines {
        walk.step(&line?);
    }
    Ok(walk.finish(head))
}

struct Walk<'a> {
    key: &'a AuditKey,
    checkpoint: Option<&'a Checkpoint>,
    previous: Option<Link>,
    /// The first line, if older ones are missing: its seal is compared when the log says what it deleted.
    first: Option<(String, Link)>,
    first_place: String,
    is_start_explained: bool,
    /// Text that is not a line, until the next line says whether its writer was killed.
    foreign: Option<(String, usize)>,
    found: Verification,
}

impl<'a> Walk<'a> {
    fn new(key: &'a AuditKey, checkpoint: Option<&'a Checkpoint>) -> Self {
        Self {
            key,
            checkpoint,
            previous: None,
            first: None,
            first_place: String::new(),
            is_start_explained: false,
            foreign: None,
            found: Verification::default(),
        }
    }

    fn step(&mut self, read: &Line) {
        let name = read.file.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("{name}:{}", read.number);
        if !read.is_complete {
            self.found.incomplete.push(place);
            return;
        }
        let Some(sealed) = Sealed::parse(&read.text) else {
            self.end_foreign(None);
            self.foreign = Some((place, read.text.len()));
            return;
        };
        self.found.lines += 1;
        let link = sealed.link;
        let previous = match self.previous {
            Some(previous) => previous,
            None if link.seq == 1 => Link::START,
            None => {
                // The predecessor was deleted, so the seal cannot be compared yet.
                self.first = Some((sealed.body.to_owned(), link));
                self.first_place.clone_from(&place);
                Link { seq: link.seq - 1, seal: [0; 32] }
            }
        };
        if self.previous.is_none() {
            self.found.first = link.seq;
        }
        let is_first_of_rest = self.previous.is_none() && link.seq > 1;
        let is_sound = !is_first_of_rest && sealed.follows(&previous, self.key);
        if is_sound {
            self.read_remark(sealed.body);
        } else {
            self.end_foreign(None);
            if !is_first_of_rest {
                self.found.push(finding(place, &previous, link.seq));
            }
        }
        if self.checkpoint.is_some_and(|at| at.0.seq == link.seq && at.0.seal != link.seal) {
            self.found.push(Finding::Checkpoint { line: link.seq });
        }
        self.previous = Some(link);
    }

    /// Lines of the log about itself explain incomplete lines and deleted files.
    fn read_remark(&mut self, body: &str) {
        let is_remark = body.contains(r#","event":"log""#);
        let remark = if is_remark { serde_json::from_str(&format!("{body}}}")).ok() } else { None };
        self.end_foreign(remark.as_ref());
        let Some(remark): Option<Value> = remark else { return };
        let (Some(until), Some(last)) = (
            remark.get("until").and_then(Value::as_u64),
            remark.get("last").and_then(Value::as_str).and_then(from_hex),
        ) else {
            return;
        };
        if let Some((body, first)) = &self.first
            && until + 1 == first.seq
        {
            self.is_start_explained = true;
            let is_same = self.key.of_line(&last, body) == first.seal;
            if !is_same {
                let place = self.first_place.clone();
                self.found.push(Finding::Changed { place, line: until + 1 });
            }
        }
    }

    /// Text that is not a line is incomplete if the line after it says so, and foreign otherwise.
    fn end_foreign(&mut self, next: Option<&Value>) {
        let Some((place, length)) = self.foreign.take() else { return };
        let torn = next.and_then(|next| next.get("torn")).and_then(Value::as_u64);
        if torn.is_some_and(|torn| usize::try_from(torn).is_ok_and(|torn| torn == length)) {
            self.found.incomplete.push(place);
        } else {
            self.found.push(Finding::Foreign { place });
        }
    }

    fn finish(mut self, head: Head) -> Verification {
        self.end_foreign(None);
        let last = self.previous.unwrap_or(Link::START);
        self.found.last = last.seq;
        if let Some((_, first)) = &self.first
            && !self.is_start_explained
        {
            self.found.push(Finding::StartMissing { to: first.seq - 1 });
        }
        let mut end = last.seq;
        match head {
            Head::Missing if last.seq == 0 => {}
            Head::Missing => self.found.push(Finding::Head("is missing")),
            Head::Invalid => self.found.push(Finding::Head("was changed")),
            Head::Last(head) if head.seq > end => {
                self.found.push(Finding::EndMissing { from: end + 1, to: head.seq });
                end = head.seq;
            }
            Head::Last(head) if head.seq == last.seq && head.seal != last.seal => {
                self.found.push(Finding::Head("names another last line"));
            }
            // A writer that was killed between the two writes leaves the head one line behind.
            Head::Last(head) if head.seq + 1 < last.seq => {
                self.found.push(Finding::Head("is outdated"));
            }
            Head::Last(_) => {}
        }
        if let Some(Checkpoint(at)) = self.checkpoint
            && at.seq > end
        {
            self.found.push(Finding::EndMissing { from: end + 1, to: at.seq });
        }
        self.found
    }
}

fn finding(place: String, previous: &Link, line: u64) -> Finding {
    let next = previous.seq + 1;
    match line {
        line if line == next => Finding::Changed { place, line },
        line if line > next => Finding::Missing { place, from: next, to: line - 1 },
        line => Finding::OutOfOrder { place, line },
    }
}
