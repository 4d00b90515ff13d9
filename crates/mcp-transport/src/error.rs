//! What can go wrong with a link, and whose move it is.

use std::{fmt, io, path::PathBuf, time::Duration};

use mcp_jsonrpc::{ErrorClass, Loss, Trouble};

/// Why a link could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is no such program.
    ProgramNotFound {
        /// As it was given.
        program: String,
        /// Where we looked, in order.
        searched: Vec<PathBuf>,
    },
    /// The directory to start the program in is not there.
    NoSuchDirectory(PathBuf),
    /// The program is there and could not be started.
    Spawn {
        /// The file.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The way the server is described makes no sense; the text says what is wrong with it.
    InvalidOptions(String),
    /// Nobody answers there, or not in time.
    Unreachable {
        /// What kind of trouble it was.
        trouble: Trouble,
        /// What happened, for people.
        reason: String,
    },
    /// What answers there refuses, or is no MCP server.
    Refused(Box<Loss>),
    /// The in-process server is gone, or the test double refuses.
    Unavailable(String),
}

impl ConnectError {
    /// What this calls for.
    pub fn class(&self) -> ErrorClass {
        match self {
            ConnectError::Unavailable(_) | ConnectError::Unreachable { .. } => {
                ErrorClass::Transient
            }
            ConnectError::Refused(loss) => loss.class,
            // Out of processes, memory or descriptors, or a program being replaced right now.
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

    /// What kind of trouble it was.
    pub fn trouble(&self) -> Trouble {
        match self {
            ConnectError::Unreachable { trouble, .. } => *trouble,
            ConnectError::Refused(loss) => loss.trouble,
            ConnectError::Unavailable(_) => Trouble::Other,
            ConnectError::ProgramNotFound { .. }
            | ConnectError::NoSuchDirectory(_)
            | ConnectError::Spawn { .. }
            | ConnectError::InvalidOptions(_) => Trouble::Local,
        }
    }

    /// When the server wants to be asked again, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ConnectError::Refused(loss) => loss.retry_after,
            _ => None,
        }
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

/// Why a message was not taken for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// The link is closed or closing.
    Closed,
    /// The server does not read, and this much is waiting for it already.
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
