//! Finds programs like a shell.

use std::{
    collections::HashSet,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Finds the file of `program`: itself, if it is a path, or the first match in `path`, the value of `PATH`. Paths are
/// relative to `cwd`. The error contains the folders that were searched.
///
/// A file that is not executable is returned if no other is found: the error of starting it is more helpful than "not
/// found".
///
/// ```
/// # let place = tempfile::tempdir()?;
/// let folder = place.path();
/// assert_eq!(mcp_safe::fs::find_program("x".as_ref(), None, Some(folder.as_ref())), Err(vec![folder.into()]));
/// # std::io::Result::Ok(())
/// ```
pub fn find_program(
    program: &OsStr,
    cwd: Option<&Path>,
    path: Option<&OsStr>,
) -> Result<PathBuf, Vec<PathBuf>> {
    let as_path = Path::new(program);
    let (files, searched): (Vec<PathBuf>, Vec<PathBuf>) =
        // A name with a separator is not looked up in `PATH`:
        // <https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html#tag_08_03>.
        if as_path.components().count() > 1 || as_path.is_absolute() {
            let file = cwd.map_or_else(|| as_path.to_path_buf(), |cwd| cwd.join(as_path));
            let parent = file.parent().unwrap_or(Path::new("")).to_path_buf();
            (candidates(&file).collect(), vec![parent])
        } else {
            let folders: Vec<PathBuf> = path.map(folders).unwrap_or_default();
            let files = folders.iter().flat_map(|folder| candidates(&folder.join(as_path)));
            (files.collect(), folders)
        };
    let found = files.iter().find(|file| is_program(file));
    let found = found.or_else(|| files.iter().find(|file| file.exists()));
    found.cloned().ok_or(searched)
}

/// The folders of `PATH`, without duplicates. A shell treats an empty one as the current folder; it is skipped here.
fn folders(path: &OsStr) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty() && seen.insert(folder.clone()))
        .collect()
}

#[cfg(unix)]
fn candidates(file: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::iter::once(file.to_path_buf())
}

/// The extensions that Windows adds to program names: `npx` is `npx.cmd`.
#[cfg(not(unix))]
fn candidates(file: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let endings = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".into());
    let with_ending: Vec<PathBuf> = endings
        .split(';')
        .filter(|ending| !ending.is_empty())
        .map(|ending| {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        })
        .collect();
    let as_is = file.extension().is_some().then(|| file.to_path_buf());
    as_is.into_iter().chain(with_ending)
}

/// Whether a file can be executed, by its type and mode.
#[cfg(unix)]
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Whether a file can be executed, by its type and mode.
#[cfg(not(unix))]
pub fn is_program(file: &Path) -> bool {
    file.is_file()
}
