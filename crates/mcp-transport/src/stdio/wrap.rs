//! Replaces the command of a server before each start.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::error::ConnectError;

/// The command of a server that is about to start: its program was found, and its environment is complete.
#[non_exhaustive]
pub struct ServerCommand<'a> {
    /// The absolute path of the program.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [OsString],
    /// Its whole environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Its working directory. `None`: that of the host.
    pub cwd: Option<&'a Path>,
}

/// Omits arguments and values of variables, which may contain secrets.
impl fmt::Debug for ServerCommand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("args", &format_args!("{} of them", self.args.len()))
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// Returns the program and the arguments to start instead of a server's command: a launcher that starts the server in
/// a sandbox or a container. Called before each start, on the task that connects. An error prevents the start.
pub type WrapCommand =
    Arc<dyn Fn(&ServerCommand<'_>) -> Result<(PathBuf, Vec<OsString>), ConnectError> + Send + Sync>;
