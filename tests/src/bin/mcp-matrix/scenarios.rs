//! The scenarios. A scenario that fails panics with the reason.

use std::{collections::BTreeMap, time::Duration};

use futures::{
    FutureExt as _, StreamExt as _,
    future::{Either, LocalBoxFuture, join, join_all, select},
};
use mcp_client::{
    CallError, CallOptions, CallToolResult, Client, Delivery, ProgressStream, ServerEvent,
    diagnostics::ErrorClass, rpc::Failure,
};
use mcp_tests::{Diary, Host, call};
use mcp_transport::diagnostics::CloseReason;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    play::{Line, Loss},
    rows::Row,
    server::{Kits, Server},
};

/// A column of the table.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    fits: fn(&Row) -> bool,
    pub(crate) run: for<'a> fn(&'a mut Stage<'_>) -> LocalBoxFuture<'a, ()>,
}

impl Scenario {
    pub(crate) fn fits(&self, row: &Row) -> bool {
        (self.fits)(row)
    }
}

/// In the order in which they run: one session up to `close`.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario { name: "connect", fits: |_| true, run: |stage| connect(stage).boxed_local() },
    Scenario { name: "era", fits: |_| true, run: |stage| era(stage).boxed_local() },
    Scenario { name: "list", fits: |_| true, run: |stage| list(stage).boxed_local() },
    Scenario { name: "call", fits: |_| true, run: |stage| one_call(stage).boxed_local() },
    Scenario { name: "many", fits: |_| true, run: |stage| many_calls(stage).boxed_local() },
    Scenario {
        name: "progress",
        fits: |row| row.play.progress.is_some(),
        run: |stage| progress(stage).boxed_local(),
    },
    Scenario {
        name: "cancel",
        fits: |row| row.play.cancel.is_some(),
        run: |stage| cancel(stage).boxed_local(),
    },
    Scenario {
        name: "ask",
        fits: |row| row.play.ask.is_some(),
        run: |stage| ask(stage).boxed_local(),
    },
    Scenario {
        name: "change",
        fits: |row| !row.play.changes.is_empty(),
        run: |stage| change(stage).boxed_local(),
    },
    Scenario {
        name: "resume",
        fits: |row| row.play.resume.is_some(),
        run: |stage| resume(stage).boxed_local(),
    },
    Scenario { name: "close", fits: |_| true, run: |stage| close(stage).boxed_local() },
    Scenario {
        name: "loss",
        fits: |row| row.play.loss.is_some(),
        run: |stage| loss(stage).boxed_local(),
    },
];

/// State shared by the scenarios of a row.
pub(crate) struct Stage<'a> {
    row: &'a Row,
    kits: &'a Kits,
    server: Option<Server>,
    conversation: Option<(Client, Diary)>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(row: &'a Row, kits: &'a Kits) -> Self {
        Self { row, kits, server: None, conversation: None }
    }

    async fn open(&self) -> (Client, Diary) {
        let (host, diary) = Host::new();
        let mut options = host.options();
        options.era = self.row.choice;
        options.handshake_timeout = Duration::from_secs(40);
        // A busy machine must not make a modern server look like a legacy one.
        options.probe_timeout = Duration::from_secs(30);
        let server = self.server.as_ref().expect("the server does not run");
        let connected = Client::connect(&*server.connect, options).await;
        (connected.unwrap_or_else(|error| panic!("{error}")), diary)
    }

    fn conversation(&mut self) -> (&Client, &mut Diary) {
        let (client, diary) = self.conversation.as_mut().expect("not connected");
        (client, diary)
    }

    fn client(&self) -> &Client {
        &self.conversation.as_ref().expect("not connected").0
    }

    async fn say(&self, line: &Line) -> CallToolResult {
        let result = call(self.client(), line.tool, line.arguments.clone()).await;
        check(line, &result);
        result
    }
}

fn check(line: &Line, result: &CallToolResult) {
    let text = result.text();
    assert!(text.contains(line.answer), "{}: {text}", line.tool);
}

