//! The lifecycle of one server as a state machine: facts and the time go in, actions come out.

mod backoff;
#[cfg(test)]
mod model;
mod status;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use mcp_client::diagnostics::ErrorClass;

pub use self::{
    backoff::Backoff,
    status::{ServerState, ServerStatus},
};

/// The settings of a server's lifecycle.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) backoff: Backoff,
    /// Stop the server after this long without use. The next call starts it again.
    pub(crate) idle_stop: Option<Duration>,
    /// Ping the server after this long without a message.
    pub(crate) ping_every: Option<Duration>,
    /// List changes within this period are handled as one.
    pub(crate) debounce: Duration,
}

/// An input of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The server is needed.
    Wanted,
    /// A connection was requested explicitly, regardless of earlier failures.
    Connect,
    /// A fresh connection was requested explicitly.
    Reconnect,
    Enable,
    Disable,
    /// A call was refused because a login, or a wider scope, is missing. Other calls may work.
    LoginRefused,
    /// The user has logged in.
    LoggedIn,
    /// The user has logged out.
    LoggedOut,
    /// A connection is open and its tools are known.
    Opened,
    /// A connection could not be opened.
    OpenFailed {
        class: ErrorClass,
        retry_after: Option<Duration>,
    },
    /// An open connection ended without a request from this side.
    Closed {
        class: ErrorClass,
    },
    /// The server lost the session of this connection. Calls may report this late.
    SessionLost {
        connection: u64,
    },
    /// A list of the server changed.
    ListChanged,
    /// A tool was requested that is not in the server's list.
    ListDoubted,
    /// A call timed out, because of either the tool or the server.
    CallTimedOut,
    /// The result of a ping.
    Pinged {
        alive: bool,
    },
}

/// An output of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Open a connection. Ends in `Opened` or `OpenFailed`.
    Open,
    /// Close the connection or abandon the attempt, and discard the state learnt from it.
    Close,
    /// Fetch the lists again.
    Refresh,
    /// Ping the server. Ends in `Pinged`.
    Ping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Disabled,
    Idle,
    Opening,
    Waiting { until: Instant },
    Open { used: Instant, heard: Instant, refresh: Option<Instant>, pinging: bool },
    NeedsAuth,
    Failed,
}

/// The state machine of one server.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    rules: Rules,
    phase: Phase,
    /// Consecutive failures.
    failures: u32,
    busy: usize,
    class: Option<ErrorClass>,
    /// The number of connections so far.
    connection: u64,
    /// The server is connected, but some calls need a login.
    wants_login: bool,
    /// Connected, or connected on request, since it was last idle: calls do not wait for it.
    again: bool,
    /// When a lost session was last replaced without a delay.
    replaced: Option<Instant>,
    random: u64,
}

impl Lifecycle {
    pub(crate) fn new(rules: Rules, enabled: bool, random: u64) -> Self {
        let phase = if enabled { Phase::Idle } else { Phase::Disabled };
        let (failures, busy, connection) = (0, 0, 0);
        let (class, wants_login, again, replaced) = (None, false, false, None);
        Self {
            rules,
            phase,
            failures,
            busy,
            class,
            connection,
            wants_login,
            again,
            replaced,
            random,
        }
    }

    /// Starts in `NeedsAuth`, because an earlier process found that the server needs a login.
    pub(crate) fn assume_needs_auth(&mut self) {
        if self.phase == Phase::Idle {
            self.phase = Phase::NeedsAuth;
            self.class = Some(ErrorClass::Auth);
        }
    }

