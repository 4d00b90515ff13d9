//! Spans of handshakes and requests, as a subscriber sees them.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use mcp_client::ClientOptions;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::support::{modern, soon};

type Fields = BTreeMap<&'static str, String>;

/// Records every span of the client with its fields.
#[derive(Clone, Default)]
struct Spans {
    seen: Arc<Mutex<BTreeMap<u64, (&'static str, Fields)>>>,
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
        metadata.target().starts_with("mcp_client")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields::new();
        attributes.record(&mut Collect(&mut fields));
        self.seen.lock().unwrap().insert(id, (attributes.metadata().name(), fields));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut seen = self.seen.lock().unwrap();
        values.record(&mut Collect(&mut seen.get_mut(&span.into_u64()).unwrap().1));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Spans {
    fn named(&self, name: &str) -> Vec<Fields> {
        let seen = self.seen.lock().unwrap();
        seen.values()
            .filter(|(known, _)| *known == name)
            .map(|(_, fields)| fields.clone())
            .collect()
    }
}

/// Set in the child process that records spans.
const ALONE: &str = "MCP_CLIENT_TEST_SPANS";

/// Runs in a separate process: `tracing` caches for the whole process whether a span has a subscriber, and the other
/// tests of this binary enter the same spans on threads without one.
#[test]
fn handshake_and_requests_have_spans_with_the_names_of_opentelemetry() {
    if std::env::var_os(ALONE).is_some() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        return runtime.block_on(record_spans());
    }
    let name = "spans::handshake_and_requests_have_spans_with_the_names_of_opentelemetry";
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

async fn record_spans() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let (client, mut server) = modern(ClientOptions::default()).await;
    let (result, ()) = tokio::join!(soon("the call", client.call_tool("add", &())), async {
        let request = server.request("tools/call").await;
        server.answer(&request, r#"{"resultType":"complete","content":[]}"#);
    });
    result.unwrap();
    let (result, ()) = tokio::join!(soon("the read", client.read_resource("a:b")), async {
        let request = server.request("resources/read").await;
        server.refuse(&request, -32002, "unknown resource");
    });
    result.unwrap_err();

    let handshakes = spans.named("mcp.handshake");
    assert_eq!(handshakes.len(), 1);
    assert_eq!(handshakes[0]["mcp.protocol.version"], "2026-07-28");
    assert_eq!(handshakes[0]["otel.kind"], "client");
    let requests = spans.named("mcp.request");
    let names: Vec<_> = requests.iter().map(|fields| fields["otel.name"].as_str()).collect();
    assert_eq!(names, ["server/discover", "tools/call add", "resources/read"]);
    assert_eq!(requests[1]["mcp.method.name"], "tools/call");
    assert_eq!(requests[1]["gen_ai.tool.name"], "add");
    assert!(requests[1].contains_key("jsonrpc.request.id"));
    assert!(!requests[1].contains_key("error.type"));
    assert_eq!(requests[2]["mcp.resource.uri"], "a:b");
    assert_eq!(requests[2]["error.type"], "rejected");
    assert_eq!(requests[2]["rpc.response.status_code"], "-32002");
    assert_eq!(requests[2]["mcp.delivery"], "Executed");
}
