//! Runs a program to its end and captures its output, with the environment and process group of a server.

use std::{fmt, io, process::Stdio, time::Duration};

use tokio::{io::AsyncReadExt as _, process::Child, time::timeout};

use super::{child, options::StdioOptions, spawn::spawn};
use crate::{diagnostics::Exit, error::ConnectError};

/// The limits of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "time and space")]
pub struct RunLimits {
    /// How long it may take.
    pub time: Duration,
    /// How many bytes it may print.
    pub output: usize,
}

/// Runs the program of `options` and appends its standard output to `output`. Its standard input is empty and its
/// standard error is discarded.
///
/// # Errors
/// It could not be started, took too long or printed too much. Its whole process group is ended then.
///
/// # Cancel safety
/// Dropping the future ends the process group.
pub async fn run_program(
    options: &StdioOptions,
    limits: RunLimits,
    output: &mut Vec<u8>,
) -> Result<Exit, RunError> {
    let (mut child, group) = spawn(options, |command| {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    })
    .map_err(RunError::Start)?;
    let ended = timeout(limits.time, read_to_the_end(&mut child, limits.output, output)).await;
    // Ends remaining processes of the group, and the program if it is still running.
    drop(group);
    ended.unwrap_or(Err(RunError::TimedOut(limits.time)))
}

async fn read_to_the_end(
    child: &mut Child,
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<Exit, RunError> {
    let before = output.len();
    if let Some(stdout) = child.stdout.take() {
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        stdout.take(most).read_to_end(output).await.map_err(RunError::Io)?;
    }
    if output.len() - before > limit {
        return Err(RunError::TooMuch(limit));
    }
    child.wait().await.map(child::exit).map_err(RunError::Io)
}

/// Why a program did not run to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// It could not be started.
    Start(ConnectError),
    /// It exceeded this time limit.
    TimedOut(Duration),
    /// It printed more than this many bytes.
    TooMuch(usize),
    /// Its output or its status could not be read.
    Io(io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::TimedOut(limit) => write!(f, "it took longer than {} s", limit.as_secs_f32()),
            Self::TooMuch(limit) => write!(f, "it printed more than {limit} bytes"),
            Self::Io(_) => f.write_str("its output could not be read"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(error) => error.source(),
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
