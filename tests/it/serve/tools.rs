//! Tools served by an MCP server and called through our client.

use std::{collections::BTreeMap, sync::Arc};

use mcp_bridge::{
    Bridge, BridgeOptions, CallContext, RawJson, Tool, ToolOutcome, ToolSpec,
    connect::DefaultConnector,
    tool::{BoxFuture, Content, Handler, Hints, LogLevel},
};
use mcp_client::{
    Client, ClientCapabilities, ClientOptions, ElicitRequest, ElicitResult, EraChoice, Progress,
    ServerEvent,
    request::{CompletionTarget, ListenFilter},
    types::{
        Completion, Era, GetPromptResult, Prompt, PromptMessage, Resource, ResourceContents,
        events::LogMessage,
    },
};
use mcp_config::{Sdk, ServerConfig, Transport};
use mcp_server::{
    Call, CompletionQuestion, Completions, Prompts, Resources, ServeError, ServeOptions, ToolServer,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

fn args(value: &Value) -> RawJson {
    RawJson::encode(value).unwrap()
}

fn config(name: &str) -> ServerConfig {
    let mut config = ServerConfig::new(name.parse().unwrap(), Transport::Sdk(Sdk::default()));
    config.trust = true;
    config
}

/// Echoes, reports progress, elicits twice, fails, or never ends, depending on its name.
struct Own(ToolSpec);

impl Own {
    fn tool(name: &str) -> Arc<dyn Tool> {
        let mut spec = ToolSpec::new(name, format!("Does {name}."));
        spec.hints = Hints::reading();
        Arc::new(Self(spec))
    }
}

fn question(message: &str) -> ElicitRequest {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    args(&json!({"message": message, "requestedSchema": schema})).decode().unwrap()
}

impl Tool for Own {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, arguments: RawJson, context: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            match self.0.name.as_str() {
                "ask" => {
                    let owner = context.owner.unwrap();
                    let first = owner.elicit(question("first")).await;
                    let second = owner.elicit(question("second")).await;
                    let name = |answer: ElicitResult| answer.content.map(|c| c.as_str().to_owned());
                    ToolOutcome::text(format!("{:?} {:?}", name(first), name(second)))
                }
                "progress" => {
                    (context.on_progress.unwrap())(Progress::new(1.0));
                    ToolOutcome::text("done")
                }
                "log" => {
                    context.log(LogLevel::Debug, "nobody asked");
                    context.log(LogLevel::Warning, "careful");
                    ToolOutcome::text("logged")
                }
                "log_slowly" => {
                    context.log(LogLevel::Warning, "careful");
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                    ToolOutcome::text("logged")
                }
                "fail" => ToolOutcome::error("it broke"),
                "never" => std::future::pending().await,
                _ => ToolOutcome::text(arguments.as_str()),
            }
        })
    }
}

struct Books;

impl Resources for Books {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async { Ok(vec![Resource::new("book://one", "one")]) })
    }

    fn read(
        &self,
        uri: String,
        _: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(async move {
            match uri.as_str() {
                "book://one" => Ok(vec![ResourceContents::text(uri, "Once")]),
                _ => Err(ServeError::UnknownResource(uri)),
            }
        })
    }
}

impl Prompts for Books {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Prompt>, ServeError>> {
        Box::pin(async { Ok(vec![Prompt::new("greet")]) })
    }

    fn get(
        &self,
        _: String,
        arguments: BTreeMap<String, String>,
        _: Call,
    ) -> BoxFuture<'_, Result<GetPromptResult, ServeError>> {
        let text = json!(arguments).to_string();
        let message = PromptMessage::user(Content::text(text));
        Box::pin(async { Ok(GetPromptResult::new(vec![message])) })
    }
}

impl Completions for Books {
    fn complete(
        &self,
        question: CompletionQuestion,
    ) -> BoxFuture<'_, Result<Completion, ServeError>> {
        let values = (0..150).map(|n| format!("{}{n}", question.value)).collect();
        Box::pin(async { Ok(Completion::new(values)) })
    }
}

fn server() -> ToolServer {
    let mut options = ServeOptions::new("own", "1");
    options.instructions = Some("Be kind.".into());
    options.resources = Some(Arc::new(Books));
    options.prompts = Some(Arc::new(Books));
    options.completions = Some(Arc::new(Books));
    let server = ToolServer::new(options);
    server.set_tools(
        ["echo", "ask", "progress", "fail", "never", "log", "log_slowly"].map(Own::tool),
    );
    server
}

