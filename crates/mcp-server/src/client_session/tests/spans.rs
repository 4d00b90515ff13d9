//! Spans of requests, as a subscriber sees them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use super::Play;

type Fields = BTreeMap<&'static str, String>;

/// Records every span of this crate with its fields, and the spans that are entered.
#[derive(Clone, Default)]
struct Spans {
    seen: Arc<Mutex<BTreeMap<u64, Fields>>>,
    entered: Arc<Mutex<Vec<u64>>>,
    next: Arc<AtomicU64>,
}

struct Collect<'a>(&'a mut Fields);

impl Visit for Collect<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("mcp_server") && metadata.is_span()
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields::from([("name", attributes.metadata().name().to_owned())]);
        attributes.record(&mut Collect(&mut fields));
        self.seen.lock().unwrap().insert(id, fields);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut seen = self.seen.lock().unwrap();
        values.record(&mut Collect(seen.get_mut(&span.into_u64()).unwrap()));
    }

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        self.entered.lock().unwrap().retain(|id| *id != span.into_u64());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}

/// Set in the child process that records spans.
const ALONE: &str = "MCP_SERVER_TEST_SPANS";

/// Runs in a separate process: `tracing` caches for the whole process whether a span has a subscriber.
#[test]
fn requests_have_server_spans_with_the_names_of_opentelemetry() {
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(record_spans());
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let name = format!("{module}::requests_have_server_spans_with_the_names_of_opentelemetry");
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", &name, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

async fn record_spans() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let mut play = Play::initialized().await;
    let call = |id: u8, name: &str| {
        format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"{name}"}}}}"#)
    };
    play.say(&call(1, "back")).await;
    play.say(&call(2, "fail")).await;
    play.say(&call(3, "unknown")).await;
    play.say(r#"{"id":4,"method":"tools/list"}"#).await;
    play.say(r#"{"id":5,"method":"resources/read","params":{"uri":"a:b"}}"#).await;

    let seen: Vec<Fields> = spans.seen.lock().unwrap().values().cloned().collect();
    let names: Vec<&str> = seen.iter().map(|fields| fields["otel.name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "tools/call back",
            "tools/call fail",
            "tools/call unknown",
            "tools/list",
            "resources/read"
        ]
    );
    for (at, fields) in seen.iter().enumerate() {
        assert_eq!(
            (fields["name"].as_str(), fields["otel.kind"].as_str()),
            ("mcp.request", "server")
        );
        assert_eq!(fields["mcp.protocol.version"], "2025-06-18");
        assert_eq!(fields["jsonrpc.request.id"], (at + 1).to_string());
    }
    assert_eq!(seen[0]["gen_ai.tool.name"], "back");
    let errors: Vec<Option<&str>> =
        seen.iter().map(|fields| fields.get("error.type").map(String::as_str)).collect();
    let expected =
        [None, Some("tool_error"), Some("invalid_params"), None, Some("unknown_resource")];
    assert_eq!(errors, expected);
    assert_eq!(seen[2]["rpc.response.status_code"], "-32602");
    assert_eq!(seen[4]["mcp.resource.uri"], "a:b");
    assert!(spans.entered.lock().unwrap().is_empty(), "every span was left");
}
