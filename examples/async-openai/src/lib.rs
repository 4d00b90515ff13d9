//! Tools of a bridge in the types of [async-openai](https://docs.rs/async-openai). Types only: the requests are the
//! host's.
//!
//! The JSON that `mcp_host::providers` writes is what the API takes, and async-openai's types are the same JSON, so the
//! adapter is serde.

use async_openai::types::chat::{
    ChatCompletionMessageToolCalls, ChatCompletionRequestMessage, ChatCompletionTools,
};
use mcp_host::{
    CallContext, Snapshot,
    providers::{ModelCall, ModelTurn, openai::chat::Chat},
};

/// The tools of a turn for `CreateChatCompletionRequest::tools`.
pub fn tools(turn: &Snapshot) -> Result<Vec<ChatCompletionTools>, serde_json::Error> {
    let (definitions, _losses) = turn.definitions(&Chat::default());
    definitions.iter().map(|tool| serde_json::from_str(tool.as_str())).collect()
}

/// Makes the calls of one response, and returns the messages that answer it.
pub async fn answer(
    turn: &Snapshot,
    calls: &[ChatCompletionMessageToolCalls],
) -> Result<Vec<ChatCompletionRequestMessage>, serde_json::Error> {
    let calls: Vec<ModelCall> = calls.iter().filter_map(call).collect();
    let messages = turn.answer(&Chat::default(), &calls, &CallContext::default()).await;
    messages.iter().map(|message| serde_json::from_str(message.as_str())).collect()
}

fn call(call: &ChatCompletionMessageToolCalls) -> Option<ModelCall> {
    match call {
        ChatCompletionMessageToolCalls::Function(call) => {
            Some(ModelCall::new(&call.id, &call.function.name, &call.function.arguments))
        }
        ChatCompletionMessageToolCalls::Custom(_) => None,
    }
}
