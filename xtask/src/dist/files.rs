//! File operations with errors that name the file.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use crate::process::{capture, exists};

/// Creates an empty folder, removing an existing one.
pub(super) fn empty(folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| failed("clear", folder, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))
}

/// Writes a file, and the folders above it.
pub(super) fn write(file: &Path, bytes: impl AsRef<[u8]>) -> Result<(), String> {
    create_parent(file)?;
    fs::write(file, bytes).map_err(|error| failed("write", file, &error))
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    create_parent(to)?;
    fs::copy(from, to).map(drop).map_err(|error| failed("copy", from, &error))
}

/// Copies a folder, its folders included.
pub(super) fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    for file in list(from)? {
        let inner = file.strip_prefix(from).unwrap_or(&file);
        copy(&file, &to.join(inner))?;
    }
    Ok(())
}

/// The files below a folder, in order of their paths. Links count as files.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(|error| failed("list", &next, &error))? {
            let entry = entry.map_err(|error| failed("list", &next, &error))?;
            let kind = entry.file_type().map_err(|error| failed("look at", &next, &error))?;
            if kind.is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.sort();
    Ok(files)
}

/// Sets one time for all files and folders below `folder`, so that packages of a commit are reproducible.
pub(super) fn set_times(folder: &Path, seconds: u64) -> Result<(), String> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    for path in list(folder)? {
        if path.is_symlink() {
            continue;
        }
        let file = File::options().append(true).open(&path);
        let file = file.map_err(|error| failed("open", &path, &error))?;
        file.set_modified(time).map_err(|error| failed("date", &path, &error))?;
    }
    Ok(())
}

pub(super) fn sha256(file: &Path) -> Result<String, String> {
    let mut sum = if exists("sha256sum") {
        Command::new("sha256sum")
    } else {
        let mut command = Command::new("shasum");
        command.args(["-a", "256"]);
        command
    };
    let printed = capture(sum.arg(file))?;
    // A leading backslash marks a name with escapes.
    let hash = printed.trim_start_matches('\\').split_whitespace().next().unwrap_or_default();
    if hash.len() == 64 { Ok(hash.to_owned()) } else { Err(format!("no checksum: `{printed}`")) }
}

/// `1.5 MiB`.
pub(super) fn size(file: &Path) -> Result<String, String> {
    let tenths = bytes(file)? * 10 / (1 << 20);
    Ok(format!("{}.{} MiB", tenths / 10, tenths % 10))
}

pub(super) fn bytes(file: &Path) -> Result<u64, String> {
    file.metadata().map(|data| data.len()).map_err(|error| failed("look at", file, &error))
}

#[cfg(unix)]
pub(super) fn set_executable(file: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(file, mode).map_err(|error| failed("make executable", file, &error))
}

/// A symbolic link at `link` with the content `to`.
#[cfg(unix)]
pub(super) fn link(to: &str, link: &Path) -> Result<(), String> {
    std::os::unix::fs::symlink(to, link).map_err(|error| failed("link", link, &error))
}

#[cfg(not(unix))]
pub(super) fn set_executable(_: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn link(_: &str, _: &Path) -> Result<(), String> {
    Err("packages for Linux are made on Linux".into())
}

fn create_parent(file: &Path) -> Result<(), String> {
    let parent = file.parent().unwrap_or(file);
    fs::create_dir_all(parent).map_err(|error| failed("create", parent, &error))
}

fn failed(verb: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {verb} {}: {error}", path.display())
}
