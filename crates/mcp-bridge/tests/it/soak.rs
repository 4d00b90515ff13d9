//! A simulated day of failures on a paused clock: servers die, refuse, change and are disabled, at random from
//! a seed.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcp_bridge::{
    Bridge, CallContext, FailureKind, RawJson, ServerState, Tool, ToolOutcome, ToolSpec,
    connect::DefaultConnector,
    tool::{BoxFuture, Hints},
};
use mcp_server::{ServeOptions, ToolServer};
use mcp_transport::{Connect, ConnectError, InProcess, Inbound, Link, Locality, Outlet, pair};
use tokio::{sync::Notify, time::Instant};

use crate::support::{config, names, options, reached};

const SERVERS: usize = 6;
const DAY: Duration = Duration::from_secs(86_400);
/// How long a server takes to exit after its connection was closed.
const LINGERS: Duration = Duration::from_millis(700);

/// Echoes its arguments and the number of its server.
struct Echo(ToolSpec, usize);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        let answer = format!("{} {}", self.1, arguments.as_str());
        Box::pin(async move { ToolOutcome::text(answer) })
    }
}

/// A server with injected failures.
struct Frail {
    inner: InProcess,
    fate: Arc<Fate>,
    server: ToolServer,
}

#[derive(Default)]
struct Fate {
    death: Notify,
    /// The number of attempts to refuse from now on.
    refusals: AtomicUsize,
    alive: AtomicUsize,
    most_alive: AtomicUsize,
    starts: AtomicUsize,
}

/// A running instance of a server.
struct Life(Arc<Fate>);

