//! Calls, results, prompts and sampling, written and read in the format of each API.

use mcp_providers::{
    Api, Arguments, CallResult, ModelCall, SamplingError, anthropic::Anthropic, gemini::Gemini,
    openai::chat::Chat, openai::responses::Responses,
};
use mcp_tool::{BoxFuture, CallContext, FailureKind, RawJson, Tool, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

use crate::samples::{
    RESPONSES, SEARCH_RESPONSE, apis, everything, failure, prompt, raw, sampled, sampling,
    sampling_responses, tool,
};

fn parsed(raw: &RawJson) -> Value {
    serde_json::from_str(raw.as_str()).unwrap()
}

fn results(api: &dyn Api, outcomes: &[ToolOutcome]) -> Vec<Value> {
    let calls: Vec<ModelCall> =
        (1..=outcomes.len()).map(|i| ModelCall::new(format!("id_{i}"), "look", "")).collect();
    let pairs: Vec<CallResult<'_>> =
        calls.iter().zip(outcomes).map(|(call, outcome)| CallResult { call, outcome }).collect();
    api.results(&pairs).iter().map(parsed).collect()
}

#[test]
fn calls_are_read_and_broken_arguments_become_outcomes() {
    for (name, response) in RESPONSES {
        let apis = apis();
        let (_, api) = apis.iter().find(|(api, _)| api == name).unwrap();
        let calls = api.calls(&raw(response));
        assert_eq!((calls[0].id.as_str(), calls[0].name.as_str()), ("a", "look"), "{name}");
        assert!(
            matches!(&calls[0].arguments, Arguments::Ready(json) if json.as_str() == r#"{"x":1}"#)
        );
        if let Some(cut) = calls.get(1) {
            let Arguments::Refused(outcome) = &cut.arguments else { panic!("{name}") };
            assert_eq!(outcome.failure_kind(), Some(FailureKind::InvalidArguments));
        }
        assert!(api.calls(&raw("{}")).is_empty() && api.calls(&raw("[]")).is_empty());
    }
}

#[test]
fn a_search_that_the_client_executes_is_a_call() {
    let calls = Responses::default().calls(&raw(SEARCH_RESPONSE));
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].id.as_str(), calls[0].name.as_str()), ("c", "tool_search"));
}

#[test]
fn anthropic_has_all_results_in_one_message_and_text_only_in_errors() {
    let messages = results(&Anthropic::default(), &[everything(), failure()]);
    assert_eq!(messages.len(), 1);
    let blocks = messages[0]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "image"]);
    let inner: Vec<&str> = blocks[0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(inner, ["text", "image", "text", "text", "text", "document", "text"]);
    assert_eq!(blocks[1]["is_error"], true);
    assert_eq!(blocks[1]["content"], json!([{"type": "text", "text": "it broke"}]));
}

#[test]
fn chat_carries_media_in_a_user_message_after_all_results() {
    let messages = results(&Chat::default(), &[everything(), failure()]);
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["tool", "tool", "user"]);
    let text = messages[0]["content"].as_str().unwrap();
    for part in ["Here it is.", "[resource link file:///report.csv", "a note", "file:///a.bin"] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(messages[1]["content"], "Error: it broke");
    let kinds: Vec<&str> = messages[2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "image_url", "input_audio", "file", "text", "image_url"]);
    let plain = results(&Chat::default(), &[ToolOutcome::text("ok")]);
    assert_eq!(plain, [json!({"role": "tool", "tool_call_id": "id_1", "content": "ok"})]);
}