    pub(crate) fn on(&mut self, fact: Fact, now: Instant) -> Option<Action> {
        match fact {
            Fact::Enable if self.phase == Phase::Disabled => {
                self.phase = Phase::Idle;
                self.failures = 0;
                self.class = None;
                None
            }
            Fact::Disable => self.leave(Phase::Disabled),
            _ if self.phase == Phase::Disabled => None,
            Fact::Wanted | Fact::Connect if self.phase == Phase::Idle => {
                self.again = false;
                Some(self.open())
            }
            Fact::Connect if matches!(self.phase, Phase::Waiting { .. } | Phase::Failed) => {
                (self.again, self.failures) = (true, 0);
                Some(self.open())
            }
            Fact::Wanted | Fact::Connect => {
                self.observe(self.busy, now);
                None
            }
            Fact::Reconnect | Fact::LoggedIn => {
                // Calls wait only for a server at rest, and for one that waited for this login.
                self.again = match self.phase {
                    Phase::Idle => false,
                    Phase::NeedsAuth => fact == Fact::Reconnect,
                    Phase::Opening => self.again || fact == Fact::Reconnect,
                    _ => true,
                };
                self.failures = 0;
                let close = self.leave(Phase::Opening);
                // The driver closes the current connection and then opens a new one: `Close` implies both.
                close.or(Some(Action::Open))
            }
            Fact::LoginRefused => {
                self.wants_login = self.is_open();
                None
            }
            Fact::LoggedOut => {
                self.class = Some(ErrorClass::Auth);
                self.leave(Phase::NeedsAuth)
            }
            Fact::Opened => {
                self.connection += 1;
                self.failures = 0;
                self.wants_login = false;
                self.class = None;
                self.again = true;
                self.phase = Phase::Open { used: now, heard: now, refresh: None, pinging: false };
                None
            }
            Fact::OpenFailed { class, retry_after } => self.failed(class, retry_after, now),
            // The link noticed a lost session before any call did.
            Fact::Closed { class: ErrorClass::Session }
                if self.is_open() && self.may_replace(now) =>
            {
                self.replaced = Some(now);
                Some(self.open())
            }
            Fact::Closed { class } if self.is_open() => self.failed(class, None, now),
            Fact::SessionLost { connection } if self.is_open() && connection == self.connection => {
                // A lost session is not a failure; the client only has to initialize again.
                // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
                self.phase = Phase::Opening;
                Some(Action::Close)
            }
            Fact::Pinged { alive: false } if self.is_open() => {
                self.failed(ErrorClass::Transient, None, now);
                Some(Action::Close)
            }
            Fact::Pinged { alive: true } => {
                if let Phase::Open { heard, pinging, .. } = &mut self.phase {
                    *heard = now;
                    *pinging = false;
                }
                None
            }
            Fact::ListChanged => {
                let quiet = now + self.rules.debounce;
                if let Phase::Open { refresh, heard, .. } = &mut self.phase {
                    *heard = now;
                    // The first change sets the deadline, so that a stream of changes cannot postpone the refresh
                    // forever.
                    refresh.get_or_insert(quiet);
                }
                None
            }
            Fact::ListDoubted => self.is_open().then_some(Action::Refresh),
            // Without the ping, every later call to a hanging server would wait for its full timeout.
            Fact::CallTimedOut => match &mut self.phase {
                Phase::Open { pinging, .. } if !*pinging => {
                    *pinging = true;
                    Some(Action::Ping)
                }
                _ => None,
            },
            Fact::Enable | Fact::Closed { .. } | Fact::SessionLost { .. } | Fact::Pinged { .. } => {
                None
            }
        }
    }

    /// Records the activity of calls: how many are in flight, and when one last began or ended.
    pub(crate) fn observe(&mut self, busy: usize, at: Instant) {
        self.busy = busy;
        if let Phase::Open { used, heard, .. } = &mut self.phase {
            *used = at.max(*used);
            *heard = at.max(*heard);
        }
    }

