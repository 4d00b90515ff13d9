//! Errors for unknown servers, unknown commands and duplicate tool names.

use std::{error::Error, fmt};

use mcp_client::CallError;

/// Why a prompt, a resource or a completion could not be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum OfferError {
    /// The bridge has no server of this name.
    UnknownServer(String),
    /// No server offers this command.
    UnknownCommand {
        /// The command.
        name: String,
        /// Similar commands, the nearest first.
        nearest: Vec<String>,
    },
    /// The call to the server failed; [`CallError::Declined`] if a rule or the user denied it.
    Call(CallError),
}

impl fmt::Display for OfferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownServer(name) => write!(f, "unknown server: {name}"),
            Self::UnknownCommand { name, nearest } => {
                write!(f, "unknown command: {name}")?;
                match nearest.as_slice() {
                    [] => Ok(()),
                    some => write!(f, "; did you mean {}?", some.join(" or ")),
                }
            }
            Self::Call(error) => error.fmt(f),
        }
    }
}

impl Error for OfferError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // `Display` already prints the call error itself.
            Self::Call(error) => error.source(),
            _ => None,
        }
    }
}

impl From<CallError> for OfferError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// The bridge has no server of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownServer {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown server: {}", self.name)
    }
}

impl Error for UnknownServer {}

/// Another tool has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameTaken {
    /// The name.
    pub name: String,
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tool name `{}` is already in use", self.name)
    }
}

impl Error for NameTaken {}
