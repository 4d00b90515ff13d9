//! A conversation of 50 turns over a bridge with 500 tools keeps its prefix, byte for byte.

use std::{sync::Arc, time::Duration};

use mcp_host::{
    BoxFuture, Bridge, BridgeOptions, CallContext, Event, RawJson, ServerConfig, ServerState, Tool,
    ToolOutcome, ToolSpec,
    config::{Sdk, Transport},
    providers::{
        Deferral, ModelCall, ModelTurn, Session, anthropic::Anthropic, openai::responses::Responses,
    },
    serve::{ServeOptions, ToolServer},
    servers::{DefaultConnector, Events},
};

const TURNS: usize = 50;
const SERVERS: usize = 10;
const TOOLS_OF_EACH: usize = 50;

struct Fixed(ToolSpec);

impl Tool for Fixed {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async { ToolOutcome::text("done") })
    }
}

/// The servers of the conversation, and the bridge over them.
struct World {
    servers: Vec<ToolServer>,
    bridge: Bridge,
    events: Events,
}

impl World {
    async fn start() -> Self {
        let mut connector = DefaultConnector::new();
        let servers: Vec<ToolServer> = (0..SERVERS)
            .map(|at| ToolServer::new(ServeOptions::new(format!("s{at}"), "1.0.0")))
            .collect();
        for (at, server) in servers.iter().enumerate() {
            server.set_tools((0..TOOLS_OF_EACH).map(|tool| version(at, tool, 0)));
            connector = connector.register(format!("s{at}"), Arc::new(server.in_process()));
        }
        let bridge = Bridge::new(BridgeOptions::default().with_connector(connector));
        let events = bridge.events();
        for at in 0..SERVERS {
            let name = format!("s{at}").parse().unwrap();
            let mut config = ServerConfig::new(name, Transport::Sdk(Sdk::default()));
            config.trust = true;
            bridge.add_server_as_written(config);
        }
        bridge.start().await;
        for at in 0..SERVERS {
            until(&bridge, &format!("s{at}"), ServerState::Connected).await;
        }
        Self { servers, bridge, events }
    }

    /// Between two turns a tool changes, a tool disappears or returns, or a server stops, starts or restarts.
    async fn step(&mut self, turn: usize) {
        while self.events.try_next().is_some() {}
        let (at, name) = (turn % SERVERS, format!("s{}", turn % SERVERS));
        match turn % 5 {
            0 => {
                self.servers[at].add_tool(version(at, 1, turn + 1));
                self.lists_fetched(&name).await;
            }
            1 => {
                if !self.servers[at].remove_tool(&tool_name(at, 2)) {
                    self.servers[at].add_tool(version(at, 2, 0));
                }
                self.lists_fetched(&name).await;
            }
            2 => {
                self.bridge.reconnect(&name).unwrap();
                let is_back = |event: &Event| matches!(event, Event::ServerConnected { server, .. } if **server == *name);
                self.event(is_back).await;
            }
            3 => {
                self.bridge.disable(&name).unwrap();
                until(&self.bridge, &name, ServerState::Disabled).await;
            }
            _ => {
                let name = format!("s{}", (turn - 1) % SERVERS); // disabled in the turn before
                self.bridge.enable(&name).unwrap();
                self.bridge.connect(&name).unwrap();
                until(&self.bridge, &name, ServerState::Connected).await;
            }
        }
    }

    async fn lists_fetched(&mut self, name: &str) {
        self.event(|event| matches!(event, Event::ListsFetched { server } if **server == *name))
            .await;
    }

