//! Exhaustive tests of all event orders up to a length, and random tests of longer ones.
//!
//! [`World`] is a minimal supervisor: it executes the actions of the lifecycle and counts attempts and connections. It
//! offers only steps that are possible in its state: an attempt succeeds or fails, a connection ends, the user makes a
//! request, time passes.

use proptest::prelude::*;

use super::*;

/// Steps that can occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Want,
    Reconnect,
    Enable,
    Disable,
    LogIn,
    /// The attempt in progress succeeds.
    Open,
    /// The attempt fails.
    Fail(ErrorClass),
    /// The attempt fails, and the server requests a delay.
    Busy(u64),
    /// The open connection ends.
    Close(ErrorClass),
    /// A call reports a lost session: on this connection, or on the previous one.
    LoseSession {
        late: bool,
    },
    ChangeList,
    /// The ping in progress is answered, or not.
    Pong(bool),
    /// A call begins or ends.
    Call(bool),
    /// Sleeps until the next deadline.
    Sleep,
}

const STEPS: [Step; 20] = [
    Step::Want,
    Step::Reconnect,
    Step::Enable,
    Step::Disable,
    Step::LogIn,
    Step::Open,
    Step::Fail(ErrorClass::Transient),
    Step::Fail(ErrorClass::Permanent),
    Step::Fail(ErrorClass::Auth),
    Step::Busy(86_400),
    Step::Close(ErrorClass::Transient),
    Step::Close(ErrorClass::Session),
    Step::LoseSession { late: false },
    Step::LoseSession { late: true },
    Step::ChangeList,
    Step::Pong(true),
    Step::Pong(false),
    Step::Call(true),
    Step::Call(false),
    Step::Sleep,
];

/// The phases without their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PhaseKind {
    Disabled,
    Idle,
    Opening,
    Waiting,
    Open,
    NeedsAuth,
    Failed,
}

struct World {
    life: Lifecycle,
    now: Instant,
    attempts: u32,
    connections: u32,
    pinging: bool,
    calls: usize,
    /// The number of the previous connection. Its calls may still report a lost session.
    previous: u64,
}

impl World {
    fn new(rules: Rules) -> Self {
        Self {
            life: Lifecycle::new(rules, true, 3),
            now: Instant::now(),
            attempts: 0,
            connections: 0,
            pinging: false,
            calls: 0,
            previous: 0,
        }
    }

    fn phase_kind(&self) -> PhaseKind {
        match self.life.phase {
            Phase::Disabled => PhaseKind::Disabled,
            Phase::Idle => PhaseKind::Idle,
            Phase::Opening => PhaseKind::Opening,
            Phase::Waiting { .. } => PhaseKind::Waiting,
            Phase::Open { .. } => PhaseKind::Open,
            Phase::NeedsAuth => PhaseKind::NeedsAuth,
            Phase::Failed => PhaseKind::Failed,
        }
    }

    /// Performs a step if it is possible.
    fn step(&mut self, step: Step) {
        let before = self.phase_kind();
        let Some(action) = self.apply(step) else { return };
        self.act(action);
        self.check(before, step);
    }

    /// Returns `None` if the step is not possible now.
    #[expect(
        clippy::option_option,
        reason = "an impossible step differs from a step without an action"
    )]
    fn apply(&mut self, step: Step) -> Option<Option<Action>> {
        let attempt_ends = |world: &mut Self| {
            let is_under_way = world.attempts > 0;
            world.attempts = 0;
            is_under_way
        };
        let fact = match step {
            Step::Want => Fact::Wanted,
            Step::Reconnect => Fact::Reconnect,
            Step::Enable => Fact::Enable,
            Step::Disable => Fact::Disable,
            Step::LogIn => Fact::LoggedIn,
            Step::Open if attempt_ends(self) => {
                self.previous = self.life.connection();
                self.connections += 1;
                Fact::Opened
            }
            Step::Fail(class) if attempt_ends(self) => {
                Fact::OpenFailed { class, retry_after: None }
            }
            Step::Busy(secs) if attempt_ends(self) => Fact::OpenFailed {
                class: ErrorClass::Transient,
                retry_after: Some(Duration::from_secs(secs)),
            },
            Step::Close(class) if self.connections > 0 => {
                (self.connections, self.pinging) = (0, false);
                Fact::Closed { class }
            }
            Step::LoseSession { late } => {
                let connection = if late { self.previous } else { self.life.connection() };
                Fact::SessionLost { connection }
            }
            Step::ChangeList => Fact::ListChanged,
            Step::Pong(alive) if self.pinging => {
                self.pinging = false;
                Fact::Pinged { alive }
            }
            Step::Call(begins) => {
                self.calls = if begins { self.calls + 1 } else { self.calls.checked_sub(1)? };
                self.life.observe(self.calls, self.now);
                return Some(None);
            }
            Step::Sleep => return Some(self.sleep()),
            _ => return None,
        };
        Some(self.life.on(fact, self.now))
    }

    /// A deadline must lead to an action or to a later deadline; otherwise the supervisor would spin.
    fn sleep(&mut self) -> Option<Action> {
        let due = self.life.next_deadline()?;
        self.now = self.now.max(due);
        let action = self.life.tick(self.now);
        let is_later = self.life.next_deadline().is_none_or(|next| next > self.now);
        // If two actions are due at once, they are performed one after the other.
        assert!(action.is_some() || is_later, "nothing to do at {due:?}");
        action
    }

    /// Performs an action as the supervisor would.
    fn act(&mut self, action: Option<Action>) {
        match action {
            None => {}
            Some(Action::Open) => self.attempts += 1,
            Some(Action::Close) => {
                (self.attempts, self.connections, self.pinging) = (0, 0, false);
                if matches!(self.life.shown(), ServerState::Connecting { .. }) {
                    self.attempts += 1;
                }
            }
            Some(Action::Refresh) => assert_eq!(self.connections, 1, "not connected"),
            Some(Action::Ping) => {
                assert!(self.connections == 1 && !self.pinging, "one ping at a time");
                self.pinging = true;
            }
        }
    }

    fn check(&self, before: PhaseKind, step: Step) {
        let phase_kind = self.phase_kind();
        // At most one attempt or connection exists, exactly when the lifecycle expects one.
        assert_eq!(
            self.attempts,
            u32::from(phase_kind == PhaseKind::Opening),
            "{step:?} in {before:?}"
        );
        assert_eq!(
            self.connections,
            u32::from(phase_kind == PhaseKind::Open),
            "{step:?} in {before:?}"
        );
        assert!(
            is_allowed(before, step, phase_kind),
            "{before:?} and {step:?} make {phase_kind:?}"
        );
        if let Phase::Waiting { until } = self.life.phase {
            let wait = until.saturating_duration_since(self.now);
            assert!(wait <= LONGEST_RETRY_AFTER, "{wait:?}");
        }
        if let Some(most) = self.life.rules.backoff.attempts {
            assert!(self.life.failures <= most + 1, "{} failures", self.life.failures);
        }
        let state = self.life.shown();
        assert_eq!(state == ServerState::Connected, phase_kind == PhaseKind::Open);
        assert_eq!(state == ServerState::Disabled, phase_kind == PhaseKind::Disabled);
        assert_eq!(state == ServerState::NeedsLogin, phase_kind == PhaseKind::NeedsAuth);
    }
}

