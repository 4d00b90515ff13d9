//! Tools that return every kind of content, report progress, log and fail.

use std::time::Duration;

use mcp_bridge::{RawJson, ToolOutcome, tool::Content};
use mcp_client::types::{LogLevel, ResourceContents};
use serde_json::json;
use tokio::time::sleep;

use super::fixture::{Fixture, raw};

/// One red pixel.
pub(super) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const STEP: Duration = Duration::from_millis(50);

fn of(content: Vec<Content>) -> ToolOutcome {
    let mut outcome = ToolOutcome::text("");
    outcome.content = content;
    outcome
}

pub(super) fn tools() -> Vec<Fixture> {
    vec![
        Fixture::new("test_simple_text", "Returns text", |_, _| async {
            Ok(ToolOutcome::text("This is a simple text response for testing."))
        }),
        Fixture::new("test_image_content", "Returns a picture", |_, _| async {
            Ok(of(vec![Content::image(PNG, "image/png")]))
        }),
        Fixture::new("test_audio_content", "Returns a sound", |_, _| async {
            Ok(of(vec![Content::audio(WAV, "audio/wav")]))
        }),
        Fixture::new("test_embedded_resource", "Returns a resource", |_, _| async {
            let text = "This is an embedded resource content.";
            let resource = ResourceContents::text("test://embedded-resource", text);
            Ok(of(vec![Content::resource(resource.of_type("text/plain"))]))
        }),
        Fixture::new("test_multiple_content_types", "Returns several kinds", |_, _| async {
            let text = r#"{"test":"data","value":123}"#;
            let resource = ResourceContents::text("test://mixed-content-resource", text);
            Ok(of(vec![
                Content::text("Multiple content types test:"),
                Content::image(PNG, "image/png"),
                Content::resource(resource.of_type("application/json")),
            ]))
        }),
        Fixture::new("test_error_handling", "Always fails", |_, _| async {
            Ok(ToolOutcome::error("This tool intentionally returns an error for testing"))
        }),
        logging("test_tool_with_logging"),
        logging("test_logging_tool"),
        Fixture::new("test_tool_with_progress", "Reports progress", |_, call| async move {
            for done in [0.0, 50.0, 100.0] {
                call.progress(done, Some(100.0), None);
                sleep(STEP).await;
            }
            Ok(ToolOutcome::text("done"))
        }),
        Fixture::new("test_reconnection", "Hangs up and answers later", |_, call| async move {
            call.hang_up();
            sleep(2 * STEP).await;
            Ok(ToolOutcome::text("Reconnection test completed"))
        }),
        Fixture::new(
            "test_header_param",
            "Takes an argument by header",
            |arguments, _| async move {
                Ok(ToolOutcome::text(format!("region: {}", arguments["region"])))
            },
        )
        .taking(&json!({
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            "required": ["region"],
        })),
    ]
}

fn logging(name: &str) -> Fixture {
    Fixture::new(name, "Logs while it runs", |_, call| async move {
        for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            call.log(LogLevel::Info, Some("test"), log_line(line));
            sleep(STEP).await;
        }
        Ok(ToolOutcome::text("logged"))
    })
}

fn log_line(line: &str) -> RawJson {
    raw(&json!(line))
}
