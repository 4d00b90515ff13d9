//! Tests that drive the state machine by hand: without a runtime, a clock or a server.

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

    /// Advances to the next deadline.
    fn sleep(&mut self) -> Option<Action> {
        self.now = self.machine.next_deadline().expect("something is due");
        self.machine.tick(self.now)
    }

    fn wait(&mut self, secs: u64) -> Option<Action> {
        self.now += Duration::from_secs(secs);
        self.machine.tick(self.now)
    }

    fn state(&self) -> ServerState {
        self.machine.shown()
    }
}

const FAILED: ServerState = ServerState::Failed { next_try: None };

#[test]
fn backoff_schedule_is_followed_and_fifth_failure_is_shown() {
    let mut life = Life::new(rules());
    life.on(Fact::Wanted);
    let mut times = Vec::new();
    for round in 1..=7 {
        life.on(TRANSIENT);
        let is_failed = round >= 5;
        assert_eq!(life.state().is_failed(), is_failed, "after {round} failures");
        assert_eq!(life.sleep(), Some(Action::Open));
        times.push((life.now - life.start).as_secs());
    }
    assert_eq!(times, [1, 3, 8, 23, 83, 143, 203]);
    life.on(Fact::Opened);
    assert_eq!(life.state(), ServerState::Connected);
    assert_eq!(life.on(Fact::Closed { class: ErrorClass::Transient }), None);
    assert_eq!(life.sleep(), Some(Action::Open), "a clean close is retried after a delay too");
}

#[test]
fn five_attempts_preset_gives_up_until_the_user_reconnects() {
    let backoff = Backoff { jitter: 0.0, ..Backoff::five_attempts() };
    let mut life = Life::new(Rules { backoff, ..rules() });
    life.on(Fact::Wanted);
    for _ in 0..4 {
        life.on(TRANSIENT);
        assert_eq!(life.sleep(), Some(Action::Open));
    }
    life.on(TRANSIENT);
    assert_eq!((life.state(), life.machine.next_deadline()), (FAILED, None));
    assert_eq!(life.on(Fact::Wanted), None);
    assert_eq!(life.on(Fact::Connect), Some(Action::Open));
    life.on(TRANSIENT);
    assert!(
        matches!(life.state(), ServerState::Waiting { failures: 1, .. }),
        "the failure count restarts"
    );
    assert_eq!(life.on(Fact::Connect), Some(Action::Open), "a waiting server is retried at once");
    assert!(life.machine.is_down(), "calls fail at once");
    assert_eq!(life.on(Fact::Reconnect), Some(Action::Close));
}

#[test]
fn retry_after_is_honoured_up_to_an_hour() {
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
fn permanent_failures_and_missing_logins_are_not_retried() {
    for (class, state) in
        [(ErrorClass::Permanent, FAILED), (ErrorClass::Auth, ServerState::NeedsLogin)]
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
fn disabled_server_ignores_everything_but_enable() {
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
fn idle_server_stops_unless_a_call_is_in_flight_and_restarts_on_demand() {
    let mut life = Life::new(Rules { ping_every: None, ..rules() });
    life.on(Fact::Wanted);
    life.on(Fact::Opened);
    life.machine.observe(1, life.now);
    assert_eq!(life.wait(10_000), None);
    assert!(life.machine.next_deadline() > Some(life.now), "the end of the call is checked for");
    life.machine.observe(0, life.now);
    assert_eq!(life.wait(299), None);
    assert_eq!(life.wait(1), Some(Action::Close));
    assert_eq!(life.state(), ServerState::Idle);
    assert_eq!(life.on(Fact::Wanted), Some(Action::Open));
}

#[test]
fn silent_server_is_pinged_and_closed_without_pong() {
    let mut life = Life::opened();
    assert_eq!(life.wait(30), Some(Action::Ping));
    assert_eq!(life.wait(10), None, "one ping at a time");
    life.on(Fact::Pinged { alive: true });
    assert_eq!(life.wait(30), Some(Action::Ping));
    assert_eq!(life.on(Fact::Pinged { alive: false }), Some(Action::Close));
    assert_eq!(life.sleep(), Some(Action::Open));
}

#[test]
fn call_timeout_triggers_one_immediate_ping() {
    let mut life = Life::new(Rules { ping_every: None, ..rules() });
    assert_eq!(life.on(Fact::CallTimedOut), None, "not connected");
    life.on(Fact::Wanted);
    life.on(Fact::Opened);
    assert_eq!(life.on(Fact::CallTimedOut), Some(Action::Ping));
    assert_eq!(life.on(Fact::CallTimedOut), None, "one ping at a time");
    life.on(Fact::Pinged { alive: true });
    assert_eq!(life.state(), ServerState::Connected);
    assert_eq!(life.on(Fact::CallTimedOut), Some(Action::Ping));
    assert_eq!(life.on(Fact::Pinged { alive: false }), Some(Action::Close));
    assert_eq!(life.sleep(), Some(Action::Open));
}

#[test]
fn list_changes_are_debounced_without_postponing_the_refresh() {
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
fn lost_session_and_reconnect_close_and_reopen_at_once() {
    for fact in [LOST, Fact::Reconnect, Fact::LoggedIn] {
        let mut life = Life::opened();
        assert_eq!(life.on(fact), Some(Action::Close), "{fact:?}");
        assert_eq!(life.state(), ServerState::Connecting { attempt: 1 });
        assert_eq!(life.on(Fact::Closed { class: ErrorClass::Transient }), None);
    }
}

#[test]
fn session_lost_by_the_link_is_replaced_at_once_but_not_in_a_loop() {
    let closed = Fact::Closed { class: ErrorClass::Session };
    let mut life = Life::opened();
    assert_eq!(life.on(closed), Some(Action::Open));
    assert_eq!(life.state(), ServerState::Connecting { attempt: 1 });
    assert!(life.machine.is_down(), "calls do not wait for it");
    life.on(Fact::Opened);
    assert_eq!(life.on(closed), None, "the second one within a second");
    assert!(matches!(life.state(), ServerState::Waiting { failures: 1, .. }));
    assert_eq!(life.sleep(), Some(Action::Open));
    life.on(Fact::Opened);
    life.wait(2);
    assert_eq!(life.on(closed), Some(Action::Open));
}

#[test]
fn calls_wait_for_a_login_of_a_server_that_needed_it_but_not_of_a_connected_one() {
    let mut life = Life::opened();
    assert_eq!(life.on(Fact::LoggedIn), Some(Action::Close));
    assert!(life.machine.is_down());
    life.on(Fact::Opened);
    life.on(Fact::LoggedOut);
    assert_eq!(life.on(Fact::LoggedIn), Some(Action::Open));
    assert!(!life.machine.is_down());
    let mut life = Life::opened();
    life.on(Fact::Reconnect);
    life.on(Fact::LoggedIn);
    assert!(life.machine.is_down(), "a login does not make a reconnect a first start");
}

#[test]
fn late_report_of_a_lost_session_does_not_close_the_next_one() {
    let mut life = Life::opened();
    assert_eq!(life.on(LOST), Some(Action::Close));
    life.on(Fact::Opened);
    assert_eq!(life.on(LOST), None);
    assert_eq!(life.state(), ServerState::Connected);
}

#[test]
fn connection_attempts_per_day_are_bounded() {
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
