//! A model server with a script: it speaks OpenAI Chat Completions over HTTP on the loopback, and answers each request
//! with the next line of its script.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Json, Router, extract::State, http::StatusCode, routing::post};
use serde_json::{Value, json};

/// What the model says in one response.
pub enum Turn {
    /// Text, which ends the conversation.
    Text(&'static str),
    /// Calls of tools: name and arguments.
    Calls(&'static [(&'static str, &'static str)]),
}

/// A running model server. It ends with the runtime.
#[derive(Clone)]
pub struct Model {
    /// The base address, as clients of the API take it.
    pub url: String,
    state: Arc<Mutex<Script>>,
}

struct Script {
    turns: VecDeque<Turn>,
    requests: Vec<Value>,
}

impl Model {
    /// Starts a server that plays `turns` in order.
    pub async fn start(turns: impl IntoIterator<Item = Turn>) -> io::Result<Self> {
        let script = Script { turns: turns.into_iter().collect(), requests: Vec::new() };
        let state = Arc::new(Mutex::new(script));
        let app = Router::new().route("/v1/chat/completions", post(complete));
        let app = app.with_state(state.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { url, state })
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }
}

async fn complete(
    State(state): State<Arc<Mutex<Script>>>,
    Json(request): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let mut script = state.lock().unwrap_or_else(PoisonError::into_inner);
    script.requests.push(request);
    let number = script.requests.len();
    let (message, reason) = match script.turns.pop_front() {
        Some(Turn::Text(text)) => (json!({"role": "assistant", "content": text}), "stop"),
        Some(Turn::Calls(calls)) => {
            let calls: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(at, (name, arguments))| {
                    json!({"id": format!("call_{number}_{at}"), "type": "function",
                        "function": {"name": name, "arguments": arguments}})
                })
                .collect();
            (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
        }
        None => {
            let error = json!({"error": {"message": "the script is at its end", "type": "script"}});
            return (StatusCode::BAD_REQUEST, Json(error));
        }
    };
    let choice = json!({"index": 0, "message": message, "finish_reason": reason});
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let response = json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1,
        "model": "scripted", "choices": [choice], "usage": usage});
    (StatusCode::OK, Json(response))
}
