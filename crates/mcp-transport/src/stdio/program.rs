//! Finds the file of a command, or fails with the folders searched.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use mcp_safe::fs::find_program;

use crate::error::ConnectError;

/// Returns the absolute path of `program`. It must be absolute, since the process starts in `cwd`.
pub(super) fn find(
    program: &OsStr,
    cwd: Option<&Path>,
    path: Option<&OsStr>,
) -> Result<PathBuf, ConnectError> {
    let found = find_program(program, cwd, path).map_err(|searched| {
        ConnectError::ProgramNotFound { program: program.to_string_lossy().into_owned(), searched }
    })?;
    std::path::absolute(found)
        .map_err(|source| ConnectError::Spawn { program: program.into(), source })
}
