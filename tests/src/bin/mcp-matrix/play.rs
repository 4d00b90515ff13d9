//! The tools of a server that the scenarios use.

use mcp_client::{ServerEvent, request::ListenFilter};
use serde_json::{Value, json};

/// A tool, its arguments, and a part of its result.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) answer: &'static str,
}

/// A call that changes something, and the notification that follows.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) filter: ListenFilter,
    pub(crate) trigger: Line,
    pub(crate) event: ServerEvent,
}

/// How a server or its session is lost.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    /// This tool ends the server without a response.
    Server(&'static str),
    /// This tool ends the connection without a response.
    Connection(&'static str),
    /// This tool makes the server drop the session. It returns, and the next call fails.
    Session(&'static str),
}

/// The calls for the scenarios of one server. Scenarios without a call are absent from the table.
#[derive(Clone)]
pub(crate) struct Play {
    /// Minimum number of tools.
    pub(crate) tools: usize,
    pub(crate) call: Line,
    /// Number of concurrent calls.
    pub(crate) many: usize,
    /// Reports progress in four steps.
    pub(crate) progress: Option<Line>,
    /// Reports progress once and never returns.
    pub(crate) cancel: Option<Line>,
    /// Returns the number of cancelled calls.
    pub(crate) cancelled: Option<&'static str>,
    pub(crate) ask: Option<Line>,
    pub(crate) changes: Vec<Change>,
    /// Ends its event stream before the response.
    pub(crate) resume: Option<Line>,
    pub(crate) loss: Option<Loss>,
}

/// A call without arguments.
pub(crate) fn line(tool: &'static str, answer: &'static str) -> Line {
    Line { tool, arguments: json!({}), answer }
}

impl Line {
    pub(crate) fn with(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }
}

impl Play {
    /// A server that only supports calls.
    pub(crate) fn calls(tools: usize, call: Line) -> Self {
        Self {
            tools,
            call,
            many: 16,
            progress: None,
            cancel: None,
            cancelled: None,
            ask: None,
            changes: Vec::new(),
            resume: None,
            loss: None,
        }
    }

    /// The calls that all our scripts support.
    pub(crate) fn script() -> Self {
        Self {
            progress: Some(line("count", "counted to 4").with(json!({"steps": 4}))),
            cancel: Some(line("wait", "")),
            cancelled: Some("cancelled"),
            loss: Some(Loss::Server("die")),
            ..Self::calls(6, line("add", "5").with(json!({"a": 2, "b": 3})))
        }
    }

    /// Adds elicitation. The colour is a default that the user does not change.
    pub(crate) fn asks(mut self) -> Self {
        self.ask = Some(line("ask", "Hello Ada, blue it is"));
        self
    }

    pub(crate) fn grows(mut self) -> Self {
        let mut filter = ListenFilter::default();
        filter.tools = true;
        let trigger = line("grow", "grew");
        self.changes.push(Change { filter, trigger, event: ServerEvent::ToolsChanged });
        self
    }

    pub(crate) fn with_note(mut self) -> Self {
        self.changes.push(updated("memo://note", line("touch", "touched")));
        self
    }

    pub(crate) fn resumes(mut self) -> Self {
        self.resume = Some(line("pause", "resumed"));
        self
    }

    pub(crate) fn lost_by(mut self, loss: Option<Loss>) -> Self {
        self.loss = loss;
        self
    }

    /// Removes the scenario of cancelled calls.
    pub(crate) fn never_cancels(mut self) -> Self {
        (self.cancel, self.cancelled) = (None, None);
        self
    }

    pub(crate) fn everything() -> Self {
        let operation = |duration: f64, steps: u32, answer| {
            let arguments = json!({"duration": duration, "steps": steps});
            line("trigger-long-running-operation", answer).with(arguments)
        };
        let mut filter = ListenFilter::default();
        filter.resources = true;
        let data = json!({"name": "a.gz", "data": "data:text/plain,hello"});
        let trigger = line("gzip-file-as-resource", "").with(data);
        Self {
            progress: Some(operation(0.2, 4, "completed")),
            cancel: Some(operation(20.0, 40, "")),
            ask: Some(line("trigger-elicitation-request", "Ada")),
            changes: vec![Change { filter, trigger, event: ServerEvent::ResourcesChanged }],
            ..Self::calls(12, line("echo", "Echo: hé").with(json!({"message": "hé"})))
        }
    }

    /// Fetching a page takes this server seconds of CPU time.
    pub(crate) fn fetch() -> Self {
        let call = line("fetch", "a page of the matrix").with(json!({"url": "{page}"}));
        Self { many: 4, ..Self::calls(1, call) }
    }

    pub(crate) fn memory() -> Self {
        let entities =
            json!({"entities": [{"name": "Ada", "entityType": "person", "observations": []}]});
        let create = line("create_entities", "Ada").with(entities);
        Self {
            changes: vec![updated("memory://knowledge-graph", create)],
            ..Self::calls(9, line("read_graph", "entities"))
        }
    }
}

fn updated(uri: &str, trigger: Line) -> Change {
    let mut filter = ListenFilter::default();
    filter.resource_uris = vec![uri.to_owned()];
    Change { filter, trigger, event: ServerEvent::ResourceUpdated { uri: uri.to_owned() } }
}