/// The allowed transitions.
fn is_allowed(from: PhaseKind, step: Step, to: PhaseKind) -> bool {
    use PhaseKind::{Disabled, Failed, Idle, NeedsAuth, Open, Opening, Waiting};
    if from == to {
        // A request of the user always has an effect.
        return match step {
            Step::Enable => from != Disabled,
            Step::Disable => from == Disabled,
            Step::Open | Step::Fail(_) | Step::Busy(_) | Step::Close(_) | Step::Pong(false) => {
                false
            }
            Step::Reconnect | Step::LogIn => matches!(from, Opening | Disabled),
            Step::LoseSession { late: false } => from != Open,
            _ => true,
        };
    }
    match (from, to) {
        (_, Disabled) => step == Step::Disable,
        (Disabled, _) => step == Step::Enable && to == Idle,
        (Idle, Opening) => matches!(step, Step::Want | Step::Reconnect | Step::LogIn),
        (Opening, Open) => step == Step::Open,
        (Opening, Waiting | NeedsAuth | Failed) => matches!(step, Step::Fail(_) | Step::Busy(_)),
        (Waiting, Opening) => matches!(step, Step::Sleep | Step::Reconnect | Step::LogIn),
        (Open, Waiting | Failed) => matches!(step, Step::Close(_) | Step::Pong(false)),
        (Open, Opening) => {
            matches!(
                step,
                Step::Reconnect
                    | Step::LogIn
                    | Step::LoseSession { late: false }
                    | Step::Close(ErrorClass::Session)
            )
        }
        (Open, Idle) => step == Step::Sleep,
        (NeedsAuth | Failed, Opening) => matches!(step, Step::Reconnect | Step::LogIn),
        _ => false,
    }
}

fn rules(backoff: Backoff) -> Rules {
    Rules {
        backoff,
        idle_stop: Some(Duration::from_secs(300)),
        ping_every: Some(Duration::from_secs(30)),
        debounce: Duration::from_millis(200),
    }
}

/// All orders of four steps, from an idle server and from a connected one.
#[test]
fn all_short_event_orders_keep_the_lifecycle_invariants() {
    const LENGTH: u32 = 4;
    let count = STEPS.len();
    for begin in [&[][..], &[Step::Want, Step::Open], &[Step::Want, Step::Open, Step::Sleep]] {
        for mut number in 0..count.pow(LENGTH) {
            let mut world = World::new(rules(Backoff::five_attempts()));
            for step in begin {
                world.step(*step);
            }
            for _ in 0..LENGTH {
                world.step(STEPS[number % count]);
                number /= count;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_event_orders_keep_the_lifecycle_invariants(
        steps in prop::collection::vec(prop::sample::select(&STEPS[..]), 1..400),
        patient in any::<bool>(),
    ) {
        let backoff = if patient { Backoff::default() } else { Backoff::five_attempts() };
        let mut world = World::new(rules(backoff));
        for step in steps {
            world.step(step);
        }
    }

    /// In every state, a user's request connects a working server.
    #[test]
    fn user_request_connects_a_working_server_from_any_state(
        steps in prop::collection::vec(prop::sample::select(&STEPS[..]), 1..100),
    ) {
        let mut world = World::new(rules(Backoff::five_attempts()));
        for step in steps {
            world.step(step);
        }
        world.step(Step::Enable);
        world.step(Step::Reconnect);
        world.step(Step::Open);
        prop_assert_eq!(world.phase_kind(), PhaseKind::Open);
    }
}