#[derive(Default)]
struct Ada(Option<mpsc::UnboundedSender<LogMessage>>);

impl Handler for Ada {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        let name = format!("ada to {}", request.message);
        Box::pin(async move { ElicitResult::accept(args(&json!({ "name": name }))) })
    }

    fn event(&self, event: ServerEvent) {
        if let (Some(log), ServerEvent::Log(line)) = (&self.0, event) {
            log.send(line).unwrap();
        }
    }
}

async fn client(server: &ToolServer, era: EraChoice) -> Client {
    let mut options = ClientOptions::default();
    options.era = era;
    options.handler = Arc::new(Ada::default());
    Client::connect(&server.in_process(), options).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn both_eras_list_call_read_prompt_and_complete() {
    for (choice, era) in [(EraChoice::Modern, Era::Modern), (EraChoice::Legacy, Era::Legacy)] {
        let client = client(&server(), choice).await;
        assert_eq!(client.era(), era);
        assert_eq!(client.server().instructions.as_deref(), Some("Be kind."));
        let tools = client.list_tools().await.unwrap();
        assert_eq!(tools.items.len(), 7);
        assert_eq!(tools.items[0].annotations.as_ref().unwrap().read_only_hint, Some(true));
        let echoed = client.call_tool("echo", &json!({"x": 1})).await.unwrap();
        assert_eq!(echoed.text(), r#"{"x":1}"#);
        assert!(client.call_tool("fail", &()).await.unwrap().is_error);
        assert!(client.call_tool("nothing", &()).await.is_err());
        assert_eq!(client.list_resources().await.unwrap().items[0].uri, "book://one");
        let book = client.read_resource("book://one").await.unwrap();
        assert_eq!(book.contents[0].text.as_deref(), Some("Once"));
        assert!(client.read_resource("book://two").await.is_err());
        let arguments = [("who".to_owned(), "Ada".to_owned())].into();
        let prompt = client.get_prompt("greet", &arguments).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some(r#"{"who":"Ada"}"#));
        let none = BTreeMap::new();
        let target = CompletionTarget::Prompt("greet");
        let completed = client.complete(target, "who", "a", &none).await.unwrap();
        assert_eq!((completed.values.len(), completed.has_more), (100, true));
        assert!(client.ping().await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn tool_elicits_in_each_era() {
    for era in [EraChoice::Modern, EraChoice::Legacy] {
        let client = client(&server(), era).await;
        let asked = client.call_tool("ask", &()).await.unwrap().text();
        assert_eq!(
            asked,
            r#"Some("{\"name\":\"ada to first\"}") Some("{\"name\":\"ada to second\"}")"#
        );
    }
}

#[tokio::test(start_paused = true)]
async fn progress_reaches_the_caller_and_dropping_a_call_cancels_it() {
    for era in [EraChoice::Modern, EraChoice::Legacy] {
        let client = client(&server(), era).await;
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut options = mcp_client::CallOptions::default();
        let ear = heard.clone();
        options.on_progress = Some(Arc::new(move |p| ear.lock().unwrap().push(p.progress)));
        client.call_tool("progress", &()).with(options).await.unwrap();
        assert_eq!(heard.lock().unwrap()[..], [1.0]);
        let mut options = mcp_client::CallOptions::default();
        options.total_timeout = Some(std::time::Duration::from_secs(5));
        assert!(client.call_tool("never", &()).with(options).await.is_err());
        assert!(client.call_tool("echo", &()).await.is_ok());
    }
}

/// A client with this log level, and the log lines it receives.
async fn logging(
    server: &ToolServer,
    era: EraChoice,
    level: LogLevel,
) -> (Client, mpsc::UnboundedReceiver<LogMessage>) {
    let (log, lines) = mpsc::unbounded_channel();
    let mut options = ClientOptions::default();
    options.era = era;
    options.log_level = Some(level);
    options.handler = Arc::new(Ada(Some(log)));
    let client = Client::connect(&server.in_process(), options).await.unwrap();
    if client.era() == Era::Legacy {
        client.set_log_level(level).await.unwrap();
    }
    (client, lines)
}

async fn line(lines: &mut mpsc::UnboundedReceiver<LogMessage>) -> (String, String) {
    let line = tokio::time::timeout(std::time::Duration::from_secs(60), lines.recv());
    let line = line.await.unwrap().unwrap();
    (line.level, line.data.unwrap().decode().unwrap())
}

#[tokio::test(start_paused = true)]
async fn tool_logs_follow_the_level_of_the_client() {
    for era in [EraChoice::Modern, EraChoice::Legacy] {
        let server = server();
        let (client, mut lines) = logging(&server, era, LogLevel::Notice).await;
        client.call_tool("log", &()).await.unwrap();
        assert_eq!(line(&mut lines).await, ("warning".into(), "careful".into()));
        let (client, mut all) = logging(&server, era, LogLevel::Debug).await;
        client.call_tool("log", &()).await.unwrap();
        assert_eq!(line(&mut all).await, ("debug".into(), "nobody asked".into()));
        assert_eq!(line(&mut all).await, ("warning".into(), "careful".into()));
        assert!(lines.try_recv().is_err(), "another client's lines are not for this one");
    }
}

#[tokio::test(start_paused = true)]
async fn logs_behind_a_gateway_reach_the_calling_client() {
    let inner = Bridge::new({
        let mut options = BridgeOptions::default();
        let connector = DefaultConnector::new().register("own", Arc::new(server().in_process()));
        options.connector = Arc::new(connector);
        options.client.log_level = Some(LogLevel::Debug);
        options.handler = Arc::new(Ada::default());
        options
    });
    inner.add_server_as_written(config("own"));
    inner.start().await;
    let gateway = {
        let inner = inner.clone();
        ToolServer::of(ServeOptions::new("gateway", "1"), move || inner.snapshot().tools().to_vec())
    };
    for era in [EraChoice::Modern, EraChoice::Legacy] {
        let (client, mut lines) = logging(&gateway, era, LogLevel::Warning).await;
        client.call_tool("mcp__own__log_slowly", &()).await.unwrap();
        assert_eq!(line(&mut lines).await, ("warning".into(), "careful".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_to_those_who_listen() {
    for era in [EraChoice::Modern, EraChoice::Legacy] {
        let server = server();
        let client = client(&server, era).await;
        let mut filter = ListenFilter::lists();
        filter.resource_uris = vec!["book://one".into()];
        let mut subscription = client.listen(filter).await.unwrap();
        server.tools_changed();
        server.resource_updated("book://two");
        server.resource_updated("book://one");
        assert_eq!(subscription.next().await, Some(ServerEvent::ToolsChanged));
        let updated = ServerEvent::ResourceUpdated { uri: "book://one".into() };
        assert_eq!(subscription.next().await, Some(updated));
    }
}

#[tokio::test(start_paused = true)]
async fn bridge_served_as_tools_is_a_gateway() {
    let inner = Bridge::new({
        let mut options = BridgeOptions::default();
        let connector = DefaultConnector::new().register("own", Arc::new(server().in_process()));
        options.connector = Arc::new(connector);
        options
    });
    inner.add_server_as_written(config("own"));
    inner.start().await;
    let gateway = {
        let inner = inner.clone();
        let options = ServeOptions::new("gateway", "1");
        ToolServer::of(options, move || inner.snapshot().tools().to_vec())
    };
    let client = client(&gateway, EraChoice::Auto).await;
    let echoed = client.call_tool("mcp__own__echo", &json!({"x": 1})).await.unwrap();
    assert_eq!(echoed.text(), r#"{"x":1}"#);
    assert_eq!(inner.snapshot().tools().len(), client.list_tools().await.unwrap().items.len());
}

#[tokio::test]
async fn stdio_carries_one_message_per_line_and_rejects_garbage() {
    use tokio::io::AsyncWriteExt;
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let (reads, writes) = tokio::io::split(theirs);
    let server = server();
    let serving = async move { server.serve_pipes(reads, writes).await };
    let talking = async move {
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        ours.write_all(format!("{hello}\nnonsense\n").as_bytes()).await.unwrap();
        let mut text = String::new();
        while text.lines().count() < 2 || !text.ends_with('\n') {
            let mut buffer = [0; 4096];
            let count = tokio::io::AsyncReadExt::read(&mut ours, &mut buffer).await.unwrap();
            text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        text
    };
    let (end, text) = futures::future::join(serving, talking).await;
    end.unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(lines[1]["error"]["code"], -32700);
}
