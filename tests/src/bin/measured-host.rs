//! A host that says what it had before and after: memory, open files, children.
//!
//! Arguments: `in-process CYCLES`, `processes PROGRAM CYCLES`, or `gigabyte PROGRAM-OR-URL`. It is a process
//! of its own, so that nobody else's memory is in the figures. One line of JSON is its answer.

#![expect(clippy::print_stdout, reason = "the figures are the product")]

use std::{fs, sync::Arc, time::Duration};

use futures::future::join_all;
use mcp_bridge::{
    BoxFuture, Bridge, BridgeOptions, CallContext, DefaultConnector, RawJson, ServeOptions,
    ServerConfig, ServerState, Tool, ToolOutcome, ToolServer, ToolSpec,
};
use mcp_config::{Remote, Sdk, Stdio, Transport};
use serde_json::{Value, json};

/// Servers that come and go at the same time.
const SERVERS: usize = 4;
/// Connections until everything that is kept for good is there.
const WARM_UP: usize = 100;
/// For what ends by itself soon.
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
        bridge.add_server(config);
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

/// Connects, calls and disconnects so many times.
async fn measure(bridge: Bridge, cycles: usize) -> Value {
    run(&bridge, WARM_UP).await;
    let before = figures().await;
    run(&bridge, cycles).await;
    let after = figures().await;
    let connects = bridge.counters().connects;
    json!({"before": before, "after": after, "connects": connects})
}

async fn run(bridge: &Bridge, cycles: usize) {
    for _ in 0..cycles / SERVERS {
        join_all(names().iter().map(|name| cycle(bridge, name))).await;
    }
}

async fn cycle(bridge: &Bridge, name: &str) {
    bridge.enable(name);
    bridge.connect(name);
    reached(bridge, name, ServerState::Connected).await;
    let outcome = call(bridge, &format!("mcp__{name}__echo")).await;
    assert!(!outcome.is_error, "{outcome}");
    bridge.disable(name);
    reached(bridge, name, ServerState::Disabled).await;
}

async fn reached(bridge: &Bridge, name: &str, state: ServerState) {
    let reached = bridge.wait_for(name, |status| status.state == state);
    tokio::time::timeout(PATIENCE, reached).await.expect("a server that works");
}

async fn call(bridge: &Bridge, tool: &str) -> ToolOutcome {
    bridge.call(tool, RawJson::empty_object(), CallContext::default()).await
}

/// What this process has, once its servers are gone: the watchdog may stay.
async fn figures() -> Value {
    let gone = async {
        while children() > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = tokio::time::timeout(PATIENCE, gone).await;
    let files = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    json!({"kib": kib("VmRSS:"), "files": files, "children": children()})
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

/// Calls a tool whose result has a gigabyte, and another one before and after.
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
    bridge.add_server(config);
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
        "letters": bridge.dead_letters().len(),
        "connects": bridge.counters().connects,
        "problems": bridge.explain_all().len(),
    })
}
