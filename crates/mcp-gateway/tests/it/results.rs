//! Results of tools with an output schema.

use std::sync::Arc;

use mcp_gateway::ToolMode;
use mcp_server::{ServeOptions, ToolServer};
use mcp_tool::{BoxFuture, CallContext, Content, RawJson, Tool, ToolOutcome, ToolSpec};
use serde_json::json;

use crate::support::{client, gateway, options};

/// A tool that returns a fixed outcome.
struct Returns(ToolSpec, ToolOutcome);

impl Returns {
    fn new(name: &str, outcome: ToolOutcome) -> Self {
        let mut spec = ToolSpec::new(name, "Reads a file.");
        let schema = json!({"type": "object", "properties": {"content": {"type": "string"}},
            "required": ["content"]});
        spec.output_schema = Some(RawJson::encode(&schema).unwrap());
        Self(spec, outcome)
    }
}

impl Tool for Returns {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async { self.1.clone() })
    }
}

fn server(text: &str, structured: &str) -> ToolServer {
    let server = ToolServer::new(ServeOptions::new("files", "1"));
    let mut outcome = ToolOutcome::new(vec![Content::text(text)]);
    let object = json!({ "content": structured });
    outcome.structured = Some(RawJson::encode(&object).unwrap());
    server.add_tool(Arc::new(Returns::new("read", outcome)));
    server
}

#[tokio::test]
async fn result_with_an_output_schema_arrives_as_its_server_sent_it() {
    let long = "line of a file é\n".repeat(120_000);
    assert!(long.len() > 2_000_000);
    for (text, structured) in [(&*long, &*long), ("3 lines", &long), ("short", "text"), ("", "x")] {
        let gateway = gateway(&server(text, structured), options()).await;
        let client = client(&gateway).await;
        let tools = client.list_tools().await.unwrap();
        let read = tools.iter().find(|tool| tool.name == "mcp__shop__read").unwrap();
        assert!(read.output_schema.is_some());
        let result = client.call_tool("mcp__shop__read", &()).await.unwrap();
        assert_eq!(result.content.len(), 1);
        assert_eq!(result.text(), text);
        let content = result.structured_content.unwrap().get("content").unwrap();
        assert_eq!(content.decode::<String>().unwrap(), structured);
    }
}

#[tokio::test]
async fn tool_call_has_no_output_schema_and_truncates_results() {
    let long = "x".repeat(200_000);
    let gateway = gateway(&server(&long, &long), options().with_mode(ToolMode::Search)).await;
    let client = client(&gateway).await;
    let tools = client.list_tools().await.unwrap();
    assert!(tools.iter().all(|tool| tool.output_schema.is_none()), "{tools:?}");
    let result = client.call_tool("tool_call", &json!({"id": "mcp__shop__read"})).await.unwrap();
    assert!(result.text().len() < 101_000);
    assert!(result.structured_content.is_none());
}
