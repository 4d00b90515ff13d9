//! A client that writes raw JSON-RPC messages.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::Machine;

/// How long to wait for an expected message.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Reads lines on a separate thread.
pub(crate) fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// A gateway with a client that writes raw messages.
pub(crate) struct Gateway {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    remarks: Receiver<String>,
    next: u64,
}

impl Gateway {
    pub(crate) fn start(machine: &Machine, args: &[&str], capabilities: &Value) -> Self {
        let mut command = machine.command(["serve"]);
        command.args(args);
        Self::of(command, capabilities)
    }

    /// Starts a command that runs a gateway.
    pub(crate) fn of(mut command: Command, capabilities: &Value) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let remarks = lines(child.stderr.take().unwrap());
        let output = lines(output);
        let mut gateway = Self { child, input, output, remarks, next: 0 };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "by hand", "version": "1"}});
        let answer = gateway.ask("initialize", &params);
        assert_eq!(answer["result"]["serverInfo"]["name"], "mcp");
        gateway.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        gateway
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub(crate) fn hear(&mut self) -> Value {
        let line = self.output.recv_timeout(TIMEOUT).expect("the gateway sends no more messages");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("the gateway said {line:?}"))
    }

    pub(crate) fn hear_until(&mut self, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let message = self.hear();
            if is_it(&message) {
                return message;
            }
        }
    }

    pub(crate) fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.hear_until(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": name, "arguments": arguments}))["result"].clone()
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until `wanted` appears on stderr.
    pub(crate) fn remarks(&self, wanted: &str) {
        let mut said = Vec::new();
        while let Ok(line) = self.remarks.recv_timeout(TIMEOUT) {
            if line.contains(wanted) {
                return;
            }
            said.push(line);
        }
        panic!("no {wanted:?} in {said:?}");
    }

    /// Waits for the response to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.hear_until(|message| message["id"] == id && message.get("method").is_none())
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Waits for the process to exit.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Waits for the process to exit. Kills it after `limit`.
    #[cfg(unix)]
    pub(crate) fn ended_within(mut self, limit: Duration) -> Option<i32> {
        use nix::{sys::signal, unistd::Pid};
        let pid = Pid::from_raw(self.child.id().try_into().unwrap());
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send(self.child.wait().unwrap().code()));
        ended.recv_timeout(limit).unwrap_or_else(|_| {
            signal::kill(pid, signal::Signal::SIGKILL).unwrap();
            panic!("it has not ended after {limit:?}")
        })
    }

    /// Closes stdin, and waits for a graceful exit.
    pub(crate) fn end(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}