impl Life {
    fn begin(fate: &Arc<Fate>) -> Self {
        let alive = fate.alive.fetch_add(1, Ordering::SeqCst) + 1;
        fate.most_alive.fetch_max(alive, Ordering::SeqCst);
        fate.starts.fetch_add(1, Ordering::SeqCst);
        Self(fate.clone())
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Frail {
    fn new(number: usize) -> Arc<Self> {
        let server = ToolServer::new(ServeOptions::new("frail", "1"));
        let mut spec = ToolSpec::new("echo", "Echoes.");
        spec.hints = Hints::reading();
        server.add_tool(Arc::new(Echo(spec, number)));
        let fate = Arc::new(Fate::default());
        let (known, ours) = (fate.clone(), server.clone());
        let inner = InProcess::new(move |link| {
            let (fate, server) = (known.clone(), ours.clone());
            Box::pin(async move {
                let _life = Life::begin(&fate);
                let (near, far) = pair();
                let serving = futures::future::join(server.serve_link(far), carry(link, near));
                tokio::select! {
                    _ = serving => {}
                    () = fate.death.notified() => {}
                }
            })
        });
        Arc::new(Self { inner, fate, server })
    }
}

/// Forwards messages between the links, and keeps the server's link for a while after the end.
async fn carry(mut host: Link, mut server: Link) {
    let (mut out, mut back) = (Vec::new(), Vec::new());
    let pass = |batch: &mut Vec<Inbound>, to: &Arc<dyn Outlet>| {
        for inbound in batch.drain(..).map(Inbound::read) {
            if let Inbound::Message(message) = inbound {
                let _ = to.send(message);
            }
        }
    };
    loop {
        let ended = tokio::select! {
            ended = poll_fn(|cx| host.inlet.poll_recv(cx, &mut out)) => ended.is_err(),
            ended = poll_fn(|cx| server.inlet.poll_recv(cx, &mut back)) => ended.is_err(),
        };
        pass(&mut out, &server.outlet);
        pass(&mut back, &host.outlet);
        if ended {
            break;
        }
    }
    drop(server);
    tokio::time::sleep(LINGERS).await;
}

impl Connect for Frail {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        let refusals = &self.fate.refusals;
        let left = refusals.load(Ordering::SeqCst);
        if left > 0 {
            refusals.store(left - 1, Ordering::SeqCst);
            return Box::pin(async { Err(ConnectError::Unavailable("down".into())) });
        }
        self.inner.connect()
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

/// Pseudo-random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }

    fn server(&mut self) -> usize {
        usize::try_from(self.below(SERVERS as u64)).unwrap()
    }
}

fn name(number: usize) -> String {
    format!("s{number}")
}

/// Calls a tool. It must return the right result, or fail at once because its server is down.
async fn check(bridge: &Bridge, number: usize, nonce: u64) -> bool {
    let arguments = format!(r#"{{"nonce":{nonce}}}"#);
    let raw = RawJson::parse(arguments.clone()).unwrap();
    let tool = format!("mcp__s{number}__echo");
    let call = bridge.call(&tool, raw, CallContext::default());
    let outcome = tokio::time::timeout(Duration::from_secs(60), call).await.expect("an end");
    match outcome.failure_kind() {
        None => {
            assert_eq!(outcome.text_content(), format!("{number} {arguments}"));
            true
        }
        Some(FailureKind::Unavailable | FailureKind::NotFound) => false,
        Some(_) => panic!("{outcome}"),
    }
}

async fn day(seed: u64) {
    let frail: Vec<_> = (0..SERVERS).map(Frail::new).collect();
    let mut connector = DefaultConnector::new();
    for (number, server) in frail.iter().enumerate() {
        connector = connector.register(name(number), server.clone());
    }
    let mut options = options(&crate::support::Fakes::default());
    options.connector = Arc::new(connector);
    options.ping_every = Some(Duration::from_secs(30));
    let bridge = Bridge::new(options);
    (0..SERVERS).for_each(|number| bridge.add_server_as_written(config(&name(number))));
    bridge.start().await;
    let order = names(&bridge);
    let metrics = tokio::runtime::Handle::current().metrics();
    let tasks = metrics.num_alive_tasks();

    let (began, mut dice, mut right) = (Instant::now(), Dice(seed), 0);
    while began.elapsed() < DAY {
        let number = dice.server();
        let victim = &frail[number];
        match dice.below(7) {
            0 | 1 => victim.fate.death.notify_waiters(),
            2 => {
                let refusals = usize::try_from(dice.below(8)).unwrap();
                victim.fate.refusals.store(refusals, Ordering::SeqCst);
                victim.fate.death.notify_waiters();
            }
            3 => assert!(bridge.reconnect(&name(number)).is_ok()),
            4 => assert!(bridge.disable(&name(number)).is_ok()),
            5 => victim.server.tools_changed(),
            _ => {
                bridge.enable(&name(number)).unwrap();
                bridge.connect(&name(number)).unwrap();
            }
        }
        for _ in 0..3 {
            right += usize::from(check(&bridge, dice.server(), dice.below(1 << 40)).await);
        }
        tokio::time::sleep(Duration::from_millis(dice.below(60_000))).await;
    }

    for (number, server) in frail.iter().enumerate() {
        server.fate.refusals.store(0, Ordering::SeqCst);
        bridge.enable(&name(number)).unwrap();
        bridge.connect(&name(number)).unwrap();
        reached(&bridge, &name(number), ServerState::is_connected).await;
        assert!(check(&bridge, number, 7).await, "{number} with seed {seed}");
        let most = server.fate.most_alive.load(Ordering::SeqCst);
        assert_eq!(most, 1, "{most} instances of {number} at once, with seed {seed}");
    }
    let starts: usize = frail.iter().map(|s| s.fate.starts.load(Ordering::SeqCst)).sum();
    assert!(starts > 500 && right > 1_000, "{starts} starts, {right} answers");
    assert_eq!(names(&bridge), order, "the same order, with seed {seed}");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let now = metrics.num_alive_tasks();
    assert!(now <= tasks, "{tasks} tasks at the start, {now} at the end, with seed {seed}");
}

#[tokio::test(start_paused = true)]
async fn day_of_random_failures_ends_in_the_initial_state() {
    for seed in 1..=2 {
        day(seed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn server_process_exits_before_it_is_restarted() {
    let frail = Frail::new(0);
    let mut options = options(&crate::support::Fakes::default());
    options.connector = Arc::new(DefaultConnector::new().register(name(0), frail.clone()));
    let bridge = Bridge::new(options);
    bridge.add_server_as_written(config(&name(0)));
    bridge.start().await;
    for _ in 0..3 {
        bridge.reconnect(&name(0)).unwrap();
        reached(&bridge, &name(0), ServerState::is_pending).await;
        bridge.disable(&name(0)).unwrap();
        bridge.enable(&name(0)).unwrap();
        bridge.connect(&name(0)).unwrap();
        reached(&bridge, &name(0), ServerState::is_connected).await;
    }
    assert_eq!(frail.fate.most_alive.load(Ordering::SeqCst), 1);
}
