//! A host that measures its memory, open files and children before and after a run.
//!
//! Arguments: `in-process CYCLES`, `processes PROGRAM CYCLES`, or `gigabyte PROGRAM-OR-URL`. It is a separate process,
//! so that the figures include no other memory. It prints one line of JSON.

#![expect(clippy::print_stdout, reason = "the figures are the product")]

use std::{fs, sync::Arc, time::Duration};

use futures::future::join_all;
use mcp_bridge::{
    Bridge, BridgeOptions, CallContext, RawJson, ServerConfig, ServerState, Tool, ToolOutcome,
    ToolSpec, connect::DefaultConnector, tool::BoxFuture,
};
use mcp_config::{Remote, Sdk, Stdio, Transport};
use mcp_server::{ServeOptions, ToolServer};
use serde_json::{Value, json};

/// Servers that connect and disconnect concurrently.
const SERVERS: usize = 4;
/// Connections before the first measurement, until all permanent resources exist.
const WARM_UP: usize = 100;
/// Time limit for resources to be released.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let measured = runtime.expect("a runtime").block_on(async {
        match words[..] {
            ["in-process", cycles] => measure(in_process(), number(cycles)).await,
            ["processes", program, cycles] => {
                let way = Transport::Stdio(Stdio::new(program));
                measure(bridge(BridgeOptions::default(), &way), number(cycles)).await
            }
            ["gigabyte", server] => gigabyte(server).await,
            _ => panic!("unknown arguments: {words:?}"),
        }
    });
    println!("{measured}");
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn bridge(mut options: BridgeOptions, way: &Transport) -> Bridge {
    options.tool_search = false;
    options.client.handshake_timeout = PATIENCE;
    let bridge = Bridge::new(options);
    for name in names() {
        let mut config = ServerConfig::new(name.parse().expect("a name"), way.clone());
        config.trust = true;
        bridge.add_server_as_written(config);
    }
    bridge
}

fn names() -> Vec<String> {
    (0..SERVERS).map(|n| format!("s{n}")).collect()
}

fn in_process() -> Bridge {
    let echo: Arc<dyn Tool> = Arc::new(Echo(ToolSpec::new("echo", "Echoes.")));
    let server = ToolServer::of(ServeOptions::new("own", "1"), move || vec![echo.clone()]);
    let mut options = BridgeOptions::default();
    let mut connector = DefaultConnector::new();
    for name in names() {
        connector = connector.register(name, Arc::new(server.in_process()));
    }
    options.connector = Arc::new(connector);
    bridge(options, &Transport::Sdk(Sdk::default()))
}

struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move { ToolOutcome::text(arguments.as_str()) })
    }
}

/// Connects, calls and disconnects `cycles` times.
async fn measure(bridge: Bridge, cycles: usize) -> Value {
    run(&bridge, WARM_UP).await;
    let before = figures(usize::MAX).await;
    run(&bridge, cycles).await;
    let after = figures(before.files).await;
    let connects = bridge.counters().connects;
    json!({"before": before.to_json(), "after": after.to_json(), "connects": connects})
}

async fn run(bridge: &Bridge, cycles: usize) {
    for _ in 0..cycles / SERVERS {
        join_all(names().iter().map(|name| cycle(bridge, name))).await;
    }
}

async fn cycle(bridge: &Bridge, name: &str) {
    let _ = bridge.enable(name);
    let _ = bridge.connect(name);
    reached(bridge, name, ServerState::is_connected).await;
    let outcome = call(bridge, &format!("mcp__{name}__echo")).await;
    assert!(!outcome.is_error, "{outcome}");
    let _ = bridge.disable(name);
    reached(bridge, name, ServerState::is_disabled).await;
}

async fn reached(bridge: &Bridge, name: &str, is_it: fn(&ServerState) -> bool) {
    let reached = bridge.wait_for(name, |status| is_it(&status.state));
    tokio::time::timeout(PATIENCE, reached).await.expect("a server that works");
}

async fn call(bridge: &Bridge, tool: &str) -> ToolOutcome {
    bridge.call(tool, RawJson::empty_object(), CallContext::default()).await
}

struct Figures {
    kib: usize,
    files: usize,
    children: usize,
}

impl Figures {
    fn to_json(&self) -> Value {
        json!({"kib": self.kib, "files": self.files, "children": self.children})
    }
}

/// The resources of this process once its servers have exited; the watchdog may stay.
///
/// Tasks and blocking threads may close a server's pipes a moment after its process has exited. So open files are
/// counted once their number has stopped falling and is at most `most_files`, or after `PATIENCE`.
async fn figures(most_files: usize) -> Figures {
    let ended = async {
        let mut quiet = 0;
        let mut last = usize::MAX;
        while quiet < 20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let files = open_files();
            let settled = children() <= 1 && files <= most_files && files == last;
            quiet = if settled { quiet + 1 } else { 0 };
            last = files;
        }
    };
    let _ = tokio::time::timeout(PATIENCE, ended).await;
    Figures { kib: kib("VmRSS:"), files: open_files(), children: children() }
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("our threads");
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    tasks.filter_map(|task| of(task.ok()?)).map(|pids| pids.split_whitespace().count()).sum()
}

fn kib(line: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("our status");
    let line = status.lines().find(|known| known.starts_with(line)).expect("the line");
    number(line.split_whitespace().nth(1).expect("a number"))
}

/// Calls a tool with a result of a gigabyte, and another tool before and after.
async fn gigabyte(server: &str) -> Value {
    let way = if server.starts_with("http") {
        Transport::Http(Remote::new(server))
    } else {
        let mut program = Stdio::new(server);
        program.args = vec!["gigabyte".into()];
        Transport::Stdio(program)
    };
    let mut options = BridgeOptions::default();
    options.client.handshake_timeout = PATIENCE;
    let bridge = Bridge::new(options);
    let mut config = ServerConfig::new("srv".parse().expect("a name"), way);
    config.trust = true;
    bridge.add_server_as_written(config);
    bridge.start().await;
    let echo = async || call(&bridge, "mcp__srv__echo").await.text_content();
    let first = echo().await;
    let before = kib("VmHWM:");
    let outcome = call(&bridge, "mcp__srv__gigabyte").await;
    let peak = kib("VmHWM:") - before;
    json!({
        "said": [first, echo().await],
        "kind": format!("{:?}", outcome.failure_kind()),
        "text": outcome.text_content(),
        "grown_kib": peak,
        "letters": bridge.failed_calls().len(),
        "connects": bridge.counters().connects,
        "problems": bridge.explain_all().len(),
    })
}
