//! The life of one server as plain state: facts and the time go in, things to do come out.

use std::time::{Duration, Instant};

use mcp_client::ErrorClass;

use crate::{
    backoff::Backoff,
    status::{Detail, ServerState},
};

/// What a server's life depends on.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) backoff: Backoff,
    /// Nobody used it for so long: it is stopped, and started again by the next call.
    pub(crate) idle_stop: Option<Duration>,
    /// Nothing was heard for so long: it is asked whether it is alive.
    pub(crate) ping_every: Option<Duration>,
    /// Changes of a list within so long are one.
    pub(crate) debounce: Duration,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// Somebody needs the server.
    Wanted,
    /// Somebody asks for a fresh connection, now.
    Reconnect,
    Enable,
    Disable,
    /// A call was refused for want of a login, or of a wider one. Others may work.
    LoginRefused,
    /// The user has logged in.
    LoggedIn,
    /// The user has logged out.
    LoggedOut,
    /// A connection is open and its tools are known.
    Opened,
    /// No connection came about.
    OpenFailed {
        class: ErrorClass,
        retry_after: Option<Duration>,
    },
    /// An open connection ended by itself.
    Closed {
        class: ErrorClass,
    },
    /// The server forgot us on the connection of this number. Calls may learn of it late.
    SessionLost {
        connection: u64,
    },
    /// A list of it changed.
    ListChanged,
    /// A call got no answer in time, which may be the tool's fault or the server's.
    Doubted,
    /// It answered a ping, or did not.
    Pinged {
        alive: bool,
    },
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Open a connection. Ends in `Opened` or `OpenFailed`.
    Open,
    /// End the connection, or the attempt, and forget everything learnt from it.
    Close,
    /// Fetch the lists again.
    Refresh,
    /// Ask whether it is alive. Ends in `Pinged`.
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

/// One server's life.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    rules: Rules,
    phase: Phase,
    /// Failures in a row.
    failures: u32,
    busy: usize,
    class: Option<ErrorClass>,
    /// How many connections there have been.
    connection: u64,
    /// It works, but not for everything.
    wants_login: bool,
    random: u64,
}

impl Lifecycle {
    pub(crate) fn new(rules: Rules, enabled: bool, random: u64) -> Self {
        let phase = if enabled { Phase::Idle } else { Phase::Disabled };
        let (failures, busy, connection) = (0, 0, 0);
        Self { rules, phase, failures, busy, class: None, connection, wants_login: false, random }
    }

    /// The server is known to need a login, from last time.
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
            Fact::Wanted if self.phase == Phase::Idle => Some(self.open()),
            Fact::Wanted => {
                self.observe(self.busy, now);
                None
            }
            Fact::Reconnect | Fact::LoggedIn => {
                self.failures = 0;
                let close = self.leave(Phase::Opening);
                // The driver ends what there is and then opens: one action says both.
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
                self.phase = Phase::Open { used: now, heard: now, refresh: None, pinging: false };
                None
            }
            Fact::OpenFailed { class, retry_after } => self.failed(class, retry_after, now),
            Fact::Closed { class } if self.is_open() => self.failed(class, None, now),
            Fact::SessionLost { connection } if self.is_open() && connection == self.connection => {
                // Not the server's fault and not ours: it just does not know us any more.
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
                    // The first one sets the time: a server that never stops must not put it off.
                    refresh.get_or_insert(quiet);
                }
                None
            }
            // A server that hangs altogether must not cost every later call its time limit.
            Fact::Doubted => match &mut self.phase {
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

    /// What calls have been up to: how many are in flight, and when one last began or ended.
    pub(crate) fn observe(&mut self, busy: usize, at: Instant) {
        self.busy = busy;
        if let Phase::Open { used, heard, .. } = &mut self.phase {
            *used = at.max(*used);
            *heard = at.max(*heard);
        }
    }

    /// What is due by now.
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
                    // Nobody tells of the end of a call: it is looked for again.
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

    /// When to look again.
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

    /// What a host is shown.
    pub(crate) fn shown(&self) -> (ServerState, Detail) {
        let gave_up = self.failures >= self.rules.backoff.shown_failed;
        match self.phase {
            Phase::Disabled => (ServerState::Disabled, Detail::Quiet),
            Phase::Idle => (ServerState::Pending, Detail::Idle),
            Phase::Opening if gave_up => {
                (ServerState::Failed, Detail::Connecting { attempt: self.failures + 1 })
            }
            Phase::Opening => {
                (ServerState::Pending, Detail::Connecting { attempt: self.failures + 1 })
            }
            Phase::Waiting { until } => {
                let state = if gave_up { ServerState::Failed } else { ServerState::Pending };
                (state, Detail::Waiting { failures: self.failures, next_try: until })
            }
            Phase::Open { .. } => (ServerState::Connected, Detail::Quiet),
            Phase::NeedsAuth => (ServerState::NeedsAuth, Detail::Quiet),
            Phase::Failed => (ServerState::Failed, Detail::Final),
        }
    }

    /// The number of the connection that is open, or was last.
    pub(crate) fn connection(&self) -> u64 {
        self.connection
    }

    /// What the last failure called for.
    pub(crate) fn class(&self) -> Option<ErrorClass> {
        self.class
    }

    /// Whether a login would help although it is connected.
    pub(crate) fn wants_login(&self) -> bool {
        self.wants_login && self.is_open()
    }

    fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    fn open(&mut self) -> Action {
        self.phase = Phase::Opening;
        Action::Open
    }

    /// Goes on to `next`; whatever is open or opening ends.
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
                // A small generator of its own: the state machine asks nobody for randomness.
                self.random = self
                    .random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let delay = self.rules.backoff.jittered(self.failures, self.random >> 40);
                match (delay, retry_after) {
                    (None, _) => Phase::Failed,
                    (Some(delay), at_least) => {
                        // A server may ask for a day; nobody waits longer than an hour to look again.
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

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "lifecycle_model.rs"]
mod model;
