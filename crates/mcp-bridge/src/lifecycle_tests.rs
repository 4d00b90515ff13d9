//! A server's life, played by hand: no runtime, no clock, no server.

use super::*;

const TRANSIENT: Fact = Fact::OpenFailed { class: ErrorClass::Transient, retry_after: None };

const LOST: Fact = Fact::SessionLost { connection: 1 };

fn rules() -> Rules {
    Rules {
        backoff: Backoff { jitter: 0.0, ..Backoff::default() },
        idle_stop: Some(Duration::from_secs(300)),
        ping_every: Some(Duration::from_secs(30)),
        debounce: Duration::from_millis(200),
    }
}

struct Life {
    machine: Lifecycle,
    start: Instant,
    now: Instant,
}

impl Life {
    fn new(rules: Rules) -> Self {
        let now = Instant::now();
        Self { machine: Lifecycle::new(rules, true, 7), start: now, now }
    }

    fn opened() -> Self {
        let mut life = Self::new(rules());
        assert_eq!(life.on(Fact::Wanted), Some(Action::Open));
        assert_eq!(life.on(Fact::Opened), None);
        life
    }

    fn on(&mut self, fact: Fact) -> Option<Action> {
        self.machine.on(fact, self.now)
    }

    /// Goes on to the next thing that is due.
    fn sleep(&mut self) -> Option<Action> {
        self.now = self.machine.next_deadline().expect("something is due");
        self.machine.tick(self.now)
    }

    fn wait(&mut self, secs: u64) -> Option<Action> {
        self.now += Duration::from_secs(secs);
        self.machine.tick(self.now)
    }

    fn state(&self) -> ServerState {
        self.machine.shown().0
    }
}

#[test]
fn the_schedule_is_kept_and_the_fifth_failure_shows() {
    let mut life = Life::new(rules());
    life.on(Fact::Wanted);
    let mut times = Vec::new();
    for round in 1..=7 {
        life.on(TRANSIENT);
        let expected = if round < 5 { ServerState::Pending } else { ServerState::Failed };
        assert_eq!(life.state(), expected, "after {round} failures");
        assert_eq!(life.sleep(), Some(Action::Open));
        times.push((life.now - life.start).as_secs());
    }
    assert_eq!(times, [1, 3, 8, 23, 83, 143, 203]);
    life.on(Fact::Opened);
    assert_eq!(life.state(), ServerState::Connected);
    assert_eq!(life.on(Fact::Closed { class: ErrorClass::Transient }), None);
    assert_eq!(life.sleep(), Some(Action::Open), "a clean close backs off too");
}

#[test]
fn the_preset_gives_up_and_only_a_person_brings_it_back() {
    let backoff = Backoff { jitter: 0.0, ..Backoff::five_attempts() };
    let mut life = Life::new(Rules { backoff, ..rules() });
    life.on(Fact::Wanted);
    for _ in 0..5 {
        life.on(TRANSIENT);
        assert_eq!(life.sleep(), Some(Action::Open));
    }
    life.on(TRANSIENT);
    assert_eq!((life.state(), life.machine.next_deadline()), (ServerState::Failed, None));
    assert_eq!(life.on(Fact::Wanted), None);
    assert_eq!(life.on(Fact::Reconnect), Some(Action::Open));
}

#[test]
fn retry_after_is_honoured_within_reason() {
    for (asked, waited) in [(30, 30), (0, 1), (1_000_000, 3_600)] {
        let mut life = Life::new(rules());
        life.on(Fact::Wanted);
        let retry_after = Some(Duration::from_secs(asked));
        life.on(Fact::OpenFailed { class: ErrorClass::Transient, retry_after });
        life.sleep();
        assert_eq!((life.now - life.start).as_secs(), waited);
    }
}

#[test]
fn permanent_causes_do_not_loop_and_a_login_is_waited_for() {
    for (class, state) in
        [(ErrorClass::Permanent, ServerState::Failed), (ErrorClass::Auth, ServerState::NeedsAuth)]
    {
        let mut life = Life::new(rules());
        life.on(Fact::Wanted);
        life.on(Fact::OpenFailed { class, retry_after: None });
        assert_eq!((life.state(), life.machine.next_deadline()), (state, None));
        assert_eq!(life.on(Fact::Wanted), None);
        assert_eq!(life.on(Fact::LoggedIn), Some(Action::Open));
    }
}

