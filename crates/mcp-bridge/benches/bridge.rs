//! Measures the overhead of the bridge over a bare client: `cargo bench -p mcp-bridge [--features validate]`.
//!
//! Both sides talk to the same in-process server, so no pipe or socket is measured. Blocks of calls alternate
//! between the two, and the median of the blocks is reported. Where the system provides it, the CPU time of
//! this thread is used, because other work on the machine would distort wall time. Client, bridge and server
//! all run on that thread.

use std::{
    fs,
    future::Future,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use mcp_bridge::{
    Bridge, BridgeOptions, CallContext, RawJson, ServerConfig, Tool, ToolOutcome, ToolSpec,
    connect::{Connector, DefaultConnector, ServerRoute},
    tool::{BoxFuture, Hints},
};
use mcp_client::{Client, ClientOptions};
use mcp_config::{Sdk, Transport};
use mcp_server::{ServeOptions, ToolServer};
use mcp_transport::{Connect, ConnectError, InProcess, Link, Locality};

struct Fixed(ToolSpec, String);

impl Tool for Fixed {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async { ToolOutcome::text(self.1.clone()) })
    }
}

fn server(tools: usize) -> ToolServer {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer"}},"required":["path"]}"#;
    let tool = |name: String, text: String| -> Arc<dyn Tool> {
        let mut spec = ToolSpec::new(name, "Reads a file.");
        spec.hints = Hints::reading();
        spec.input_schema = RawJson::parse(schema).expect("valid JSON");
        Arc::new(Fixed(spec, text))
    };
    let mut all =
        vec![tool("small".into(), "hello".into()), tool("large".into(), "x".repeat(1 << 20))];
    all.extend((2..tools).map(|n| tool(format!("tool_{n}"), String::new())));
    ToolServer::of(ServeOptions::new("bench", "1"), move || all.clone())
}

async fn bridge(tools: usize) -> Bridge {
    let mut options = BridgeOptions::default();
    options.tool_search = false;
    options.output.max_chars = 2 << 20;
    let server = Arc::new(server(tools).in_process());
    options.connector = Arc::new(DefaultConnector::new().register("s", server));
    let bridge = Bridge::new(options);
    let mut config =
        ServerConfig::new("s".parse().expect("a name"), Transport::Sdk(Sdk::default()));
    config.trust = true;
    bridge.add_server_as_written(config);
    bridge.start().await;
    bridge
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn report(what: &str, time: Duration, note: &str) {
    eprintln!("{what:<44} {:>9.2} µs  {note}", time.as_secs_f64() * 1e6);
}

/// The CPU time of this thread, or the elapsed time if the system does not report it.
fn worked(since: Instant) -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|line| line.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// The average time of one of `calls` calls.
async fn block<F: Future<Output = ()>>(calls: u32, call: impl Fn() -> F) -> Duration {
    let since = Instant::now();
    let begin = worked(since);
    for _ in 0..calls {
        call().await;
    }
    worked(since).saturating_sub(begin) / calls
}

/// Measures blocks of calls through both, alternating.
async fn overhead(client: &Client, bridge: &Bridge, tool: &str, calls: u32) {
    const ROUNDS: usize = 15;
    let arguments = RawJson::parse(r#"{"path":"src/main.rs","lines":10}"#).expect("valid JSON");
    let turn = bridge.snapshot();
    let bridged = turn.get(&format!("mcp__s__{tool}")).expect("the tool").clone();
    let bare = async || {
        let result = client.call_tool_raw(tool, arguments.clone()).await;
        drop(black_box(result.expect("a result")));
    };
    let through = async || {
        let outcome = bridged.call(arguments.clone(), CallContext::default()).await;
        assert!(!outcome.is_error, "{outcome}");
        drop(black_box(outcome));
    };
    let (mut ours, mut theirs, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        // The second block reuses memory that the first has freed, so the order alternates.
        let (one, other) = if round % 2 == 0 {
            let one = block(calls, &bare).await;
            (one, block(calls, &through).await)
        } else {
            let other = block(calls, &through).await;
            (block(calls, &bare).await, other)
        };
        // The first round is a warm-up.
        if round > 0 {
            theirs.push(one);
            ours.push(other);
            more.push(other.as_secs_f64() - one.as_secs_f64());
        }
    }
    more.sort_unstable_by(f64::total_cmp);
    let (bare, through, more) = (median(theirs), median(ours), more[ROUNDS / 2]);
    report(&format!("{tool} call, bare client"), bare, "");
    let percent = more / bare.as_secs_f64() * 100.0;
    let note = format!("{:+.2} µs, {percent:+.0} %", more * 1e6);
    report(&format!("{tool} call, through the bridge"), through, &note);
}

/// A server with a slow start.
struct Slow(InProcess, Duration);

impl Connect for Slow {
    fn connect(&self) -> BoxFuture<'_, Result<Link, ConnectError>> {
        Box::pin(async {
            tokio::time::sleep(self.1).await;
            self.0.connect().await
        })
    }

    fn locality(&self) -> Locality {
        Locality::Local
    }
}

struct SlowServers(Arc<Slow>);

impl Connector for SlowServers {
    fn open(&self, _: &ServerConfig) -> Result<ServerRoute, ConnectError> {
        Ok(ServerRoute::new(self.0.clone()))
    }
}

/// Starts thirty servers, three at a time: ideally ten batches of `EACH`.
async fn start() {
    const EACH: Duration = Duration::from_millis(100);
    let mut options = BridgeOptions::default();
    options.local_batch = 3;
    options.connector = Arc::new(SlowServers(Arc::new(Slow(server(20).in_process(), EACH))));
    let bridge = Bridge::new(options);
    for n in 0..30 {
        let name = format!("s{n}").parse().expect("a name");
        bridge.add_server_as_written(ServerConfig::new(name, Transport::Sdk(Sdk::default())));
    }
    let begin = Instant::now();
    bridge.start().await;
    let ratio = begin.elapsed().as_secs_f64() / (EACH * 10).as_secs_f64();
    assert_eq!(bridge.counters().connects, 30);
    report("start of 30 servers of 100 ms each", begin.elapsed(), &format!("{ratio:.3} of ideal"));
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    eprintln!("checked against schemas: {}", cfg!(feature = "validate"));
    let client = Client::connect(&server(2).in_process(), ClientOptions::default())
        .await
        .expect("an in-process server connects");
    let small = bridge(2).await;
    overhead(&client, &small, "small", 10_000).await;
    overhead(&client, &small, "large", 60).await;

    let thousand = bridge(1_000).await;
    let first = Instant::now();
    assert_eq!(thousand.snapshot().tools().len(), 1_000);
    report("first snapshot of 1,000 tools", first.elapsed(), "");
    let mut times = Vec::new();
    for _ in 0..10_000 {
        let begin = Instant::now();
        drop(black_box(thousand.snapshot()));
        times.push(begin.elapsed());
    }
    report("snapshot of 1,000 tools, nothing changed", median(times), "");

    start().await;
}
