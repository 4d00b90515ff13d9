//! The lines of all files, in order.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

use crate::files;

/// The most bytes of a line. Longer ones are cut: the log writes none.
pub(crate) const LONGEST_LINE: u64 = 2 << 20;

/// A line of a log. Nothing is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The file.
    pub file: PathBuf,
    /// The number of the line in its file, from 1.
    pub number: u64,
    /// The text, without the line break.
    pub text: String,
    /// Whether the line ends with a line break. Only the last one may lack it, when its writer was killed.
    pub is_complete: bool,
}

/// Returns the lines of a log in order, from the oldest file to the newest.
#[derive(Debug)]
pub struct Reader {
    files: VecDeque<(PathBuf, File)>,
    open: Option<(PathBuf, BufReader<io::Take<File>>)>,
    number: u64,
}

impl Reader {
    /// Opens the files of the log in `folder`. Lines that are written later are not returned.
    ///
    /// # Errors
    /// When the folder or one of the files cannot be opened.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut paths = files::all_rotated(folder)?;
        let current = files::current(folder);
        paths.extend(current.exists().then_some(current));
        let open = |path: PathBuf| File::open(&path).map(|file| (path, file));
        let files = paths.into_iter().map(open).collect::<io::Result<_>>()?;
        Ok(Self { files, open: None, number: 0 })
    }

    fn next_line(&mut self) -> io::Result<Option<Line>> {
        loop {
            if self.open.is_none() {
                let Some((path, file)) = self.files.pop_front() else { return Ok(None) };
                let length = file.metadata()?.len();
                self.open = Some((path, BufReader::new(file.take(length))));
                self.number = 0;
            }
            let Some((path, reader)) = &mut self.open else { return Ok(None) };
            let mut bytes = Vec::new();
            if reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
                self.open = None;
                continue;
            }
            self.number += 1;
            let is_complete = bytes.pop_if(|last| *last == b'\n').is_some();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Ok(Some(Line { file: path.clone(), number: self.number, text, is_complete }));
        }
    }
}

impl Iterator for Reader {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}
