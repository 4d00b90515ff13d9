//! Errors of links, with the class that says how to react.

use std::{fmt, io, path::PathBuf, time::Duration};

use mcp_jsonrpc::{ErrorClass, FailureCause, Loss};

/// Why a link could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The program was not found.
    ProgramNotFound {
        /// The program as configured.
        program: String,
        /// The folders that were searched, in order.
        searched: Vec<PathBuf>,
    },
    /// The working directory for the program does not exist.
    NoSuchDirectory(PathBuf),
    /// The program exists but could not be started.
    Spawn {
        /// The program's file.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The options are invalid; the text describes the problem.
    InvalidOptions(String),
    /// The server could not be reached, or did not respond in time.
    Unreachable {
        /// The kind of failure.
        cause: FailureCause,
        /// A description for users.
        reason: String,
    },
    /// The server refused the connection, or does not implement MCP.
    Refused(Box<Loss>),
    /// The in-process server has ended, or the test double refuses to connect.
    Unavailable(String),
}

impl ConnectError {
    /// Returns the class, which says how to react.
    pub fn class(&self) -> ErrorClass {
        match self {
            ConnectError::Unavailable(_) | ConnectError::Unreachable { .. } => {
                ErrorClass::Transient
            }
            ConnectError::Refused(loss) => loss.class,
            // The system lacks processes, memory or descriptors, or the program is being replaced right now.
            ConnectError::Spawn { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::OutOfMemory
                        | io::ErrorKind::ExecutableFileBusy
                        | io::ErrorKind::Interrupted
                ) =>
            {
                ErrorClass::Transient
            }
            _ => ErrorClass::Permanent,
        }
    }

    /// Returns the kind of failure.
    pub fn cause(&self) -> FailureCause {
        match self {
            ConnectError::Unreachable { cause, .. } => *cause,
            ConnectError::Refused(loss) => loss.cause,
            ConnectError::Unavailable(_) => FailureCause::Other,
            ConnectError::ProgramNotFound { .. }
            | ConnectError::NoSuchDirectory(_)
            | ConnectError::Spawn { .. }
            | ConnectError::InvalidOptions(_) => FailureCause::Local,
        }
    }

    /// Returns how long the server asks to wait before the next attempt, if it does.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ConnectError::Refused(loss) => loss.retry_after,
            _ => None,
        }
    }
}

impl From<Loss> for ConnectError {
    fn from(loss: Loss) -> Self {
        Self::Refused(Box::new(loss))
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::ProgramNotFound { program, searched } => {
                write!(f, "program `{program}` not found; looked in ")?;
                if searched.is_empty() {
                    return f.write_str("no directory, because PATH is empty");
                }
                for (i, directory) in searched.iter().enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    write!(f, "{separator}{}", directory.display())?;
                }
                Ok(())
            }
            ConnectError::NoSuchDirectory(path) => {
                write!(f, "working directory `{}` does not exist", path.display())
            }
            ConnectError::Spawn { program, .. } => {
                write!(f, "could not start `{}`", program.display())
            }
            ConnectError::InvalidOptions(problem) => f.write_str(problem),
            ConnectError::Unreachable { reason, .. } | ConnectError::Unavailable(reason) => {
                f.write_str(reason)
            }
            ConnectError::Refused(loss) => f.write_str(&loss.reason),
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ConnectError::Spawn { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why a message was not accepted for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The link is closed or closing.
    Closed,
    /// The queue is full because the server does not read.
    Full {
        /// The limit, in bytes or messages as the transport counts.
        limit: usize,
    },
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Closed => f.write_str("the connection is closed"),
            SendError::Full { limit } => {
                write!(f, "the server does not read: its queue of {limit} is full")
            }
        }
    }
}

impl std::error::Error for SendError {}

/// The header annotations in a tool's schema are invalid, so the tool cannot be called over a link with headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolHeaderError(String);

impl ToolHeaderError {
    /// An error with this description.
    pub fn new(problem: impl Into<String>) -> Self {
        Self(problem.into())
    }
}

impl fmt::Display for ToolHeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ToolHeaderError {}
