//! Records all connections of a command, for `mcp record -- COMMAND`.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use mcp_bridge::{
    ServerConfig,
    connect::{Connector, Login, ServerRoute},
};
use mcp_safe::fs::replace;
use mcp_transport::{ConnectError, record::Recorder};

use super::{config::Config, redact, secrets::StoredSecrets};
use crate::terminal::out::Out;

/// The environment variable with the file to record to.
pub(crate) const VARIABLE: &str = "MCP_RECORD";

/// One recorder for each server.
#[derive(Debug)]
pub(crate) struct Recordings {
    path: PathBuf,
    recorders: Mutex<BTreeMap<String, (ServerConfig, Arc<Recorder>)>>,
}

impl Recordings {
    /// Returns recorders if the environment variable is set.
    pub(crate) fn from_environment() -> Option<Arc<Self>> {
        let path = env::var_os(VARIABLE).filter(|path| !path.is_empty())?;
        Some(Arc::new(Self { path: path.into(), recorders: Mutex::default() }))
    }

    /// Wraps a connector to record its connections.
    pub(crate) fn around(self: &Arc<Self>, inner: Arc<dyn Connector>) -> Arc<dyn Connector> {
        Arc::new(RecordingConnector { inner, recordings: self.clone() })
    }

    /// Writes the recordings: to the file, or with several servers to one file each, named after the server.
    pub(crate) fn write(&self, config: &Config, secrets: &StoredSecrets, out: Out) {
        let recorders = self.recorders.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, (server, recorder)) in &*recorders {
            let text = recorder.cassette().to_string();
            let kept = match redact::recording(config, secrets, server, &text) {
                Ok(kept) => kept,
                Err(problem) => {
                    out.instruct(format!("{name}: {}", problem.message));
                    continue;
                }
            };
            let mut path = self.path.clone();
            if recorders.len() > 1 {
                path.as_mut_os_string().push(format!(".{name}"));
            }
            match write(&path, kept.as_bytes()) {
                Ok(()) => out.remark(summary(&kept, &path)),
                Err(error) => {
                    out.instruct(format!("could not write {}: {error}", path.display()));
                }
            }
        }
        if recorders.is_empty() {
            out.remark("nothing was recorded: no server was connected");
        }
    }
}

/// Reports the number of messages and the file.
pub(crate) fn summary(kept: &str, path: &Path) -> String {
    let count = kept.lines().count();
    format!("{count} messages in {}; review it before you share it", path.display())
}

/// Replaces `path` with a new private file. A symbolic link is rejected, because it may point to a file that should
/// not be overwritten; a pipe or a device is written to.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => Err(io::Error::other("the file is a symbolic link")),
        Ok(about) if !about.is_file() => {
            fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
        }
        _ => replace(path, bytes),
    }
}

struct RecordingConnector {
    inner: Arc<dyn Connector>,
    recordings: Arc<Recordings>,
}

impl Connector for RecordingConnector {
    fn open(&self, config: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        let mut way = self.inner.open(config)?;
        let mut recorders =
            self.recordings.recorders.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || (config.clone(), Arc::new(Recorder::new(way.connect.clone())));
        let (_, recorder) = recorders.entry(config.name.to_string()).or_insert_with(fresh);
        way.connect = recorder.clone();
        Ok(way)
    }

    fn login(&self, config: &ServerConfig) -> Option<Arc<dyn Login>> {
        self.inner.login(config)
    }

    fn is_refused(&self, config: &ServerConfig) -> bool {
        self.inner.is_refused(config)
    }
}