    /// Returns the action that is due by now.
    pub(crate) fn tick(&mut self, now: Instant) -> Option<Action> {
        let (idle_stop, ping_every) = (self.rules.idle_stop, self.rules.ping_every);
        match &mut self.phase {
            Phase::Waiting { until } if *until <= now => Some(self.open()),
            Phase::Open { used, heard, refresh, pinging } => {
                if refresh.is_some_and(|due| due <= now) {
                    *refresh = None;
                    return Some(Action::Refresh);
                }
                let since = |then: Instant| now.saturating_duration_since(then);
                if idle_stop.is_some_and(|limit| since(*used) >= limit) {
                    if self.busy == 0 {
                        return self.leave(Phase::Idle);
                    }
                    // The end of a call is not a fact, so check again later.
                    *used = now;
                }
                if !*pinging && ping_every.is_some_and(|every| since(*heard) >= every) {
                    *pinging = true;
                    return Some(Action::Ping);
                }
                None
            }
            _ => None,
        }
    }

    /// When to call [`tick`](Self::tick) again.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Waiting { until } => Some(*until),
            Phase::Open { used, heard, refresh, pinging } => {
                let idle = self.rules.idle_stop.map(|d| *used + d);
                let ping = self.rules.ping_every.filter(|_| !pinging).map(|d| *heard + d);
                [idle, ping, *refresh].into_iter().flatten().min()
            }
            _ => None,
        }
    }

    /// The state as shown to the host.
    pub(crate) fn shown(&self) -> ServerState {
        match self.phase {
            Phase::Disabled => ServerState::Disabled,
            Phase::Idle => ServerState::Idle,
            Phase::Opening => ServerState::Connecting { attempt: self.failures + 1 },
            Phase::Waiting { until } if self.failures >= self.rules.backoff.shown_failed => {
                ServerState::Failed { next_try: Some(until) }
            }
            Phase::Waiting { until } => {
                ServerState::Waiting { failures: self.failures, next_try: until }
            }
            Phase::Open { .. } => ServerState::Connected,
            Phase::NeedsAuth => ServerState::NeedsLogin,
            Phase::Failed => ServerState::Failed { next_try: None },
        }
    }

    /// Whether the server is down, as opposed to starting from idle.
    pub(crate) fn is_down(&self) -> bool {
        let is_at_rest = self.phase == Phase::Idle;
        !self.is_open() && !is_at_rest && (self.again || self.failures > 0)
    }

    /// The number of the current or last connection.
    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// The error class of the last failure.
    pub(crate) fn class(&self) -> Option<ErrorClass> {
        self.class
    }

    /// Whether a login would help although the server is connected.
    pub(crate) fn wants_login(&self) -> bool {
        self.wants_login && self.is_open()
    }

    /// Whether a session that the link lost may be replaced without a delay. A server that ends every session at once is
    /// reconnected on the backoff schedule.
    fn may_replace(&self, now: Instant) -> bool {
        let pause = self.rules.backoff.delay(1).unwrap_or_default();
        self.replaced.is_none_or(|at| now.saturating_duration_since(at) > pause)
    }

    fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    fn open(&mut self) -> Action {
        self.phase = Phase::Opening;
        Action::Open
    }

    /// Changes to `next`, closing an open connection or attempt.
    fn leave(&mut self, next: Phase) -> Option<Action> {
        let had_something = matches!(self.phase, Phase::Open { .. } | Phase::Opening);
        self.phase = next;
        if next != Phase::Opening {
            self.failures = 0;
        }
        had_something.then_some(Action::Close)
    }

    fn failed(
        &mut self,
        class: ErrorClass,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Option<Action> {
        self.class = Some(class);
        self.failures += 1;
        self.phase = match class {
            ErrorClass::Auth => Phase::NeedsAuth,
            ErrorClass::Permanent => Phase::Failed,
            ErrorClass::Transient | ErrorClass::Session => {
                // A built-in generator keeps the state machine deterministic and free of external randomness.
                self.random = self
                    .random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let delay = self.rules.backoff.jittered(self.failures, self.random >> 40);
                match (delay, retry_after) {
                    (None, _) => Phase::Failed,
                    (Some(delay), at_least) => {
                        // A server may request a day; the wait is limited to an hour.
                        let at_least = at_least.unwrap_or_default().min(LONGEST_RETRY_AFTER);
                        Phase::Waiting { until: now + delay.max(at_least) }
                    }
                }
            }
        };
        None
    }
}

const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);
