//! The files of a log.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use mcp_safe::fs::open_private;

const CURRENT: &str = "audit.jsonl";

/// The file that lines are appended to.
pub(crate) fn current(folder: &Path) -> PathBuf {
    folder.join(CURRENT)
}

/// The file that names the last line.
pub(crate) fn head(folder: &Path) -> PathBuf {
    folder.join("audit.head")
}

/// The file that writers lock.
pub(crate) fn lock(folder: &Path) -> PathBuf {
    folder.join(".audit.lock")
}

/// The name of a file that is no longer appended to, by the number of its first line.
pub(crate) fn rotated(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("audit-{first:020}.jsonl"))
}

/// The files that are no longer appended to, oldest first.
pub(crate) fn all_rotated(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| {
            name.strip_prefix("audit-")?.strip_suffix(".jsonl")?.parse::<u64>().ok()
        });
        if number.is_some_and(|first| rotated(folder, first) == entry.path()) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Opens a private file for reading and writing, and creates it.
pub(crate) fn open(path: &Path, append: bool) -> io::Result<File> {
    open_private(path, append)
}
