//! One server of a bridge: the state shared by its calls and its supervisor.

mod call;
mod catalogue;
pub(crate) mod explain;
mod failure;
mod login_tool;
mod milestones;
pub(crate) mod offered;
mod offers;
mod open;
mod publication;
mod record;
mod router;
mod supervisor;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_audit::Kind;
use mcp_client::{CallError, Client, Delivery, ServerProfile, types::Prompt};
use mcp_config::ServerConfig;
use mcp_tool::CallContext;
use tokio::{
    sync::{Notify, Semaphore, mpsc, watch},
    task::JoinHandle,
    time::Instant,
};

use self::{
    failure::FailureRecord,
    login_tool::LoginTool,
    milestones::Milestones,
    offers::{OfferCache, Offers},
};
pub(crate) use self::{open::Starts, router::Router};
use crate::{
    connect::Login,
    hub::Hub,
    lifecycle::{Fact, Lifecycle, Rules, ServerState, ServerStatus},
    sync::lock,
    tools::{publish::Quarantined, registry::Registered, scope::Entry},
    trace::Endpoint,
    trust::Binding,
};

/// The capacity of the supervisor's queue of facts. Repeated facts are merged, so it does not fill up under
/// load.
const FACTS: usize = 256;

/// One server of a bridge.
pub(crate) struct Server {
    pub(crate) name: Arc<str>,
    pub(crate) config: ServerConfig,
    pub(crate) trusted: bool,
    /// Identifies the server in approvals and catalogues.
    pub(crate) binding: Arc<Binding>,
    pub(crate) router: Arc<Router>,
    endpoint: Endpoint,
    hub: Weak<Hub>,
    starts: Arc<Starts>,
    /// Held by the running process of this server, so that there is at most one.
    own_process: Arc<Semaphore>,
    facts: mpsc::Sender<Fact>,
    /// Facts that calls have already reported: that the server is wanted, and the last connection that was
    /// lost.
    wanted: AtomicBool,
    lost: AtomicU64,
    state: watch::Sender<ServerStatus>,
    milestones: watch::Sender<Milestones>,
    live: Mutex<Live>,
    /// The cached prompts, resources and resource templates.
    offers: Arc<OfferCache>,
    activity: Arc<Activity>,
    /// The server was stopped for good. Its status is meaningless from then on.
    is_stopped_for_good: AtomicBool,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The state of the current connection, and the parts of the last one that are kept.
#[derive(Default)]
pub(crate) struct Live {
    pub(crate) client: Option<Client>,
    /// The number of this connection.
    pub(crate) connection: u64,
    /// Hashes of the current definitions, by the server's names of the tools.
    pub(crate) hashes: HashMap<Arc<str>, String>,
    pub(crate) quarantined: Vec<Quarantined>,
    pub(crate) generation: u64,
    pub(crate) prompts: Arc<Vec<Prompt>>,
    pub(crate) profile: Option<ServerProfile>,
    pub(crate) failure: Option<Arc<FailureRecord>>,
    pub(crate) login: Option<Arc<dyn Login>>,
    /// Names of unlisted tools for which the list was already fetched again.
    asked_for: HashSet<String>,
}

/// Counters of calls for the supervisor, which avoid one message per call.
struct Activity {
    began: Instant,
    in_flight: AtomicUsize,
    /// The number of subscriptions. They count as use even when no call is in flight.
    listeners: AtomicUsize,
    /// Milliseconds after `began`.
    last: AtomicU64,
    /// Notified when the last call in flight has ended.
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
            // Register before the check, so that a call that ends in between is not missed.
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

/// A subscription keeps the server from being stopped as idle. It prevents neither retiring the server nor
/// dropping its bridge.
pub(crate) struct Listening(Arc<Activity>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.touch();
        self.0.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Server {
    /// Adds a server to `hub` with its cached tools and offers, and starts its supervisor. Does not connect.
    pub(crate) fn register(config: ServerConfig, hub: &Arc<Hub>, starts: Arc<Starts>) -> Arc<Self> {
        let name = config.name.as_str().to_owned();
        hub.registry.add_server(&Arc::from(name.as_str()));
        let (server, life, facts) = Self::new(config, hub, starts);
        let login = hub.registry.naming(|namer| namer.own(&name, "authenticate"));
        let login = LoginTool::new(login, &server);
        let mut login = Registered::own(Entry::Scoped(Arc::new(login)));
        login.asks_itself = true;
        hub.registry.set_login(&name, Arc::new(login));
        server.load_cached_tools(hub);
        server.load_cached_offers(hub);
        // Publish the state before the supervisor runs, so that cached tools are visible at once.
        server.publish_state(hub, &life, None);
        let task = tokio::spawn(supervisor::run(server.clone(), life, facts));
        *lock(&server.task) = Some(task);
        server
    }

    fn new(
        config: ServerConfig,
        hub: &Arc<Hub>,
        starts: Arc<Starts>,
    ) -> (Arc<Self>, Lifecycle, mpsc::Receiver<Fact>) {
        let (facts, inbox) = mpsc::channel(FACTS);
        let name: Arc<str> = config.name.as_str().into();
        let rules = Rules {
            backoff: hub.options.backoff.clone(),
            idle_stop: hub.options.idle_stop,
            ping_every: match config.transport.remote() {
                Some(_) => hub.options.ping_remote_every.or(hub.options.ping_every),
                None => hub.options.ping_every,
            },
            debounce: hub.options.list_debounce,
        };
        let mut life = Lifecycle::new(rules, config.enabled, crate::random::random());
        if hub.options.connector.is_refused(&config) {
            life.assume_needs_auth();
        }
        let options = &hub.options;
        let from_project = options.from_project.as_ref().is_some_and(|is_from| is_from(&config));
        let binding = Binding::of(&config, options.project.as_deref(), from_project);
        let status = ServerStatus {
            name: name.clone(),
            state: life.shown(),
            tools: 0,
            quarantined: 0,
            generation: 0,
            problem: None,
            down: life.is_down(),
            class: None,
        };
        let server = Arc::new(Self {
            trusted: config.trust,
            binding: Arc::new(binding),
            router: Arc::new(Router::new(&name, config.trust, options)),
            endpoint: Endpoint::of(&config),
            name,
            hub: Arc::downgrade(hub),
            starts,
            own_process: Arc::new(Semaphore::new(1)),
            facts,
            wanted: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            state: watch::Sender::new(status),
            milestones: watch::Sender::default(),
            live: Mutex::default(),
            offers: Arc::default(),
            activity: Arc::new(Activity {
                began: Instant::now(),
                in_flight: AtomicUsize::new(0),
                listeners: AtomicUsize::new(0),
                last: AtomicU64::new(0),
                idle: Notify::new(),
            }),
            is_stopped_for_good: AtomicBool::new(false),
            task: Mutex::default(),
            config,
        });
        (server, life, inbox)
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        lock(&self.live)
    }

    pub(crate) fn offers(&self) -> MutexGuard<'_, Offers> {
        self.offers.known()
    }

    pub(crate) fn offer_cache(&self) -> &Arc<OfferCache> {
        &self.offers
    }

    /// The client, if the server has resources.
    pub(crate) fn readable(&self) -> Option<Client> {
        let has = self.live().profile.as_ref().is_some_and(|p| p.capabilities.resources.is_some());
        self.client().filter(|_| has)
    }

    /// The client for requests other than tool calls. Starts the server if needed.
    pub(crate) async fn ready_client(&self) -> Result<Client, CallError> {
        self.ready(&CallContext::default())
            .await
            .map_err(|_| mcp_client::rpc::Failure::Closed(Delivery::NotSent).into())
    }

    /// Whether the server is stopped because no call needs it. Its cached listing is valid then.
    pub(crate) fn is_stopped_when_idle(&self) -> bool {
        self.state.borrow().state.is_idle()
    }

    pub(crate) fn client(&self) -> Option<Client> {
        self.connection().map(|(client, _)| client)
    }

    /// The open connection and its number. A connection whose session a call reported as lost is not open, even if the
    /// supervisor has not closed it yet.
    fn connection(&self) -> Option<(Client, u64)> {
        let live = self.live();
        let is_lost = live.connection <= self.lost.load(Ordering::Acquire);
        let client = live.client.clone().filter(|client| !is_lost && !client.is_closed())?;
        Some((client, live.connection))
    }

    pub(crate) fn status(&self) -> ServerStatus {
        self.state.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<ServerStatus> {
        self.state.subscribe()
    }

    /// Sends a fact to the supervisor. Facts that many calls report at once are sent once, so that the queue
    /// has room for requests of the user.
    pub(crate) fn tell(&self, fact: Fact) {
        let is_news = match fact {
            Fact::Wanted => !self.wanted.swap(true, Ordering::AcqRel),
            Fact::SessionLost { connection } => {
                self.lost.fetch_max(connection, Ordering::AcqRel) < connection
            }
            // Any other fact changes the state, so a call that needs the server must report it again.
            _ => {
                self.wanted.store(false, Ordering::Release);
                true
            }
        };
        if is_news && self.facts.try_send(fact).is_err() {
            self.wanted.store(false, Ordering::Release);
            // Without the supervisor's reaction the connection would stay lost for good. The next call reports it again.
            if let Fact::SessionLost { connection } = fact {
                let before = connection.saturating_sub(1);
                let (set, order) = (Ordering::AcqRel, Ordering::Relaxed);
                let _ = self.lost.compare_exchange(connection, before, set, order);
            }
        }
    }

    /// Called before the supervisor acts on a fact. A later `Wanted` must be sent again.
    fn accepted(&self, fact: Fact) {
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

    /// Whether the server was stopped for good.
    pub(crate) fn is_stopped_for_good(&self) -> bool {
        self.is_stopped_for_good.load(Ordering::Acquire)
    }

    /// Whether a call should wait for the server: it is starting, or the call starts it.
    pub(crate) fn is_starting(&self) -> bool {
        let status = self.state.borrow();
        !status.down
            && matches!(status.state, ServerState::Idle | ServerState::Connecting { attempt: 1 })
    }

    /// Waits until the server is neither starting nor about to start. Returns `None` after `limit`.
    pub(crate) async fn settled(&self, limit: Duration) -> Option<()> {
        let mut state = self.state.subscribe();
        let is_settled = |status: &ServerStatus| match status.state {
            ServerState::Connecting { attempt } => attempt > 1,
            state => !state.is_idle(),
        };
        let settled = state.wait_for(is_settled);
        tokio::time::timeout(limit, settled).await.ok()?.ok().map(drop)
    }

    /// Waits for an open connection, also through failed attempts. Returns `None` after `limit`, or if no further
    /// attempt will be made.
    async fn connected(&self, limit: Duration) -> Option<(Client, u64)> {
        let mut state = self.state.subscribe();
        let connected = async {
            loop {
                // Read the state before the connection, so that a connection opened in between is not missed.
                let now = state.borrow_and_update().state;
                if let Some(ready) = self.connection() {
                    return Some(ready);
                }
                match now {
                    _ if self.is_stopped_for_good() => return None,
                    ServerState::Disabled
                    | ServerState::NeedsLogin
                    | ServerState::Failed { next_try: None } => return None,
                    ServerState::Idle => self.tell(Fact::Wanted),
                    // A connection that has just ended still counts as connected until the supervisor has noticed.
                    _ => {}
                }
                state.changed().await.ok()?;
            }
        };
        tokio::time::timeout(limit, connected).await.ok().flatten()
    }

    /// Stops the supervisor for good and drops its connection.
    pub(crate) fn abort(&self) {
        if let Some(task) = &*lock(&self.task) {
            task.abort();
        }
        self.is_stopped_for_good.store(true, Ordering::Release);
        // Wake tasks that wait for a change of status.
        self.state.send_modify(|_| {});
    }

    /// Closes the connection gracefully once the calls in flight are done.
    pub(crate) async fn retire(&self) {
        // Abort first: a later status of this server would be attributed to the new server of the same name.
        self.abort();
        self.activity.idle().await;
        self.stop().await;
    }

    /// Closes the connection gracefully.
    pub(crate) async fn stop(&self) {
        let client = self.live().client.take();
        self.abort();
        if let Some(client) = client {
            self.record(Kind::ServerStop);
            client.close().await;
        }
    }

    pub(crate) fn show(&self, life: &Lifecycle) {
        let (state, class, down) = (life.shown(), life.class(), life.is_down());
        let (generation, tools, quarantined, problem) = {
            let known = self.live();
            let problem = known.failure.as_ref().map(|failure| failure.text.clone());
            (known.generation, known.hashes.len(), known.quarantined.len(), problem)
        };
        let is_up = state.is_connected();
        self.state.send_if_modified(|status| {
            let problem = problem.filter(|_| !is_up);
            let is_same = status.state == state
                && status.generation == generation
                && status.down == down
                && status.problem == problem;
            if !is_same {
                let name = status.name.clone();
                *status = ServerStatus {
                    name,
                    state,
                    tools,
                    quarantined,
                    generation,
                    problem,
                    down,
                    class: class.filter(|_| !is_up),
                };
            }
            !is_same
        });
    }
}
