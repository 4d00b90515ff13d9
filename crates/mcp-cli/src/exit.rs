//! How the command ends, for people and for scripts.

use std::{fmt, io, process::ExitCode};

use mcp_bridge::{ErrorClass, FailureKind};

/// What the process says when it is over. The numbers are part of the interface: see the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It worked.
    Done = 0,
    /// What was asked for ran and failed: a tool's own error, a check that did not pass.
    Failed = 1,
    /// The command line, or the arguments of a tool, are wrong.
    Usage = 2,
    /// A configuration file can't be read or changed.
    Config = 3,
    /// No such server, tool, prompt or resource.
    NotFound = 4,
    /// A server could not be reached, or took too long.
    Unavailable = 5,
    /// A server wants a login first.
    NeedsLogin = 6,
    /// A rule, or whoever was asked, said no; or nobody could be asked.
    Denied = 7,
    /// Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// Its name in JSON.
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

    /// How a call that failed ends the command.
    pub(crate) fn of_failure(kind: FailureKind) -> Self {
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

    /// How an error of this class ends the command.
    pub(crate) fn of_class(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Auth => Self::NeedsLogin,
            _ => Self::Unavailable,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what it was asked to, and what to do next.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Nobody reads our output any more, so there is nobody to tell.
    pub(crate) is_silent: bool,
}

/// What a command comes to.
pub(crate) type Done = Result<Exit, Problem>;

impl Problem {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, is_silent: false }
    }

    /// With a next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "interrupted")
    }

    /// An error with everything behind it.
    pub(crate) fn chain(exit: Exit, error: &dyn std::error::Error) -> Self {
        Self::new(exit, chain(error))
    }
}

/// An error and its causes, in one line.
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

/// Writing to stdout failed.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        let mut problem = Self::new(Exit::Failed, format!("could not write the output: {error}"));
        if error.kind() == io::ErrorKind::BrokenPipe {
            // `mcp tools | head` got all it wanted.
            problem.exit = Exit::Done;
            problem.is_silent = true;
        }
        problem
    }
}

impl From<mcp_config::FileError> for Problem {
    fn from(error: mcp_config::FileError) -> Self {
        let is_missing =
            matches!(&error, mcp_config::FileError::Edit(_, mcp_config::EditError::NotFound(_)));
        Self::chain(if is_missing { Exit::NotFound } else { Exit::Config }, &error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
