//! Exit codes and errors of commands.

use std::{fmt, io, process::ExitCode};

use mcp_auth::LoginError;
use mcp_bridge::{FailureKind, ToolOutcome, error::OfferError, tool::ErrorClass};
use mcp_client::{CallError, rpc::Failure};
use mcp_config::{edit::EditError, files::FileError};

/// The exit code of the process. The numbers are part of the interface: see the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Done = 0,
    /// The requested operation ran and failed: a tool returned an error, or a check did not pass.
    Failed = 1,
    /// The command line or the arguments of a tool are invalid.
    Usage = 2,
    /// A configuration file cannot be read or changed.
    Config = 3,
    /// A server, tool, prompt or resource was not found.
    NotFound = 4,
    /// A server could not be reached, or timed out.
    Unavailable = 5,
    /// A server requires a login.
    NeedsLogin = 6,
    /// A rule or the user denied the operation, or the user could not be asked.
    Denied = 7,
    /// Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// Returns the exit with this code, if there is one.
    pub(crate) fn from_code(code: i32) -> Option<Self> {
        let all = [
            Self::Done,
            Self::Failed,
            Self::Usage,
            Self::Config,
            Self::NotFound,
            Self::Unavailable,
            Self::NeedsLogin,
            Self::Denied,
            Self::Interrupted,
        ];
        all.into_iter().find(|exit| *exit as i32 == code)
    }

    /// Returns the name used in JSON output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Config => "config",
            Self::NotFound => "not-found",
            Self::Unavailable => "unavailable",
            Self::NeedsLogin => "needs-login",
            Self::Denied => "denied",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The error of a command, with a hint about the next step.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether to print nothing, because the reader of our output has closed it.
    pub(crate) is_silent: bool,
}

/// The result of a command.
pub(crate) type Done = Result<Exit, Problem>;

impl Problem {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, is_silent: false }
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An invalid command line, or invalid arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// The process could not acquire a resource it needs to start.
    pub(crate) fn not_started(error: &io::Error) -> Self {
        Self::new(Exit::Failed, format!("could not start: {error}"))
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    /// An error with its causes.
    pub(crate) fn chain(exit: Exit, error: &dyn std::error::Error) -> Self {
        Self::new(exit, chain(error))
    }
}

/// Formats an error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

/// A failure to write to stdout.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        let mut problem = Self::new(Exit::Failed, format!("could not write the output: {error}"));
        if error.kind() == io::ErrorKind::BrokenPipe {
            // `mcp tools | head` has read enough.
            problem.exit = Exit::Done;
            problem.is_silent = true;
        }
        problem
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

// Conversions from errors and outcomes of the libraries to exit codes.

impl From<FailureKind> for Exit {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Unavailable | FailureKind::TimedOut => Self::Unavailable,
            FailureKind::Auth => Self::NeedsLogin,
            FailureKind::InvalidArguments => Self::Usage,
            FailureKind::Denied | FailureKind::Queued => Self::Denied,
            FailureKind::NotFound => Self::NotFound,
            FailureKind::Cancelled => Self::Interrupted,
            _ => Self::Failed,
        }
    }
}

impl From<&ToolOutcome> for Exit {
    fn from(outcome: &ToolOutcome) -> Self {
        match outcome.failure_kind() {
            Some(kind) => kind.into(),
            None if outcome.is_error => Self::Failed,
            None => Self::Done,
        }
    }
}

impl From<ErrorClass> for Exit {
    fn from(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Auth => Self::NeedsLogin,
            _ => Self::Unavailable,
        }
    }
}

impl From<&CallError> for Exit {
    fn from(error: &CallError) -> Self {
        match error {
            CallError::Failed { failure: Failure::Rejected(_), .. } => Self::Failed,
            CallError::Declined(_) => Self::Denied,
            other => other.class().into(),
        }
    }
}

impl From<&OfferError> for Exit {
    fn from(error: &OfferError) -> Self {
        match error {
            OfferError::Call(error) => error.into(),
            _ => Self::NotFound,
        }
    }
}

impl From<&LoginError> for Exit {
    fn from(error: &LoginError) -> Self {
        match error {
            LoginError::BadSetting { .. } => Self::Config,
            _ => Self::NeedsLogin,
        }
    }
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        let is_missing = matches!(&error, FileError::Edit(_, EditError::NotFound(_)));
        Self::chain(if is_missing { Exit::NotFound } else { Exit::Config }, &error)
    }
}