#[test]
fn responses_carry_images_and_files_in_the_output() {
    let items = results(&Responses::default(), &[everything(), ToolOutcome::text("ok")]);
    let kinds: Vec<&str> = items[0]["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    let text = "input_text";
    assert_eq!(kinds, [text, "input_image", text, text, text, "input_file", text]);
    assert_eq!(items[1]["output"], "ok");
}

#[test]
fn gemini_carries_media_in_the_response_or_after_it() {
    let after = results(&Gemini::default(), &[everything(), failure()]);
    assert_eq!(after.len(), 2);
    let answers = after[0]["parts"].as_array().unwrap();
    assert_eq!(answers[1]["functionResponse"]["response"], json!({"error": "it broke"}));
    let media = after[1]["parts"].as_array().unwrap();
    assert_eq!(media.iter().filter(|part| part.get("inlineData").is_some()).count(), 4);
    let inside = results(&Gemini::default().with_media_in_responses(), &[everything()]);
    let response = &inside[0]["parts"][0]["functionResponse"];
    assert_eq!(response["parts"].as_array().unwrap().len(), 2);
    assert_eq!(inside[1]["parts"][1]["inlineData"]["mimeType"], "audio/wav", "audio stays outside");
    let odd = ToolOutcome::new(vec![mcp_tool::Content::image("AAAA", "image/x-unheard-of")]);
    let odd = results(&Gemini::default(), &[odd]);
    assert_eq!(odd.len(), 1, "a type that the API does not know is only named");
}

#[test]
fn prompts_become_messages_of_the_user_and_the_model() {
    for (name, roles) in [
        ("anthropic", ["user", "user", "assistant", "assistant"]),
        ("chat", ["user", "user", "assistant", "assistant"]),
        ("responses", ["user", "user", "assistant", "assistant"]),
        ("gemini", ["user", "user", "model", "model"]),
        ("generic", ["user", "user", "assistant", "assistant"]),
    ] {
        let apis = apis();
        let (_, api) = apis.iter().find(|(api, _)| *api == name).unwrap();
        let messages = api.prompt(&prompt());
        let said: Vec<String> =
            messages.iter().map(|m| parsed(m)["role"].as_str().unwrap().to_owned()).collect();
        assert_eq!(said, roles, "{name}");
    }
}

#[test]
fn a_sampling_request_keeps_the_conversation_and_its_tools() {
    let body = |api: &dyn Api| parsed(&api.sampling_request(&sampling(), "m").unwrap());
    let anthropic = body(&Anthropic::default());
    assert_eq!(anthropic["max_tokens"], 100);
    assert_eq!(anthropic["tool_choice"], json!({"type": "any"}));
    assert_eq!(anthropic["messages"][3]["content"][0]["tool_use_id"], "u1");
    let chat = body(&Chat::default());
    let roles: Vec<&str> =
        chat["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "user", "assistant", "tool", "user"]);
    let responses = body(&Responses::default());
    assert_eq!(responses["instructions"], "Be brief.");
    assert_eq!(responses["input"][3]["type"], "function_call");
    let gemini = body(&Gemini::default());
    let answer = &gemini["contents"][3]["parts"][0]["functionResponse"];
    assert_eq!(answer["name"], "weather", "the name comes from the call");
    assert_eq!(gemini["toolConfig"]["functionCallingConfig"]["mode"], "ANY");
}

#[test]
fn a_sampling_response_becomes_the_answer_for_the_server() {
    let both = sampled();
    for (name, response) in sampling_responses() {
        let apis = apis();
        let (_, api) = apis.iter().find(|(api, _)| *api == name).unwrap();
        let result = api.sampling_result(&raw(&response.to_string())).unwrap();
        assert_eq!(parsed(&result.content), both, "{name}");
        assert_eq!((result.model.as_str(), result.role.as_str()), ("m", "assistant"), "{name}");
        assert_eq!(result.stop_reason.as_deref(), Some("toolUse"), "{name}");
        let error = api.sampling_result(&raw("{}")).unwrap_err();
        assert!(matches!(error, SamplingError::Response(_)), "{name}");
    }
}

#[test]
fn a_sampling_request_with_unanswered_calls_is_refused() {
    let request = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"x","content":[]}]}]}"#;
    let request = raw(request).decode().unwrap();
    for (name, api) in apis() {
        let error = api.sampling_request(&request, "m").unwrap_err();
        assert!(error.to_string().contains("tool results do not match"), "{name}: {error}");
    }
}

struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move { ToolOutcome::text(arguments.as_str()) })
    }
}

#[tokio::test]
async fn a_call_runs_its_tool_with_clean_arguments() {
    let echo =
        Echo(tool("say it", r#"{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#));
    let api = Chat::strict();
    let name = api.definition(echo.spec()).name;
    let call = ModelCall::new("1", name, r#"{"a":"x","b":null}"#);
    let found = call.tool(api.limits(), [&echo as &dyn Tool].into_iter()).unwrap();
    let outcome = call.run(found, CallContext::default()).await;
    assert_eq!(outcome.text_content(), r#"{"a":"x"}"#);
    let cut = ModelCall::new("1", "say_it", r#"{"a":"#);
    assert!(cut.run(found, CallContext::default()).await.is_error);
}
