//! Finding a program the way a shell would, and saying where we looked.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::error::ConnectError;

/// The file that `program` means: itself, if it is a path, or the first match in `path`.
///
/// A file that is there and may not be run is returned all the same, when there is no better one:
/// the system then says so, which helps more than "not found" about a file one can see.
pub(super) fn find(
    program: &OsStr,
    cwd: Option<&Path>,
    path: Option<&OsStr>,
) -> Result<PathBuf, ConnectError> {
    let as_path = Path::new(program);
    let (files, searched): (Vec<PathBuf>, Vec<PathBuf>) =
        if as_path.components().count() > 1 || as_path.is_absolute() {
            // Relative to where the server will run, which is what whoever wrote the config meant.
            let file = cwd.map_or_else(|| as_path.to_path_buf(), |cwd| cwd.join(as_path));
            let parent = file.parent().unwrap_or(Path::new("")).to_path_buf();
            (candidates(&file).collect(), vec![parent])
        } else {
            let directories: Vec<PathBuf> = path.map(directories).unwrap_or_default();
            let files = directories
                .iter()
                .flat_map(|directory| candidates(&directory.join(as_path)).collect::<Vec<_>>());
            (files.collect(), directories)
        };
    let found = files.iter().find(|file| is_program(file));
    let found = found.or_else(|| files.iter().find(|file| file.exists()));
    match found.map(std::path::absolute) {
        // Absolute, because the process starts in `cwd` and would look for it from there.
        Some(Ok(file)) => Ok(file),
        Some(Err(source)) => Err(ConnectError::Spawn { program: as_path.into(), source }),
        None => Err(ConnectError::ProgramNotFound {
            program: program.to_string_lossy().into_owned(),
            searched,
        }),
    }
}

/// A shell takes an empty entry for the current directory, which is how people get surprised.
fn directories(path: &OsStr) -> Vec<PathBuf> {
    let mut seen = std::collections::HashSet::new();
    std::env::split_paths(path)
        .filter(|directory| !directory.as_os_str().is_empty() && seen.insert(directory.clone()))
        .collect()
}

#[cfg(unix)]
fn candidates(file: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(file.to_path_buf())
}

/// Windows programs have an ending that nobody writes: `npx` is `npx.cmd`.
#[cfg(not(unix))]
fn candidates(file: &Path) -> impl Iterator<Item = PathBuf> {
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

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}