#[test]
fn disabled_is_left_only_by_enable() {
    let mut life = Life::opened();
    assert_eq!(life.on(Fact::Disable), Some(Action::Close));
    for fact in [Fact::Wanted, Fact::Reconnect, Fact::LoggedIn, LOST, TRANSIENT] {
        assert_eq!(life.on(fact), None);
        assert_eq!(life.state(), ServerState::Disabled);
    }
    life.on(Fact::Enable);
    assert_eq!(life.on(Fact::Wanted), Some(Action::Open));
}

#[test]
fn an_idle_server_stops_unless_a_call_is_in_flight_and_starts_again_when_wanted() {
    let mut life = Life::new(Rules { ping_every: None, ..rules() });
    life.on(Fact::Wanted);
    life.on(Fact::Opened);
    life.machine.observe(1, life.now);
    assert_eq!(life.wait(10_000), None);
    assert!(life.machine.next_deadline() > Some(life.now), "the end of the call is looked for");
    life.machine.observe(0, life.now);
    assert_eq!(life.wait(299), None);
    assert_eq!(life.wait(1), Some(Action::Close));
    assert_eq!(life.machine.shown(), (ServerState::Pending, Detail::Idle));
    assert_eq!(life.on(Fact::Wanted), Some(Action::Open));
}

#[test]
fn silence_is_broken_by_a_ping_and_an_unanswered_ping_is_an_end() {
    let mut life = Life::opened();
    assert_eq!(life.wait(30), Some(Action::Ping));
    assert_eq!(life.wait(10), None, "one at a time");
    life.on(Fact::Pinged { alive: true });
    assert_eq!(life.wait(30), Some(Action::Ping));
    assert_eq!(life.on(Fact::Pinged { alive: false }), Some(Action::Close));
    assert_eq!(life.sleep(), Some(Action::Open));
}

#[test]
fn a_doubted_server_is_pinged_at_once_and_once() {
    let mut life = Life::new(Rules { ping_every: None, ..rules() });
    assert_eq!(life.on(Fact::Doubted), None, "it is not open");
    life.on(Fact::Wanted);
    life.on(Fact::Opened);
    assert_eq!(life.on(Fact::Doubted), Some(Action::Ping));
    assert_eq!(life.on(Fact::Doubted), None, "one at a time");
    life.on(Fact::Pinged { alive: true });
    assert_eq!(life.state(), ServerState::Connected);
    assert_eq!(life.on(Fact::Doubted), Some(Action::Ping));
    assert_eq!(life.on(Fact::Pinged { alive: false }), Some(Action::Close));
    assert_eq!(life.sleep(), Some(Action::Open));
}

#[test]
fn a_flood_of_changes_is_one_refresh_and_cannot_put_it_off() {
    let mut life = Life::opened();
    let mut refreshes = 0;
    for _ in 0..1_000 {
        life.on(Fact::ListChanged);
        life.now += Duration::from_millis(1);
        refreshes += usize::from(life.machine.tick(life.now) == Some(Action::Refresh));
    }
    assert!((4..=5).contains(&refreshes), "{refreshes}");
}

#[test]
fn a_lost_session_and_a_reconnect_end_what_there_is_and_open_at_once() {
    for fact in [LOST, Fact::Reconnect, Fact::LoggedIn] {
        let mut life = Life::opened();
        assert_eq!(life.on(fact), Some(Action::Close), "{fact:?}");
        assert_eq!(life.machine.shown().1, Detail::Connecting { attempt: 1 });
        assert_eq!(life.on(Fact::Closed { class: ErrorClass::Transient }), None);
    }
}

#[test]
fn a_call_that_learns_late_of_a_lost_session_does_not_end_the_next_one() {
    let mut life = Life::opened();
    assert_eq!(life.on(LOST), Some(Action::Close));
    life.on(Fact::Opened);
    assert_eq!(life.on(LOST), None);
    assert_eq!(life.state(), ServerState::Connected);
}

#[test]
fn a_day_of_failures_makes_no_storm() {
    let mut life = Life::new(Rules { backoff: Backoff::default(), ..rules() });
    life.on(Fact::Wanted);
    let mut tries = 0;
    while life.now - life.start < Duration::from_secs(86_400) {
        life.on(TRANSIENT);
        assert_eq!(life.sleep(), Some(Action::Open));
        tries += 1;
    }
    assert!((1_200..=1_700).contains(&tries), "{tries}");
}
