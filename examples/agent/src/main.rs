//! A whole agent: a loop over OpenAI Chat Completions, an approver, a form, a sub-agent.
//!
//! The model is a scripted server on the loopback, the MCP server is in this process. Everything else is what an agent
//! for real users has.

mod post_office;

use std::{error::Error, sync::Arc};

use example_model::{Model, Turn};
use mcp_host::{
    Approval, ApprovalRequest, Bridge, BridgeOptions, CallContext, Conversation,
    ConversationOptions, RawJson, ServerConfig, ToolError,
    client::{Callbacks, ElicitRequest, ElicitResult},
    config::{Sdk, Transport},
    providers::{Api, ModelTurn, openai::chat::Chat},
    servers::DefaultConnector,
    tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Question {
    question: String,
}

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AnyError> {
    let model = Model::start([
        Turn::Calls(&[("research", r#"{"question":"Who gets a letter?"}"#)]),
        Turn::Calls(&[("mcp__post__addresses", "")]), // the sub-agent
        Turn::Text("Ada gets one."),                  // the sub-agent's answer
        Turn::Calls(&[("mcp__post__send", r#"{"to":"Ada"}"#)]),
        Turn::Text("The letter to Ada is sent."),
    ])
    .await?;

    let connector =
        DefaultConnector::new().register("post", Arc::new(post_office::server().in_process()));
    let options = BridgeOptions::default()
        .with_client_info("example-agent", "1.0.0")
        .with_connector(connector)
        .with_approver(|request: ApprovalRequest| async move {
            println!("approved: {} {}", request.permission, request.arguments.as_str());
            Approval::Once
        })
        .with_handler(
            Callbacks::new().on_form(|form| async move { fill_in(&form) }).into_handler(),
        );
    let bridge = Bridge::new(options);
    bridge
        .add_server_as_written(ServerConfig::new("post".parse()?, Transport::Sdk(Sdk::default())));
    bridge.start().await;

    // A sub-agent is a tool of the host with a conversation of its own: it sees less, and inherits the rest.
    let (main, url) = (bridge.conversation().clone(), model.url.clone());
    bridge.add_tool(tool("research", "Answers a question about addresses").read_only().run(
        move |ask: Question, _ctx| {
            let reader = ConversationOptions::default()
                .with_allow(["mcp:post:addresses"])
                .with_name("reader");
            let (reader, url) = (main.derive(reader), url.clone());
            async move { converse(&reader, &url, &ask.question).await.map_err(ToolError::new) }
        },
    ))?;

    let answer = converse(bridge.conversation(), &model.url, "Send the letters, please.").await?;
    println!("{answer}");
    assert_eq!(answer, "The letter to Ada is sent.");
    assert!(model.requests()[4].to_string().contains("sent to Ada, signed Grace"));
    bridge.shutdown().await;
    Ok(())
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: &'a [RawJson],
    tools: RawJson,
}

#[derive(Deserialize)]
struct Response {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: RawJson,
}

/// The loop: asks the model, makes its calls, and goes on until it has none.
async fn converse(
    conversation: &Conversation,
    url: &str,
    question: &str,
) -> Result<String, AnyError> {
    let (api, client) = (Chat::default(), reqwest::Client::new());
    let user = [("role", "user"), ("content", question)];
    let mut messages = vec![RawJson::encode(&std::collections::BTreeMap::from(user))?];
    for _ in 0..10 {
        let turn = conversation.snapshot();
        let (tools, _losses) = turn.definitions(&api);
        let request = Request { model: "scripted", messages: &messages, tools: api.tools(&tools) };
        let request = client.post(format!("{url}/chat/completions")).json(&request);
        let response = RawJson::parse(request.send().await?.error_for_status()?.text().await?)?;
        let calls = api.calls(&response);
        let message = response.decode::<Response>()?.choices.remove(0).message;
        if calls.is_empty() {
            return Ok(message.get("content").unwrap_or_else(RawJson::null).decode()?);
        }
        messages.push(message);
        messages.extend(turn.answer(&api, &calls, &CallContext::default()).await);
    }
    Err("the model does not come to an end".into())
}

/// Fills in a form as a user would, and checks each value.
fn fill_in(form: &ElicitRequest) -> ElicitResult {
    println!("form: {}", form.message);
    let Ok(fields) = form.fields() else { return ElicitResult::decline() };
    let is_fine = fields.iter().all(|field| field.check(&"Grace".into()).is_ok());
    match RawJson::parse(r#"{"name":"Grace"}"#) {
        Ok(answer) if is_fine => ElicitResult::accept(answer),
        _ => ElicitResult::decline(),
    }
}
