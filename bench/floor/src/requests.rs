//! The requests, rendered in advance.

use bench_worker::Era;

// A small client's `_meta`, repeated in every request of 2026-07-28.
macro_rules! meta {
    () => {
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"floor","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#
    };
}

/// The requests of one era.
pub(crate) struct Requests {
    pub(crate) open: &'static str,
    /// Empty if the era does not have this request.
    pub(crate) opened: &'static str,
    small: &'static str,
    large: &'static str,
    pub(crate) list: &'static str,
}

impl Requests {
    pub(crate) fn of(era: Era) -> &'static Self {
        if era == Era::Modern { &MODERN } else { &LEGACY }
    }

    pub(crate) fn call(&self, tool: &str) -> &'static str {
        if tool == "large" { self.large } else { self.small }
    }
}

const LEGACY: Requests = Requests {
    open: "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"floor\",\"version\":\"1.0.0\"}}}\n",
    opened: "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
    small: "{\"jsonrpc\":\"2.0\",\"id\":1234,\"method\":\"tools/call\",\"params\":{\"name\":\"small\"}}\n",
    large: "{\"jsonrpc\":\"2.0\",\"id\":1234,\"method\":\"tools/call\",\"params\":{\"name\":\"large\"}}\n",
    list: "{\"jsonrpc\":\"2.0\",\"id\":1234,\"method\":\"tools/list\"}\n",
};

const MODERN: Requests = Requests {
    open: concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"#,
        meta!(),
        "}}\n"
    ),
    opened: "",
    small: concat!(
        r#"{"jsonrpc":"2.0","id":1234,"method":"tools/call","params":{"name":"small","#,
        meta!(),
        "}}\n"
    ),
    large: concat!(
        r#"{"jsonrpc":"2.0","id":1234,"method":"tools/call","params":{"name":"large","#,
        meta!(),
        "}}\n"
    ),
    list: concat!(
        r#"{"jsonrpc":"2.0","id":1234,"method":"tools/list","params":{"#,
        meta!(),
        "}}\n"
    ),
};