    async fn event(&mut self, is_it: impl Fn(&Event) -> bool) {
        let wait = async {
            while let Some(event) = self.events.next().await {
                if is_it(&event) {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait).await.expect("the event");
    }
}

async fn until(bridge: &Bridge, server: &str, state: ServerState) {
    let wait = bridge.wait_for(server, |status| status.state == state);
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("the state").unwrap();
}

fn tool_name(server: usize, tool: usize) -> String {
    format!("work_{server}_{tool}")
}

fn version(server: usize, tool: usize, version: usize) -> Arc<dyn Tool> {
    let mut spec = ToolSpec::new(tool_name(server, tool), "Works on something.");
    let schema =
        format!(r#"{{"type":"object","properties":{{"v{version}":{{"type":"string"}}}}}}"#);
    spec.input_schema = RawJson::parse(schema).unwrap();
    Arc::new(Fixed(spec))
}

/// The call of the model in one turn: two searches, then a call of a tool that was found, and so on.
fn call(turn: usize) -> ModelCall {
    let of_server = |offset: usize| (turn + offset) % SERVERS;
    let name = |offset, tool| {
        let server = of_server(offset);
        format!("mcp__s{server}__{}", tool_name(server, tool))
    };
    let id = format!("id_{turn}");
    if turn % 3 == 2 {
        return ModelCall::new(id, name(SERVERS - 1, 1), "{}");
    }
    let names = [name(0, 1), name(5, 2), name(2, turn % TOOLS_OF_EACH)].join(",");
    ModelCall::new(id, "tool_search", &format!(r#"{{"query":"select:{names}"}}"#))
}

/// The `tools` of each request as text, and the messages at the end.
async fn play<A: Deferral + Clone>(api: A) -> (Vec<String>, Vec<RawJson>) {
    let mut world = World::start().await;
    assert_eq!(world.bridge.conversation().summaries().len(), SERVERS * TOOLS_OF_EACH);
    let mut session = world.bridge.snapshot().session(api.clone()).unwrap();
    let (mut requests, mut messages) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        world.step(turn).await;
        let now = world.bridge.snapshot();
        messages.extend(session.refresh(now.tools()));
        requests.push(session.tools().as_str().to_owned());
        let context = CallContext::default();
        messages.extend(now.answer_in(&mut session, &[call(turn)], &context).await);
        if turn % 20 == 10 {
            let file = session.save().as_str().to_owned();
            session = Session::resume(api.clone(), &RawJson::parse(file).unwrap()).unwrap();
        }
    }
    world.bridge.shutdown().await;
    (requests, messages)
}

/// The number of requests in which an earlier entry of `tools` differs.
fn edits(requests: &[String]) -> usize {
    let is_edit = |pair: &&[String]| !pair[1].starts_with(&pair[0][..pair[0].len() - 1]);
    requests.windows(2).filter(is_edit).count()
}

fn text(messages: &[RawJson]) -> String {
    messages.iter().map(RawJson::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn anthropic_session_over_a_bridge_has_no_edits_in_fifty_turns() {
    let (requests, messages) = play(Anthropic::default()).await;
    assert_eq!((edits(&requests), requests.len()), (0, TURNS));
    // The permanent tools are those of the first request; found tools are appended, deferred.
    let permanent = |request: &String| -> Vec<RawJson> {
        let tools: Vec<RawJson> = RawJson::parse(request.clone()).unwrap().decode().unwrap();
        tools.into_iter().filter(|tool| tool.get("defer_loading").is_none()).collect()
    };
    let (first, last) = (&requests[0], &requests[TURNS - 1]);
    assert_eq!(permanent(first), permanent(last));
    assert!(last.matches(r#""defer_loading":true"#).count() > 30, "{last}");
    let said = text(&messages);
    for part in [
        r#"{"type":"tool_reference","tool_name":"mcp__s0__work_0_1"}"#,
        "has a new definition",
        "not available now",
        "available again",
        r#""text":"done""#,
    ] {
        assert!(said.contains(part), "{part}");
    }
}

#[tokio::test(start_paused = true)]
async fn openai_session_over_a_bridge_has_no_edits_in_fifty_turns() {
    let (requests, messages) = play(Responses::default()).await;
    assert!(requests.iter().all(|request| *request == requests[0]), "definitions are in the items");
    let said = text(&messages);
    for part in [
        r#""type":"tool_search_output""#,
        r#""type":"namespace","name":"s0""#,
        "mcp__s0__work_0_1",
        r#""type":"additional_tools""#,
        "not available now",
        r#""output":"done""#,
    ] {
        assert!(said.contains(part), "{part}");
    }
}

#[tokio::test]
async fn session_needs_a_search_tool() {
    let bridge = Bridge::new(BridgeOptions::default());
    bridge.add_tool(version(0, 0, 0)).unwrap();
    assert!(bridge.snapshot().session(Anthropic::default()).is_none());
}