async fn connect(stage: &mut Stage<'_>) {
    let server = Server::start(&stage.row.launch, stage.kits).await;
    stage.server = Some(server.unwrap_or_else(|error| panic!("{error}")));
    stage.conversation = Some(stage.open().await);
    let info = stage.client().server().info.as_ref();
    assert!(info.is_some_and(|info| !info.name.is_empty()), "the server has no name");
}

async fn era(stage: &mut Stage<'_>) {
    let client = stage.client();
    assert_eq!(client.server().version, stage.row.version);
    assert_eq!(client.era(), stage.row.version.era());
    let pinged = client.ping().await;
    pinged.unwrap_or_else(|error| panic!("ping: {error}"));
}

async fn list(stage: &mut Stage<'_>) {
    let client = stage.client();
    let tools = client.list_tools().await.unwrap_or_else(|error| panic!("tools: {error}"));
    assert!(tools.rejected.is_empty() && !tools.truncated, "{:?}", tools.rejected);
    let count = tools.items.len();
    assert!(count >= stage.row.play.tools, "only {count} tools");
    let offered = &client.server().capabilities;
    if offered.resources.is_some() {
        let resources = client.list_resources().await;
        let resources = resources.unwrap_or_else(|error| panic!("resources: {error}"));
        if let Some(first) = resources.items.first() {
            let read = client.read_resource(&first.uri).await;
            let read = read.unwrap_or_else(|error| panic!("{}: {error}", first.uri));
            assert!(!read.contents.is_empty(), "{} is empty", first.uri);
        }
    }
    if offered.prompts.is_some() {
        let prompts = client.list_prompts().await;
        let prompts = prompts.unwrap_or_else(|error| panic!("prompts: {error}"));
        // Some servers declare prompts and have none. One prompt fetches the page that it names.
        if let Some(greet) = prompts.items.iter().find(|prompt| prompt.name == "greet") {
            let name = BTreeMap::from([("name".to_owned(), "Ada".to_owned())]);
            let prompt = client.get_prompt(&greet.name, &name).await;
            let prompt = prompt.unwrap_or_else(|error| panic!("greet: {error}"));
            let text = prompt.messages.first().and_then(|message| message.content.as_text());
            assert!(text.is_some_and(|text| text.contains("Ada")), "{text:?}");
        }
    }
}

async fn one_call(stage: &mut Stage<'_>) {
    let line = prepared(stage, &stage.row.play.call).await;
    stage.say(&line).await;
    match stage.client().call_tool("no such tool", &()).await {
        Ok(result) => assert!(result.is_error, "an unknown tool answers: {}", result.text()),
        Err(error) => assert!(
            matches!(error, CallError::Failed { failure: Failure::Rejected(_), .. }),
            "{error}"
        ),
    }
}

async fn many_calls(stage: &mut Stage<'_>) {
    let line = prepared(stage, &stage.row.play.call).await;
    let stage = &*stage;
    join_all((0..stage.row.play.many).map(|_| stage.say(&line))).await;
}

async fn progress(stage: &mut Stage<'_>) {
    let line = stage.row.play.progress.as_ref().expect("it fits");
    let mut options = CallOptions::default();
    let reports = ProgressStream::of(&mut options);
    let running = stage.client().call_tool(line.tool, &line.arguments).with(options);
    let (result, reports) = join(running.into_future(), reports.collect::<Vec<_>>()).await;
    check(line, &result.unwrap_or_else(|error| panic!("{error}")));
    let steps: Vec<_> = reports.iter().map(|report| (report.progress, report.total)).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0, 4.0].map(|step| (step, Some(4.0))));
}

async fn cancel(stage: &mut Stage<'_>) {
    let client = stage.client();
    let line = stage.row.play.cancel.as_ref().expect("it fits");
    let before = cancelled(stage).await;
    let mut options = CallOptions::default();
    let mut reports = ProgressStream::of(&mut options);
    {
        let running = client.call_tool(line.tool, &line.arguments).with(options).into_future();
        let Either::Right(_) = select(running, reports.next()).await else {
            panic!("{} answers", line.tool);
        };
        // The call is dropped here.
    }
    // Poll, because the server sends no notification about it.
    while before.is_some() && cancelled(stage).await == before {}
    stage.say(&prepared(stage, &stage.row.play.call).await).await;
}

