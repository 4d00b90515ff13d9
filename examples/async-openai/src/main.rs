//! A turn with async-openai: definitions, a call of the model, messages.

use std::error::Error;

use async_openai::types::chat::{ChatCompletionMessageToolCalls, ChatCompletionRequestMessage};
use mcp_host::{Bridge, BridgeOptions, tool};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let bridge = Bridge::new(BridgeOptions::default());
    bridge.add_tool(
        tool("clock", "Tells the time").read_only().run(|(), _ctx| async { Ok("noon") }),
    )?;
    let turn = bridge.snapshot();
    println!("{:?}", example_async_openai::tools(&turn)?);

    let call: ChatCompletionMessageToolCalls = serde_json::from_value(
        json!({"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": ""}}),
    )?;
    let messages = example_async_openai::answer(&turn, &[call]).await?;
    println!("{messages:?}");
    assert!(
        matches!(&messages[..], [ChatCompletionRequestMessage::Tool(message)] if message.tool_call_id == "call_1")
    );
    bridge.shutdown().await;
    Ok(())
}
