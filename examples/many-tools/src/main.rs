//! Two hundred tools in one conversation: the model searches, and found tools are loaded natively by the API.
//!
//! The beginning of every request is the previous request, byte for byte, so that the API can cache it. The model is a
//! function with a script, and the MCP server is in this process.

use std::{collections::BTreeMap, error::Error};

use mcp_host::{
    CallContext, Conversation, RawJson,
    client::rpc::ShapeError,
    providers::{Api, ModelTurn, Session, anthropic::Anthropic},
    testing::{Scripted, bridge_over},
};

/// The model's messages.
const SCRIPT: [&str; 3] = [
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"tool_search",
        "input":{"query":"select:mcp__server__report_7"}}]}"#,
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"mcp__server__report_7","input":{}}]}"#,
    r#"{"role":"assistant","content":[{"type":"text","text":"Sales are up."}]}"#,
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = (0..200)
        .fold(Scripted::new(), |server, n| {
            server.tool(format!("report_{n}"), format!("Writes the report number {n}."))
        })
        .on_any_call("report_7", "sales: +12 %");
    let bridge = bridge_over(server).await;
    let turn = bridge.snapshot();
    let session = turn.session(Anthropic::default()).ok_or("the turn has no tool_search")?;
    let requests = converse(bridge.conversation(), session, "How are sales?").await?;

    for request in &requests {
        println!("{} bytes of tools", request.len());
    }
    let is_cached = |pair: &[String]| pair[1].starts_with(pair[0].trim_end_matches(']'));
    assert!(requests.windows(2).all(is_cached), "the tools of a request begin with the last ones");
    assert!(requests[1].contains(r#""defer_loading":true"#), "the second request has report_7");
    bridge.shutdown().await;
    Ok(())
}

/// The loop of an agent. Returns the `tools` of each request.
async fn converse(
    conversation: &Conversation,
    mut session: Session<Anthropic>,
    question: &str,
) -> Result<Vec<String>, ShapeError> {
    let user = BTreeMap::from([("role", "user"), ("content", question)]);
    let (mut requests, mut messages) = (Vec::new(), vec![RawJson::encode(&user)?]);
    for response in SCRIPT {
        let turn = conversation.snapshot();
        messages.extend(session.refresh(turn.tools())); // servers that stopped, tools that changed
        requests.push(session.tools().as_str().to_owned()); // send these, and `messages`
        let response = RawJson::parse(response)?;
        let calls = session.api().calls(&response);
        messages.push(response);
        if calls.is_empty() {
            break;
        }
        messages.extend(turn.answer_in(&mut session, &calls, &CallContext::default()).await);
    }
    for message in &messages {
        println!("{}", message.as_str());
    }
    Ok(requests)
}
