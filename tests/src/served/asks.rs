//! Tools that send requests to their client: one, several at a time, or in rounds.

use mcp_bridge::{RawJson, ToolOutcome};
use mcp_client::{ElicitRequest, types::CreateMessageRequest};
use mcp_server::{Call, ClientNeed, Question, ServeError};
use serde_json::{Value, json};

use super::fixture::{Fixture, raw};

pub(super) fn tools() -> Vec<Fixture> {
    let mut tools = of_both_eras();
    tools.extend(in_rounds());
    tools
}

/// A form with these properties, all of them required.
pub(super) fn form(message: &str, properties: &Value) -> Result<Question, ServeError> {
    let required: Vec<&String> =
        properties.as_object().into_iter().flat_map(|p| p.keys()).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    Ok(Question::elicit(&ElicitRequest::form(message, raw(&schema)))?)
}

fn sampling(prompt: &str, max_tokens: u32) -> Result<Question, ServeError> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let request = raw(&json!({"messages": [message], "maxTokens": max_tokens}));
    let request: CreateMessageRequest = request.decode()?;
    Ok(Question::sample(&request)?)
}

async fn elicited(
    call: &Call,
    message: &str,
    properties: Value,
) -> Result<ToolOutcome, ServeError> {
    let answer = call.ask("form", form(message, &properties)?).await?;
    Ok(ToolOutcome::text(format!("Elicitation completed: {}", answer.as_str())))
}

fn text_of(answer: &RawJson, pointer: &str) -> String {
    let answer: Value = serde_json::from_str(answer.as_str()).unwrap_or_default();
    answer.pointer(pointer).and_then(Value::as_str).unwrap_or("nobody").to_owned()
}

fn of_both_eras() -> Vec<Fixture> {
    vec![
        Fixture::new("test_sampling", "Runs the client's model", |arguments, call| async move {
            let prompt = arguments["prompt"].as_str().unwrap_or_default();
            let answer = call.ask("sampling", sampling(prompt, 100)?).await?;
            Ok(ToolOutcome::text(format!("LLM response: {}", text_of(&answer, "/content/text"))))
        })
        .taking(&json!({
            "type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"],
        })),
        Fixture::new("test_elicitation", "Asks the user", |arguments, call| async move {
            let message = arguments["message"].as_str().unwrap_or_default();
            let properties = json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            });
            elicited(&call, message, properties).await
        })
        .taking(&json!({
            "type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"],
        })),
        Fixture::new("test_elicitation_sep1034_defaults", "Asks with defaults", |_, call| async move {
            let properties = json!({
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {
                    "type": "string", "enum": ["active", "inactive", "pending"], "default": "active",
                },
                "verified": {"type": "boolean", "default": true},
            });
            elicited(&call, "Please check", properties).await
        }),
        Fixture::new("test_elicitation_sep1330_enums", "Asks with choices", |_, call| async move {
            let titled = |word: &str| {
                json!([{"const": "value1", "title": format!("First {word}")},
                       {"const": "value2", "title": format!("Second {word}")}])
            };
            let options = json!(["option1", "option2", "option3"]);
            let properties = json!({
                "untitledSingle": {"type": "string", "enum": options},
                "titledSingle": {"type": "string", "oneOf": titled("Option")},
                "legacyEnum": {
                    "type": "string", "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
            });
            elicited(&call, "Please choose", properties).await
        }),
        Fixture::new("test_streaming_elicitation", "Asks the user", |_, call| async move {
            elicited(&call, "Go on?", json!({"ok": {"type": "boolean"}})).await
        }),
        Fixture::new("test_missing_capability", "Needs the client's model", |_, call| async move {
            call.require(ClientNeed::Sampling)?;
            Ok(ToolOutcome::text("the client samples"))
        }),
    ]
}

fn in_rounds() -> Vec<Fixture> {
    let confirm = || form("Please confirm", &json!({"ok": {"type": "boolean"}}));
    let name = || form("What is your name?", &json!({"name": {"type": "string"}}));
    vec![
        Fixture::new(
            "test_input_required_result_elicitation",
            "Greets",
            move |_, call| async move {
                let answer = call.ask("user_name", name()?).await?;
                Ok(ToolOutcome::text(format!("Hello, {}!", text_of(&answer, "/content/name"))))
            },
        ),
        Fixture::new(
            "test_input_required_result_sampling",
            "Asks the model",
            |_, call| async move {
                let question = sampling("What is the capital of France?", 100)?;
                let answer = call.ask("capital_question", question).await?;
                Ok(ToolOutcome::text(text_of(&answer, "/content/text")))
            },
        ),
        Fixture::new(
            "test_input_required_result_list_roots",
            "Asks for roots",
            |_, call| async move {
                let answer = call.ask("client_roots", Question::roots()).await?;
                Ok(ToolOutcome::text(format!("roots: {}", answer.as_str())))
            },
        ),
        Fixture::new(
            "test_input_required_result_request_state",
            "Confirms",
            move |_, call| async move {
                call.ask("confirm", confirm()?).await?;
                Ok(ToolOutcome::text("state-ok"))
            },
        ),
        Fixture::new(
            "test_input_required_result_tampered_state",
            "Confirms",
            move |_, call| async move {
                call.ask("confirm", confirm()?).await?;
                Ok(ToolOutcome::text("confirmed"))
            },
        ),
        Fixture::new(
            "test_input_required_result_multiple_inputs",
            "Asks thrice",
            move |_, call| async move {
                let (name, greeting, roots) = futures::future::join3(
                    call.ask("user_name", name()?),
                    call.ask("greeting", sampling("Generate a greeting", 50)?),
                    call.ask("client_roots", Question::roots()),
                )
                .await;
                let name = text_of(&name?, "/content/name");
                let greeting = text_of(&greeting?, "/content/text");
                Ok(ToolOutcome::text(format!("{greeting}, {name}: {}", roots?.as_str())))
            },
        ),
        Fixture::new(
            "test_input_required_result_multi_round",
            "Asks twice",
            |_, call| async move {
                let question =
                    form("Step 1: What is your name?", &json!({"name": {"type": "string"}}))?;
                let name = call.ask("step1", question).await?;
                let properties = json!({"color": {"type": "string"}});
                let color =
                    call.ask("step2", form("Step 2: What is your favorite color?", &properties)?);
                let color = text_of(&color.await?, "/content/color");
                Ok(ToolOutcome::text(format!("{} likes {color}", text_of(&name, "/content/name"))))
            },
        ),
        Fixture::new(
            "test_input_required_result_capabilities",
            "Asks what it can",
            move |_, call| async move {
                let mut answers = Vec::new();
                if call.capabilities().sampling {
                    answers.push(call.ask("greeting", sampling("Generate a greeting", 50)?).await?);
                }
                if call.capabilities().elicitation_form {
                    answers.push(call.ask("user_name", name()?).await?);
                }
                Ok(ToolOutcome::text(format!("{} answers", answers.len())))
            },
        ),
    ]
}
