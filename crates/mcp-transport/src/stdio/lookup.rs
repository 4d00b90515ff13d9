//! Finding a program the way a shell would, and saying where we looked.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::error::ConnectError;

/// The file that `program` means: itself, if it is a path, or the first match in `path`.
pub(super) fn find(
    program: &OsStr,
    cwd: Option<&Path>,
    path: Option<&OsStr>,
) -> Result<PathBuf, ConnectError> {
    let as_path = Path::new(program);
    let not_found = |searched| ConnectError::ProgramNotFound {
        program: program.to_string_lossy().into_owned(),
        searched,
    };
    if as_path.components().count() > 1 || as_path.is_absolute() {
        // Relative to where the server will run, which is what whoever wrote the config meant.
        let file = cwd.map_or_else(|| as_path.to_path_buf(), |cwd| cwd.join(as_path));
        let parent = file.parent().unwrap_or(Path::new("")).to_path_buf();
        return candidates(&file)
            .find(|file| is_program(file))
            .ok_or_else(|| not_found(vec![parent]));
    }
    let directories: Vec<PathBuf> = path
        .map(|path| std::env::split_paths(path).filter(|dir| !dir.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    directories
        .iter()
        .flat_map(|directory| candidates(&directory.join(as_path)).collect::<Vec<_>>())
        .find(|file| is_program(file))
        // The process starts in `cwd`; a relative entry of PATH means the host's directory.
        .and_then(|file| std::path::absolute(file).ok())
        .ok_or_else(|| not_found(directories))
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
