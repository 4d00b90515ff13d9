//! The behaviour of the servers in the matrix, without I/O: a message in, actions out.
//!
//! The tools are `echo`, which works, and `work`, which triggers the fault.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::matrix::{Fault, Transport};

/// Size of an oversized answer: more than [`crate::rig::MAX_MESSAGE`].
const OVERSIZED: usize = 400 << 10;

/// An action of a server.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// A message.
    Message(Value),
    /// Bytes that are not a message, framed as the transport frames messages.
    Garbage(&'static [u8]),
    /// A message sent byte by byte.
    Drip(Value),
    /// Endless bytes that could be the beginning of a message.
    EndlessDrip,
    /// No answer; the request stays open.
    Silence,
    /// A message that is held back until the next request has been answered.
    Hold(Value),
    /// An HTTP status and a `Retry-After` header.
    Status(u16, Option<&'static str>),
    /// Closes the connection.
    HangUp,
    /// Kills the server process with `SIGKILL`.
    Die,
    /// Stops the server process with `SIGSTOP`.
    Freeze,
}

/// A `Retry-After` far in the future.
const LATER: Say = Say::Status(503, Some("Fri, 01 Nov 2999 00:00:00 GMT"));

/// The state of one server.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) transport: Transport,
    fault: Fault,
    /// The folder for signals of the rig and process ids of servers.
    folder: PathBuf,
    /// Whether the tools had been replaced when this server started.
    has_other_tools: bool,
}

pub(crate) const GARBAGE: &[u8] = b"Listening on stdio!\n{\"jsonrpc\":\"2.0\",\"id\n\xff\xfe\x80\n";

impl Script {
    pub(crate) fn new(transport: Transport, fault: Fault, folder: PathBuf) -> Self {
        let has_other_tools = folder.join("other").exists();
        Self { transport, fault, folder, has_other_tools }
    }

    /// Whether the fault is turned off.
    pub(crate) fn is_healed(&self) -> bool {
        self.folder.join("healed").exists()
    }

    /// The action for a fresh connection, before any message.
    pub(crate) fn upgrade(&self) -> Option<Say> {
        match self.fault {
            _ if self.is_healed() => None,
            Fault::StatusAtConnect(status) => Some(Say::Status(status, None)),
            Fault::ClockAtConnect => Some(LATER),
            _ => None,
        }
    }

    /// Whether a stream is closed as soon as it is opened.
    pub(crate) fn hangs_up_at_once(&self) -> bool {
        self.fault == Fault::CloseInHandshake && !self.is_healed()
    }

    /// Records the id of this process for the leak check.
    pub(crate) fn sign(&self) {
        let pid = std::process::id().to_string();
        fs::write(self.folder.join(format!("pid-{pid}")), pid).expect("the rig's folder is there");
    }

    /// Whether an in-process server, which cannot be killed, must end at the next message.
    fn is_replaced(&self) -> bool {
        self.transport == Transport::InProcess
            && !self.has_other_tools
            && self.folder.join("other").exists()
    }

    pub(crate) fn hear(&self, message: &Value) -> Vec<Say> {
        if self.is_replaced() {
            return vec![Say::Die];
        }
        let Some(id) = message.get("id").filter(|_| message["method"].is_string()) else {
            return Vec::new();
        };
        let result = |result: Value| vec![Say::Message(answer(id, &result))];
        let method = message["method"].as_str().unwrap_or_default();
        if matches!(method, "server/discover" | "initialize")
            && let Some(fault) = self.at_first()
        {
            return vec![fault];
        }
        match method {
            "server/discover" if self.transport.is_modern() => result(json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": { "listChanged": true } },
            })),
            "initialize" if !self.transport.is_modern() => result(json!({
                "protocolVersion": if self.transport == Transport::Sse { "2024-11-05" } else { "2025-11-25" },
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "faults", "version": "1" },
            })),
            "ping" => result(json!({})),
            "tools/list" => {
                result(json!({ "resultType": "complete", "tools": self.tools(), "ttlMs": 0 }))
            }
            "tools/call" => self.call(id, &message["params"]),
            "subscriptions/listen" => {
                let acknowledged = json!({
                    "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                    "params": {
                        "_meta": { "io.modelcontextprotocol/subscriptionId": id },
                        "notifications": { "toolsListChanged": true },
                    },
                });
                vec![Say::Message(acknowledged), Say::Silence]
            }
            _ => vec![Say::Message(refusal(id, -32601, "unknown method"))],
        }
    }

    fn at_first(&self) -> Option<Say> {
        match self.fault {
            Fault::CloseInHandshake if !self.is_healed() => Some(Say::HangUp),
            _ => self.upgrade(),
        }
    }

    fn tools(&self) -> Value {
        let tool = |name: &str| json!({ "name": name, "description": "A tool.", "inputSchema": { "type": "object" } });
        let second = if self.has_other_tools { "other" } else { "work" };
        json!([tool("echo"), tool(second)])
    }

    fn call(&self, id: &Value, params: &Value) -> Vec<Say> {
        let name = params["name"].as_str().unwrap_or_default();
        let number = &params["arguments"]["n"];
        let right = answer(id, &text(&format!("{name} {number}")));
        if name == "work" && self.has_other_tools {
            return vec![Say::Message(refusal(id, -32602, "unknown tool"))];
        }
        if name != "work" || self.is_healed() {
            return vec![Say::Message(right)];
        }
        match self.fault {
            Fault::Kill => vec![Say::Die],
            Fault::Hang => vec![Say::Silence],
            Fault::HalfOpen => vec![Say::Freeze],
            Fault::Drip => vec![Say::Drip(right)],
            Fault::EndlessDrip => vec![Say::EndlessDrip],
            Fault::GarbageFirst => vec![Say::Garbage(GARBAGE), Say::Message(right)],
            Fault::GarbageOnly => vec![Say::Garbage(GARBAGE)],
            Fault::Oversized => vec![Say::Message(answer(id, &text(&"x".repeat(OVERSIZED))))],
            Fault::WrongId => vec![Say::Message(answer(&json!(987_654), &text("not yours")))],
            Fault::Duplicate => vec![Say::Message(right.clone()), Say::Message(right)],
            Fault::Reorder if number == 1 => vec![Say::Hold(right)],
            Fault::Status(status) => vec![Say::Status(status, None)],
            Fault::Clock => vec![LATER],
            _ => vec![Say::Message(right)],
        }
    }
}

fn answer(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn text(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}