/// The number of cancelled calls, by the server's count.
async fn cancelled(stage: &Stage<'_>) -> Option<u64> {
    let tool = stage.row.play.cancelled?;
    let result = call(stage.client(), tool, Value::Object(serde_json::Map::default())).await;
    Some(result.text().parse().unwrap_or_else(|_| panic!("{tool}: {}", result.text())))
}

async fn ask(stage: &mut Stage<'_>) {
    let line = stage.row.play.ask.as_ref().expect("it fits");
    stage.say(line).await;
}

async fn change(stage: &mut Stage<'_>) {
    let changes = &stage.row.play.changes;
    for change in changes {
        let client = stage.client().clone();
        let subscription = client.listen(change.filter.clone()).await;
        let mut subscription = subscription.unwrap_or_else(|error| panic!("listen: {error}"));
        stage.say(&change.trigger).await;
        // Some legacy servers send notifications they did not declare; the host receives them.
        if *subscription.acknowledged() == change.filter {
            assert_eq!(subscription.next().await.as_ref(), Some(&change.event));
        }
        let (_, diary) = stage.conversation();
        diary.hears("the change", |event| *event == change.event).await;
        if change.event == ServerEvent::ToolsChanged {
            let tools = client.list_tools().await.unwrap_or_else(|error| panic!("{error}"));
            assert!(tools.iter().any(|tool| tool.name == "grown"), "the new tool is not listed");
        }
    }
}

async fn resume(stage: &mut Stage<'_>) {
    let line = stage.row.play.resume.as_ref().expect("it fits");
    stage.say(line).await;
}

async fn close(stage: &mut Stage<'_>) {
    let client = stage.client();
    let report = client.close().await;
    assert_eq!(report.reason, CloseReason::Requested);
    assert!(client.is_closed());
    let line = &stage.row.play.call;
    match client.call_tool(line.tool, &line.arguments).await {
        Ok(_) => panic!("a call is answered after the end"),
        Err(error) => assert_eq!(error.delivery(), Delivery::NotSent, "{error}"),
    }
}

async fn loss(stage: &mut Stage<'_>) {
    let (client, _diary) = stage.open().await;
    let loss = stage.row.play.loss.expect("it fits");
    let (result, class) = match loss {
        Loss::Server(tool) | Loss::Connection(tool) => {
            (client.call_tool(tool, &()).await, ErrorClass::Transient)
        }
        Loss::Session(tool) => {
            let answered = client.call_tool(tool, &()).await;
            answered.unwrap_or_else(|error| panic!("{tool}: {error}"));
            let line = &stage.row.play.call;
            (client.call_tool(line.tool, &line.arguments).await, ErrorClass::Session)
        }
    };
    match result {
        Ok(result) => panic!("a lost server answers: {}", result.text()),
        Err(error) => assert_eq!(error.class(), class, "{error}"),
    }
    if let Loss::Server(_) = loss {
        if let Some(server) = &mut stage.server {
            server.over().await;
        }
        let server = Server::start(&stage.row.launch, stage.kits).await;
        stage.server = Some(server.unwrap_or_else(|error| panic!("{error}")));
    }
    stage.conversation = Some(stage.open().await);
    stage.say(&prepared(stage, &stage.row.play.call).await).await;
    stage.client().close().await;
}

/// Replaces `{folder}` and `{page}`.
async fn prepared(stage: &Stage<'_>, line: &Line) -> Line {
    let text = line.arguments.to_string();
    let folder = stage.server.as_ref().map(|server| server.folder.path().display().to_string());
    let mut filled = text.replace("{folder}", &folder.unwrap_or_default());
    if text.contains("{page}") {
        filled = filled.replace("{page}", &page().await);
    }
    let arguments = serde_json::from_str(&filled).expect("paths and addresses need no escapes");
    line.clone().with(arguments)
}

/// The URL of a page that is served until the runtime ends.
async fn page() -> String {
    const PAGE: &str = "<html><body><p>a page of the matrix</p></body></html>";
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it listens");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let length = PAGE.len();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let _ = socket.read(&mut [0; 4096]).await;
            let answer = format!("{head}\r\ncontent-length: {length}\r\n\r\n{PAGE}");
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/")
}
