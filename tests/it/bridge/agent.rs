//! An agent loop with a scripted model. Tools are searched, loaded and called in a provider's format, and a killed
//! server breaks neither the session nor its cached prefix.

use mcp_bridge::{Bridge, CallContext, RawJson, ServerState, Snapshot, Tool};
use mcp_providers::{
    CallResult, Deferral, ModelCall, Session, anthropic::Anthropic, openai::responses::Responses,
};
use mcp_tests::soon;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::{config, options, reached};

/// An agent's session with its messages and all requests sent so far.
struct Agent<A> {
    bridge: Bridge,
    session: Session<A>,
    messages: Vec<RawJson>,
    requests: Vec<(String, Vec<RawJson>)>,
}

impl<A: Deferral> Agent<A> {
    async fn new(api: A) -> Self {
        let mut options = options();
        (options.tool_search, options.search_threshold) = (true, 1);
        let bridge = Bridge::new(options);
        bridge.add_server_as_written(config("srv"));
        bridge.start().await;
        let turn = bridge.snapshot();
        let search = turn.get("tool_search").expect("too many tools for the prompt");
        let always = specs(&turn).into_iter().filter(|spec| spec.name != "tool_search");
        let session = Session::new(api, always, search.spec());
        Self { bridge, session, messages: Vec::new(), requests: Vec::new() }
    }

    /// Runs one turn: a request, the model's `response`, its calls. Returns the texts of their outcomes.
    async fn turn(&mut self, response: &Value, said: &[Value]) -> Vec<String> {
        let turn = self.bridge.snapshot();
        self.messages.extend(self.session.refresh(specs(&turn)));
        self.requests.push((self.session.tools().as_str().to_owned(), self.messages.clone()));
        self.messages.extend(said.iter().map(|message| RawJson::encode(message).unwrap()));
        let calls = self.session.api().calls(&RawJson::encode(response).unwrap());
        let mut outcomes = Vec::new();
        for call in &calls {
            let tools = turn.tools().iter().map(|tool| &**tool as &dyn Tool);
            let tool = call.tool(self.session.api().limits(), tools).expect("a tool of the turn");
            outcomes.push(soon(&call.name, call.run(tool, CallContext::default())).await);
        }
        let after = self.bridge.snapshot();
        let found: Vec<_> =
            specs(&after).into_iter().filter(|spec| turn.get(&spec.name).is_none()).collect();
        let pair = |(call, outcome)| CallResult { call, outcome };
        let results: Vec<CallResult<'_>> = calls.iter().zip(&outcomes).map(pair).collect();
        self.messages.extend(self.session.results(&results, &found));
        outcomes.iter().map(mcp_bridge::ToolOutcome::text_content).collect()
    }

    /// Number of requests that do not begin with the messages of the previous one.
    fn edits(&self) -> usize {
        let is_edit = |pair: &&[(String, Vec<RawJson>)]| !pair[1].1.starts_with(&pair[0].1);
        self.requests.windows(2).filter(is_edit).count()
    }
}

fn specs(turn: &Snapshot) -> Vec<&mcp_bridge::ToolSpec> {
    turn.tools().iter().map(Tool::spec).collect()
}

/// Searches for a tool, calls it, kills its server, and calls it again.
async fn converse<A: Deferral>(
    api: A,
    response: fn(&ModelCall) -> (Value, Vec<Value>),
) -> Agent<A> {
    let mut agent = Agent::new(api).await;
    let turn =
        |id: &str, name: &str, arguments: &str| response(&ModelCall::new(id, name, arguments));
    let (body, said) = turn("c1", "tool_search", r#"{"query":"select:pid,echo"}"#);
    agent.turn(&body, &said).await;
    let (body, said) = turn("c2", "mcp__srv__pid", "");
    let pid = agent.turn(&body, &said).await.remove(0);
    kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL).unwrap();
    let gone = agent.bridge.wait_for("srv", |status| !status.state.is_connected());
    soon("the end of the server", gone).await.unwrap();
    reached(&agent.bridge, "srv", ServerState::is_connected).await;
    let (body, said) = turn("c3", "mcp__srv__pid", "null");
    let other = agent.turn(&body, &said).await.remove(0);
    assert_ne!(other, pid, "another process answers the same conversation");
    assert_eq!(agent.edits(), 0);
    agent.bridge.shutdown().await;
    agent
}

fn arguments(call: &ModelCall) -> Value {
    match &call.arguments {
        mcp_providers::Arguments::Ready(json) => serde_json::from_str(json.as_str()).unwrap(),
        mcp_providers::Arguments::Refused(_) => Value::Null,
    }
}

#[tokio::test]
async fn anthropic_agent_survives_a_killed_server() {
    let agent = converse(Anthropic::default(), |call| {
        let block =
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call)});
        (json!({"content": [block]}), vec![json!({"role": "assistant", "content": [block]})])
    })
    .await;
    let (tools, _) = agent.requests.last().unwrap();
    assert!(tools.starts_with(agent.requests[0].0.trim_end_matches(']')), "entries are appended");
    assert!(tools.contains(r#""defer_loading":true"#));
    assert!(agent.messages[1].as_str().contains("tool_reference"));
}

#[tokio::test]
async fn openai_agent_survives_a_killed_server() {
    let agent = converse(Responses::strict(), |call| {
        let item = if call.name == "tool_search" {
            json!({"type": "tool_search_call", "execution": "client", "call_id": call.id, "arguments": arguments(call)})
        } else {
            json!({"type": "function_call", "call_id": call.id, "name": call.name, "namespace": "srv",
                "arguments": arguments(call).to_string()})
        };
        (json!({"output": [item]}), vec![item])
    })
    .await;
    assert!(agent.requests.iter().all(|(tools, _)| *tools == agent.requests[0].0));
    let found = agent.messages[1].as_str();
    assert!(found.contains("tool_search_output") && found.contains(r#""name":"srv""#), "{found}");
}
