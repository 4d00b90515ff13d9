//! Tracing spans.

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

use crate::support::{Fake, Reply, call, one};

type Fields = BTreeMap<&'static str, String>;

/// Records the fields of every span.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(&'static str, Fields)>>>, Arc<AtomicU64>);

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        span.record(&mut Reader(&mut fields));
        let mut spans = self.0.lock().unwrap();
        spans.push((span.metadata().name(), fields));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let at = usize::try_from(span.into_u64()).unwrap() - 1;
        values.record(&mut Reader(&mut self.0.lock().unwrap()[at].1));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Spans {
    fn named(&self, name: &str) -> Vec<Fields> {
        let spans = self.0.lock().unwrap();
        spans.iter().filter(|(known, _)| *known == name).map(|(_, fields)| fields.clone()).collect()
    }
}

fn fields(pairs: &[(&'static str, &str)]) -> Fields {
    pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

/// Set in the child process that records spans.
const ALONE: &str = "MCP_BRIDGE_TEST_SPANS";

/// Runs in a separate process: `tracing` caches for the whole process whether a span is enabled, and other
/// tests use the same spans without a subscriber.
#[test]
fn handshake_lists_and_calls_have_opentelemetry_spans() {
    if std::env::var_os(ALONE).is_some() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        return runtime.block_on(look_at_spans());
    }
    let name = "tracing::handshake_lists_and_calls_have_opentelemetry_spans";
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", name]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

async fn look_at_spans() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let fake = Fake::new(&["get", "fail"]);
    fake.on_call(|name, _| match name {
        "get" => Reply::Text("done"),
        _ => Reply::Error(-32_603, "secret text"),
    });
    let bridge = one(&fake, |_| {}).await;
    call(&bridge, "mcp__srv__get").await;
    call(&bridge, "mcp__srv__fail").await;
    assert_eq!(
        spans.named("initialize"),
        [fields(&[
            ("otel.kind", "client"),
            ("mcp.method.name", "initialize"),
            ("mcp.server.name", "srv"),
            ("mcp.protocol.version", "2025-11-25"),
        ])]
    );
    assert_eq!(
        spans.named("list")[0],
        fields(&[
            ("otel.name", "tools/list"),
            ("otel.kind", "client"),
            ("mcp.method.name", "tools/list"),
            ("mcp.server.name", "srv"),
            ("mcp.list.items", "2"),
        ])
    );
    assert_eq!(
        spans.named("tools/call")[0],
        fields(&[
            ("otel.name", "tools/call get"),
            ("otel.kind", "client"),
            ("mcp.method.name", "tools/call"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "get"),
            ("mcp.server.name", "srv"),
            ("mcp.protocol.version", "2025-11-25"),
            ("mcp.delivery", "executed"),
        ])
    );
    let failed = &spans.named("execute_tool")[1];
    assert_eq!(
        *failed,
        fields(&[
            ("otel.name", "execute_tool mcp__srv__fail"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "mcp__srv__fail"),
            ("mcp.server.name", "srv"),
            ("mcp.outcome", "failure"),
            ("mcp.delivery", "executed"),
            ("error.type", "rejected"),
        ])
    );
    let all = format!("{:?}", spans.0.lock().unwrap());
    assert!(!all.contains("secret text"), "{all}");
}
