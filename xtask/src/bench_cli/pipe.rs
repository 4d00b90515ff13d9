//! Measures the overhead of the gateway: the same client with a server, and with the gateway in front of that server.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Rounds alternate, so that load on the machine affects both.
const ROUNDS: usize = 20;
const CALLS: usize = 200;
/// In microseconds.
const TARGET: u128 = 1_000;

/// Measures both, and formats the result as one line.
pub(super) fn compare(ours: impl Fn(&[&str]) -> Command) -> Result<String, String> {
    let mut direct = Client::start(ours(&["demo", "--stdio"]), "weekday")?;
    let serve =
        ["serve", "--config", "one.json", "--trust-host", "--names", "own", "--mode", "all"];
    let mut through = Client::start(ours(&serve), "weekday")?;
    let (mut at_server, mut at_gateway) = (Vec::new(), Vec::new());
    for client in [&mut direct, &mut through] {
        client.calls(CALLS)?;
    }
    for _ in 0..ROUNDS {
        at_server.extend(direct.calls(CALLS)?);
        at_gateway.extend(through.calls(CALLS)?);
    }
    let (server, gateway) = (median(at_server), median(at_gateway));
    let added = gateway.saturating_sub(server).as_micros();
    let verdict = if added <= TARGET { "" } else { "  MISS" };
    Ok(format!(
        "a call over a pipe: {} us at the server, {} us through the gateway: {added} us added, target {TARGET}{verdict}",
        server.as_micros(),
        gateway.as_micros(),
    ))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A 2025-11-25 client that makes one request at a time.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    tool: &'static str,
    next: u64,
}

impl Client {
    fn start(mut command: Command, tool: &'static str) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("it does not start: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err("no pipes".into()) };
        let mut client = Self { child, input, output: BufReader::new(output), tool, next: 0 };
        client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}}),
        )?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).map_err(|error| format!("it hung up: {error}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line);
            if !read.is_ok_and(|bytes| bytes > 0) {
                return Err("it hung up".into());
            }
            let message: Value =
                serde_json::from_str(&line).map_err(|error| format!("not JSON: {error}"))?;
            if message["id"] == id {
                return Ok(message["result"].clone());
            }
        }
    }

    /// The durations of `count` calls.
    fn calls(&mut self, count: usize) -> Result<Vec<Duration>, String> {
        let params = json!({"name": self.tool, "arguments": {"date": "2020-01-01"}});
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let began = Instant::now();
            let result = self.ask("tools/call", &params)?;
            times.push(began.elapsed());
            if result["content"][0]["text"] != "2020-01-01 is a Wednesday" {
                return Err(format!("a call went wrong: {result}"));
            }
        }
        Ok(times)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
