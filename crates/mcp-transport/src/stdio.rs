//! Servers that are child processes: one message per line on standard input and output.

mod child;
mod descendants;
mod environment;
mod harden;
mod lifeline;
mod link;
mod options;
mod process_group;
mod program;
mod run;
mod session;
mod signal;
mod spawn;
mod stderr;
mod wrap;

use std::{io, path::PathBuf, sync::Arc};

use self::{
    child::ChildHandle,
    spawn::{spawn, with_pipes},
    stderr::StderrTail,
};
pub use self::{
    environment::Environment,
    harden::{HardenError, harden_host},
    options::{ShutdownTimes, StdioOptions},
    run::{RunError, RunLimits, run_program},
    stderr::OnStderr,
    wrap::{ServerCommand, WrapCommand},
};
use crate::{
    error::ConnectError,
    link::{Connect, Link, Locality},
};
use futures_core::future::BoxFuture;
use mcp_safe::secrets::Redactor;

/// Connects by starting a program. Each connection starts a new process.
///
/// The process leads a new session without the host's terminal, and a process group that does not outlive the link:
/// not when it is closed, not when it is dropped, and (with the lifeline) not when the host is killed. On Linux,
/// descendants that leave the group are ended too.
#[derive(Clone, Debug)]
pub struct Stdio {
    options: StdioOptions,
}

impl Stdio {
    /// A server that is started with `options`.
    pub fn new(options: StdioOptions) -> Self {
        Self { options }
    }

    fn open(&self) -> Result<Link, ConnectError> {
        let (mut child, group) = spawn(&self.options, with_pipes)?;
        let missing = |what: &str| ConnectError::Spawn {
            program: PathBuf::from(&self.options.program),
            source: io::Error::other(format!("no {what} pipe")),
        };
        let stdin = child.stdin.take().ok_or_else(|| missing("stdin"))?;
        let stdout = child.stdout.take().ok_or_else(|| missing("stdout"))?;
        let stderr = child.stderr.take().ok_or_else(|| missing("stderr"))?;
        let env = self.options.env.iter();
        let secrets = Redactor::of_settings(
            env.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?))),
        );
        let tail = Arc::new(StderrTail::new(self.options.on_stderr.clone(), secrets));
        let child = ChildHandle::start(child, group, stderr, tail.clone(), self.options.shutdown);
        Ok(link::link(stdin, stdout, child, tail, &self.options))
    }
}

impl Connect for Stdio {
    /// # Panics
    /// When polled outside a tokio runtime that has its I/O and time drivers.
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async { self.open() })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}
