//! One server: what calls and its supervisor share.

mod call;
mod failure;
mod open;
mod supervisor;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_client::{Client, ErrorClass, Prompt, ServerProfile};
use mcp_config::ServerConfig;
use tokio::{
    sync::{Notify, Semaphore, mpsc, watch},
    task::JoinHandle,
    time::Instant,
};

pub(crate) use self::{call::Bridged, failure::FailureRecord, open::Starts};
use crate::{
    bridge::{Core, Offers, Remembered},
    connector::Login,
    lifecycle::{Fact, Lifecycle, Rules},
    publish::Quarantined,
    router::Router,
    status::{Detail, ServerState, ServerStatus},
};

/// How many facts may wait for the supervisor. Each is a person's or a call's doing.
const FACTS: usize = 256;

/// One server of a bridge.
pub(crate) struct Server {
    pub(crate) name: Arc<str>,
    pub(crate) config: ServerConfig,
    pub(crate) trusted: bool,
    pub(crate) router: Arc<Router>,
    pub(crate) core: Weak<Core>,
    starts: Arc<Starts>,
    /// Whoever has it is the one process of this server.
    seat: Arc<Semaphore>,
    facts: mpsc::Sender<Fact>,
    /// What calls have said already: that they want the server, and which connection was lost.
    wanted: AtomicBool,
    lost: AtomicU64,
    state: watch::Sender<ServerStatus>,
    live: Mutex<Live>,
    /// What it was last known to offer besides tools.
    offers: Arc<Remembered>,
    activity: Arc<Activity>,
    /// It has been ended for good: no state of it means anything any more.
    is_over: AtomicBool,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// What is known as long as a connection lives, and what is left of the last one.
#[derive(Default)]
pub(crate) struct Live {
    pub(crate) client: Option<Client>,
    /// Which connection of this server the client is.
    pub(crate) connection: u64,
    /// Hashes of the current definitions by the server's own names of them.
    pub(crate) hashes: HashMap<Arc<str>, String>,
    pub(crate) quarantined: Vec<Quarantined>,
    pub(crate) generation: u64,
    pub(crate) prompts: Arc<Vec<Prompt>>,
    pub(crate) profile: Option<ServerProfile>,
    pub(crate) failure: Option<Arc<FailureRecord>>,
    pub(crate) login: Option<Arc<dyn Login>>,
}

/// Calls, as the supervisor needs to know of them, without a message for each.
struct Activity {
    began: Instant,
    in_flight: AtomicUsize,
    /// Who hears of changes, and so uses the server although no call is in flight.
    listeners: AtomicUsize,
    /// Milliseconds after `began`.
    last: AtomicU64,
    /// The last call in flight is done.
    idle: Notify,
}

impl Activity {
    fn touch(&self) {
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    fn observed(&self) -> (usize, std::time::Instant) {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        let busy = [&self.in_flight, &self.listeners].map(|count| count.load(Ordering::Relaxed));
        (busy.into_iter().sum(), (self.began + last).into_std())
    }

    /// Waits until no call is in flight.
    async fn idle(&self) {
        loop {
            // Listening before looking: a call that ends in between is heard.
            let idle = self.idle.notified();
            if self.in_flight.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// A call in flight keeps the server from being stopped as idle.
pub(crate) struct InFlight<'a>(&'a Activity);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.touch();
        if self.0.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// A subscription keeps the server from being stopped as idle, and from nothing else: not from being
/// retired, and not from ending with its bridge.
pub(crate) struct Listening(Arc<Activity>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.touch();
        self.0.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Server {
    /// A server with nobody who looks after it yet, its life, and what its supervisor will be told.
    pub(crate) fn new(
        config: ServerConfig,
        trusted: bool,
        core: &Arc<Core>,
    ) -> (Arc<Self>, Lifecycle, mpsc::Receiver<Fact>) {
        let (facts, inbox) = mpsc::channel(FACTS);
        let name: Arc<str> = config.name.as_str().into();
        let rules = Rules {
            backoff: core.options.backoff.clone(),
            idle_stop: core.options.idle_stop,
            ping_every: core.options.ping_every,
            debounce: core.options.list_debounce,
        };
        let mut life = Lifecycle::new(rules, config.enabled, crate::trace::random());
        let login = core.options.connector.login(&config);
        if login.is_some_and(|login| login.is_needed()) {
            life.assume_needs_auth();
        }
        let (state, detail) = life.shown();
        let status = ServerStatus {
            name: name.clone(),
            state,
            detail,
            tools: 0,
            quarantined: 0,
            generation: 0,
            problem: None,
            class: None,
        };
        let server = Arc::new(Self {
            name,
            trusted,
            router: Arc::new(Router::new(core.options.handler.clone())),
            core: Arc::downgrade(core),
            starts: core.starts.clone(),
            seat: Arc::new(Semaphore::new(1)),
            facts,
            wanted: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            state: watch::Sender::new(status),
            live: Mutex::default(),
            offers: Arc::default(),
            activity: Arc::new(Activity {
                began: Instant::now(),
                in_flight: AtomicUsize::new(0),
                listeners: AtomicUsize::new(0),
                last: AtomicU64::new(0),
                idle: Notify::new(),
            }),
            is_over: AtomicBool::new(false),
            task: Mutex::default(),
            config,
        });
        (server, life, inbox)
    }

    /// Starts the supervisor. Nothing is connected yet.
    pub(crate) fn supervise(self: &Arc<Self>, life: Lifecycle, inbox: mpsc::Receiver<Fact>) {
        let task = tokio::spawn(supervisor::run(self.clone(), life, inbox));
        *lock(&self.task) = Some(task);
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        lock(&self.live)
    }

    pub(crate) fn offers(&self) -> MutexGuard<'_, Offers> {
        self.offers.known()
    }

    pub(crate) fn remembered(&self) -> &Arc<Remembered> {
        &self.offers
    }

    /// Whether it is not running because nobody needs it, so that what is remembered of it holds.
    pub(crate) fn is_resting(&self) -> bool {
        let status = self.state.borrow();
        status.state == ServerState::Pending && status.detail == Detail::Idle
    }

    pub(crate) fn client(&self) -> Option<Client> {
        self.connection().map(|(client, _)| client)
    }

    /// The open connection and its number.
    fn connection(&self) -> Option<(Client, u64)> {
        let live = self.live();
        let client = live.client.clone().filter(|client| !client.is_closed())?;
        Some((client, live.connection))
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.state.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<ServerStatus> {
        self.state.subscribe()
    }

    /// Tells the supervisor something. What a thousand calls say at once is said once, so that there is
    /// always room for what a person says.
    pub(crate) fn tell(&self, fact: Fact) {
        let is_news = match fact {
            Fact::Wanted => !self.wanted.swap(true, Ordering::AcqRel),
            Fact::SessionLost { connection } => {
                self.lost.fetch_max(connection, Ordering::AcqRel) < connection
            }
            // A wish from before this is not one from after it.
            _ => {
                self.wanted.store(false, Ordering::Release);
                true
            }
        };
        if is_news && self.facts.try_send(fact).is_err() {
            self.wanted.store(false, Ordering::Release);
        }
    }

    /// The supervisor is about to act on somebody's wish: whoever wants something from now on says so again.
    fn heard(&self, fact: Fact) {
        if fact == Fact::Wanted {
            self.wanted.store(false, Ordering::Release);
        }
    }

    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.activity.in_flight.fetch_add(1, Ordering::Relaxed);
        self.activity.touch();
        InFlight(&self.activity)
    }

    pub(crate) fn listening(&self) -> Listening {
        self.activity.listeners.fetch_add(1, Ordering::Relaxed);
        Listening(self.activity.clone())
    }

    /// Whether it has been ended for good.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Whether somebody who needs it now should wait: it is starting, or would start if asked.
    pub(crate) fn is_coming_up(&self) -> bool {
        let status = self.state.borrow();
        status.state == ServerState::Pending
            && matches!(status.detail, Detail::Idle | Detail::Connecting { attempt: 1 })
    }

    /// Waits until the server is neither starting nor about to. `None`: it took too long.
    pub(crate) async fn settled(&self, limit: Duration, retries_too: bool) -> Option<()> {
        let mut state = self.state.subscribe();
        let is_settled = |status: &ServerStatus| match (status.state, status.detail) {
            (ServerState::Pending, Detail::Waiting { .. }) => !retries_too,
            (ServerState::Pending, Detail::Connecting { attempt }) => !retries_too && attempt > 1,
            (state, _) => state != ServerState::Pending,
        };
        let settled = state.wait_for(is_settled);
        tokio::time::timeout(limit, settled).await.ok()?.ok().map(drop)
    }

    /// Ends the supervisor, and with it the connection, at once and for good.
    pub(crate) fn abort(&self) {
        if let Some(task) = &*lock(&self.task) {
            task.abort();
        }
        self.is_over.store(true, Ordering::Release);
        // Whoever waits for it to come back looks again.
        self.state.send_modify(|_| {});
    }

    /// Ends the connection in good order when the calls in flight are done.
    pub(crate) async fn retire(&self) {
        // First of all: what it shows from now on would be taken for what its successor shows.
        self.abort();
        self.activity.idle().await;
        self.stop().await;
    }

    /// Ends the connection in good order.
    pub(crate) async fn stop(&self) {
        let client = self.live().client.take();
        self.abort();
        if let Some(client) = client {
            client.close().await;
        }
    }

    pub(crate) fn show(&self, state: ServerState, detail: Detail, class: Option<ErrorClass>) {
        let (generation, tools, quarantined, problem) = {
            let live = self.live();
            let problem = live.failure.as_ref().map(|failure| failure.text.clone());
            (live.generation, live.hashes.len(), live.quarantined.len(), problem)
        };
        let is_up = state == ServerState::Connected;
        self.state.send_if_modified(|status| {
            let problem = problem.filter(|_| !is_up);
            let is_same = status.state == state
                && status.detail == detail
                && status.generation == generation
                && status.problem == problem;
            if !is_same {
                let name = status.name.clone();
                *status = ServerStatus {
                    name,
                    state,
                    detail,
                    tools,
                    quarantined,
                    generation,
                    problem,
                    class: class.filter(|_| !is_up),
                };
            }
            !is_same
        });
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
