//! The state and status of a server, as shown to the host.

use std::{fmt, sync::Arc, time::Instant};

use mcp_client::diagnostics::ErrorClass;

/// The state of a server.
///
/// ```
/// use mcp_bridge::ServerState;
///
/// assert!(ServerState::Idle.is_callable() && !ServerState::NeedsLogin.is_callable());
/// assert!(!ServerState::Connecting { attempt: 1 }.is_settled());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// Disabled.
    Disabled,
    /// Not running, because no call needs it. The next call starts it.
    Idle,
    /// A connection is being opened.
    Connecting {
        /// The number of this attempt since the last successful connection.
        attempt: u32,
    },
    /// The last attempt failed, and another will follow.
    Waiting {
        /// The number of consecutive failures.
        failures: u32,
        /// The time of the next attempt.
        next_try: Instant,
    },
    /// Its tools can be called.
    Connected,
    /// The user has to log in.
    NeedsLogin,
    /// It could not be reached, at all or [repeatedly](crate::lifecycle::Backoff::shown_failed).
    Failed {
        /// The time of the next attempt; `None`: only on request.
        next_try: Option<Instant>,
    },
}

impl ServerState {
    /// Whether its tools can be called now.
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected)
    }

    /// Whether a call reaches the server: it is connected, or the call starts it.
    pub fn is_callable(&self) -> bool {
        matches!(self, Self::Connected | Self::Idle)
    }

    /// Whether the state is stable until the server is needed, or retried after a failure.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Idle | Self::Connecting { .. })
    }

    /// Whether it is not running because no call needs it.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// Whether it is idle, connecting, or waiting for the next attempt.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Idle | Self::Connecting { .. } | Self::Waiting { .. })
    }

    /// Whether the user has to log in.
    pub fn needs_login(&self) -> bool {
        matches!(self, Self::NeedsLogin)
    }

    /// Whether it failed repeatedly, or is not retried automatically.
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// Whether it is disabled.
    pub fn is_disabled(&self) -> bool {
        matches!(self, Self::Disabled)
    }

    /// The time of the next automatic attempt.
    pub fn next_try(&self) -> Option<Instant> {
        match self {
            Self::Waiting { next_try, .. } => Some(*next_try),
            Self::Failed { next_try } => *next_try,
            _ => None,
        }
    }

    /// The state as one of five words.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Failed { .. } => "failed",
            Self::NeedsLogin => "needs-auth",
            Self::Idle | Self::Connecting { .. } | Self::Waiting { .. } => "pending",
            Self::Disabled => "disabled",
        }
    }
}

/// One of `connected`, `failed`, `needs-auth`, `pending` and `disabled`.
impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The current status of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The name in the configuration.
    pub name: Arc<str>,
    /// The state.
    pub state: ServerState,
    /// The number of tools it offers.
    pub tools: usize,
    /// The number of defective tools that were quarantined.
    pub quarantined: usize,
    /// The generation of the current tool list. 0: not listed yet.
    pub generation: u64,
    /// The last failure, if it is not working. May contain sanitized text of the server.
    pub problem: Option<Arc<str>>,
    /// Whether it is down: a call fails at once, or waits if the bridge queues calls. A server that is starting from
    /// idle is not down.
    pub down: bool,
    /// The error class of the failure.
    pub class: Option<ErrorClass>,
}

impl ServerStatus {
    /// Whether the state is stable until the server is needed, or retried after a failure.
    pub fn is_settled(&self) -> bool {
        self.state.is_settled()
    }
}

impl fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.state)?;
        match self.state {
            ServerState::Idle => f.write_str(" (idle)")?,
            ServerState::Connecting { attempt } => write!(f, " (connecting, try {attempt})")?,
            ServerState::Waiting { failures, .. } => {
                write!(f, " (failed {failures} times, waiting)")?;
            }
            _ => {}
        }
        if self.state == ServerState::Connected {
            write!(f, ", {} tools", self.tools)?;
        }
        match &self.problem {
            Some(problem) if self.state != ServerState::Connected => write!(f, ": {problem}"),
            _ => Ok(()),
        }
    }
}
