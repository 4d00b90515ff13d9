//! `cargo test -p example-rig-adapter`

use example_rig_adapter::rig_tools;
use mcp_host::{
    Content, ToolOutcome, ToolSpec,
    client::types::{Resource, ResourceContents},
    testing::{Scripted, bridge_over},
};
use rig::{core::tool::DynamicTool, message::ToolResultContent};
use serde_json::{Value, json};

async fn tool(spec: ToolSpec, outcome: ToolOutcome) -> DynamicTool {
    let name = spec.name.clone();
    let bridge = bridge_over(Scripted::new().tool_of(spec).on_any_call(name, outcome)).await;
    let tools = rig_tools(&bridge.snapshot().tools()[..1]).unwrap();
    std::mem::forget(bridge); // it lives as long as the test
    tools.into_iter().next().unwrap()
}

fn text(block: &ToolResultContent) -> &str {
    block.as_text().unwrap_or_default()
}

#[tokio::test]
async fn long_description_is_cut_at_the_limit_of_the_api() {
    let tool = tool(ToolSpec::new("long", "x ".repeat(1_000)), ToolOutcome::text("")).await;
    let definition = tool.definition();
    assert_eq!(definition.name.to_string(), "mcp__server__long");
    let length = definition.description.chars().count();
    assert!((900..=1_024).contains(&length), "{length}");
    assert_eq!(definition.parameters["type"], "object");
}

#[tokio::test]
async fn every_kind_of_content_reaches_rig() {
    let mut link = Resource::new("file:///report.csv", "report");
    link.mime_type = Some("text/csv".into());
    let outcome = ToolOutcome::new(vec![
        Content::text("Here it is."),
        Content::image("AAAA", "image/png"),
        Content::audio("UklGRg==", "audio/wav"),
        Content::ResourceLink(link),
        Content::resource(ResourceContents::text("file:///notes.txt", "a note")),
        Content::resource(ResourceContents::blob("file:///b.png", "BBBB").of_type("image/png")),
    ]);
    let tool = tool(ToolSpec::new("all", "Returns everything."), outcome).await;
    let output = tool.execute(json!({})).await.unwrap();
    let blocks = output.as_content();
    assert_eq!(blocks.len(), 6);
    assert_eq!(text(&blocks[0]), "Here it is.");
    assert!(matches!(blocks[1], ToolResultContent::Image(_)));
    assert!(text(&blocks[2]).starts_with("[audio/wav"), "{:?}", blocks[2]);
    assert!(text(&blocks[3]).contains("file:///report.csv"), "{:?}", blocks[3]);
    assert!(text(&blocks[4]).contains("a note"), "{:?}", blocks[4]);
    assert!(matches!(blocks[5], ToolResultContent::Image(_)));
}

#[tokio::test]
async fn failures_are_errors_with_their_text() {
    let tool = tool(ToolSpec::new("fail", "Fails."), ToolOutcome::error("it broke")).await;
    let error = tool.execute(Value::Null).await.unwrap_err();
    assert!(error.message().contains("it broke"), "{error}");
}
