//! Every order in which things can happen to a server, up to a length, and long ones at random.
//!
//! [`World`] is the smallest supervisor: it carries out what the lifecycle says and counts what it has. What may
//! happen next depends only on what there is, as in life: an attempt ends well or badly, a connection ends, a person
//! changes their mind, time passes.

use proptest::prelude::*;

use super::*;

/// Things that happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Want,
    Reconnect,
    Enable,
    Disable,
    LogIn,
    /// The attempt under way ends well.
    Open,
    /// Or not.
    Fail(ErrorClass),
    /// Or not, and the server asks for patience.
    Busy(u64),
    /// The open connection ends.
    Close(ErrorClass),
    /// A call says that its session is lost: on this connection, or on the one before.
    LoseSession {
        late: bool,
    },
    ChangeList,
    /// The ping under way is answered, or not.
    Pong(bool),
    /// A call begins, or one ends.
    Call(bool),
    /// Until the next deadline.
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

/// The phases without what they carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
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
    /// The number of the connection whose calls may still complain.
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

    fn place(&self) -> Place {
        match self.life.phase {
            Phase::Disabled => Place::Disabled,
            Phase::Idle => Place::Idle,
            Phase::Opening => Place::Opening,
            Phase::Waiting { .. } => Place::Waiting,
            Phase::Open { .. } => Place::Open,
            Phase::NeedsAuth => Place::NeedsAuth,
            Phase::Failed => Place::Failed,
        }
    }

    /// Lets a step happen if it can.
    fn step(&mut self, step: Step) {
        let before = self.place();
        let Some(action) = self.happens(step) else { return };
        self.act(action);
        self.check(before, step);
    }

    /// `None`: it cannot happen now.
    #[expect(clippy::option_option, reason = "nothing to do is not the same as nothing happened")]
    fn happens(&mut self, step: Step) -> Option<Option<Action>> {
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

    /// Whoever sleeps until a deadline must find something to do, or a later one: anything else is a busy loop.
    fn sleep(&mut self) -> Option<Action> {
        let due = self.life.next_deadline()?;
        self.now = self.now.max(due);
        let action = self.life.tick(self.now);
        let is_later = self.life.next_deadline().is_none_or(|next| next > self.now);
        // Two things may be due at once; then each is done in its turn.
        assert!(action.is_some() || is_later, "nothing to do at {due:?}");
        action
    }

    /// What the supervisor does.
    fn act(&mut self, action: Option<Action>) {
        match action {
            None => {}
            Some(Action::Open) => self.attempts += 1,
            Some(Action::Close) => {
                (self.attempts, self.connections, self.pinging) = (0, 0, false);
                if matches!(self.life.shown().1, Detail::Connecting { .. }) {
                    self.attempts += 1;
                }
            }
            Some(Action::Refresh) => assert_eq!(self.connections, 1, "a list of nobody"),
            Some(Action::Ping) => {
                assert!(self.connections == 1 && !self.pinging, "one ping at a time");
                self.pinging = true;
            }
        }
    }

    fn check(&self, before: Place, step: Step) {
        let place = self.place();
        // One at most: an attempt or a connection, and exactly where the lifecycle thinks there is one.
        assert_eq!(self.attempts, u32::from(place == Place::Opening), "{step:?} in {before:?}");
        assert_eq!(self.connections, u32::from(place == Place::Open), "{step:?} in {before:?}");
        assert!(is_allowed(before, step, place), "{before:?} and {step:?} make {place:?}");
        if let Phase::Waiting { until } = self.life.phase {
            let wait = until.saturating_duration_since(self.now);
            assert!(wait <= LONGEST_RETRY_AFTER, "{wait:?}");
        }
        if let Some(most) = self.life.rules.backoff.attempts {
            assert!(self.life.failures <= most + 1, "{} failures", self.life.failures);
        }
        let (state, _) = self.life.shown();
        assert_eq!(state == ServerState::Connected, place == Place::Open);
        assert_eq!(state == ServerState::Disabled, place == Place::Disabled);
        assert_eq!(state == ServerState::NeedsAuth, place == Place::NeedsAuth);
    }
}

/// The edges there are.
fn is_allowed(from: Place, step: Step, to: Place) -> bool {
    use Place::{Disabled, Failed, Idle, NeedsAuth, Open, Opening, Waiting};
    if from == to {
        // A person's wish is never without consequence.
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
            matches!(step, Step::Reconnect | Step::LogIn | Step::LoseSession { late: false })
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

/// All orders of four steps, from a server that rests and from one that is connected.
#[test]
fn no_order_of_events_breaks_a_life() {
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
    fn no_long_life_goes_wrong(
        steps in prop::collection::vec(prop::sample::select(&STEPS[..]), 1..400),
        patient in any::<bool>(),
    ) {
        let backoff = if patient { Backoff::default() } else { Backoff::five_attempts() };
        let mut world = World::new(rules(backoff));
        for step in steps {
            world.step(step);
        }
    }

    /// Whatever has happened: a person who asks for it, and a server that works, make a connection.
    #[test]
    fn every_life_can_be_saved(
        steps in prop::collection::vec(prop::sample::select(&STEPS[..]), 1..100),
    ) {
        let mut world = World::new(rules(Backoff::five_attempts()));
        for step in steps {
            world.step(step);
        }
        world.step(Step::Enable);
        world.step(Step::Reconnect);
        world.step(Step::Open);
        prop_assert_eq!(world.place(), Place::Open);
    }
}
