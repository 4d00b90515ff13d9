//! What a host is shown of a server.

use std::{fmt, sync::Arc, time::Instant};

use mcp_client::ErrorClass;

/// The five states of a server. Only [`Connected`](Self::Connected) is known to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the five a host has to show")]
pub enum ServerState {
    /// Its tools can be called.
    Connected,
    /// It could not be reached, or has not been for a while.
    Failed,
    /// The user has to log in.
    NeedsAuth,
    /// Not started yet, starting, or trying again.
    Pending,
    /// Switched off.
    Disabled,
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ServerState::Connected => "connected",
            ServerState::Failed => "failed",
            ServerState::NeedsAuth => "needs-auth",
            ServerState::Pending => "pending",
            ServerState::Disabled => "disabled",
        })
    }
}

/// What lies behind a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Detail {
    /// Nothing more to say.
    Quiet,
    /// Not running, since nobody needs it. The next call starts it.
    Idle,
    /// A connection is being opened.
    Connecting {
        /// Which try this is since it last worked.
        attempt: u32,
    },
    /// The last try failed, and there will be another.
    Waiting {
        /// How many failed in a row.
        failures: u32,
        /// When the next one is.
        next_try: Instant,
    },
    /// No more tries will be made until somebody asks for one.
    Final,
}

/// What is known of a server right now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Its state.
    pub state: ServerState,
    /// What lies behind it.
    pub detail: Detail,
    /// How many tools it offers.
    pub tools: usize,
    /// How many of its tools were set aside, because something is wrong with them.
    pub quarantined: usize,
    /// Which listing of its tools is the current one. 0: none yet.
    pub generation: u64,
    /// What went wrong last, if it is not working. Foreign text may be in it, cleaned.
    pub problem: Option<Arc<str>>,
    /// What that calls for.
    pub class: Option<ErrorClass>,
}

impl fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.state)?;
        match self.detail {
            Detail::Idle => f.write_str(" (idle)")?,
            Detail::Connecting { attempt } => write!(f, " (connecting, try {attempt})")?,
            Detail::Waiting { failures, .. } => write!(f, " (failed {failures} times, waiting)")?,
            Detail::Quiet | Detail::Final => {}
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
