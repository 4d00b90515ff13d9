//! Server features that work the same over every transport and in both eras.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use mcp_bridge::{RawJson, ToolOutcome, ToolSpec, tool::BoxFuture};
use mcp_client::{
    CallError, CallOptions, Client, ClientOptions, EraChoice, ServerEvent,
    request::{CompletionTarget, ListenFilter},
    rpc::Failure,
    types::{Era, LogLevel},
};
use mcp_server::{Call, ServeError, ServeOptions, ServedTool, ToolServer};
use mcp_tests::{call, soon};
use serde_json::json;
use tokio::sync::mpsc;

use super::{guests, http, listen};

#[tokio::test]
async fn tools_resources_prompts_and_completions_work() {
    for guest in guests().await {
        let (name, client) = (&guest.name, &guest.client);
        let tools = client.list_tools().await.unwrap();
        assert!(tools.items.len() > 20 && tools.rejected.is_empty(), "{name}");
        let text = call(client, "test_simple_text", json!({})).await.text();
        assert_eq!(text, "This is a simple text response for testing.", "{name}");
        let mixed = call(client, "test_multiple_content_types", json!({})).await;
        assert_eq!(mixed.content.len(), 3, "{name}");
        let failed = client.call_tool("test_error_handling", &()).await.unwrap();
        assert!(failed.is_error, "{name}");
        let unknown = client.call_tool("no_such_tool", &()).await;
        let Err(CallError::Failed { failure: Failure::Rejected(error), .. }) = unknown else {
            panic!("{name}: {unknown:?}")
        };
        assert_eq!(error.code, -32602, "{name}");
        let region = call(client, "test_header_param", json!({"region": "été"})).await.text();
        assert_eq!(region, r#"region: "été""#, "{name}");

        assert_eq!(client.list_resources().await.unwrap().items.len(), 3, "{name}");
        assert_eq!(client.list_resource_templates().await.unwrap().items.len(), 1, "{name}");
        let read = client.read_resource("test://template/7/data").await.unwrap();
        assert!(read.contents[0].text.as_ref().unwrap().contains("Data for ID: 7"), "{name}");
        let gone = client.read_resource("test://gone").await;
        let Err(CallError::Failed { failure: Failure::Rejected(error), .. }) = gone else {
            panic!("{name}: {gone:?}")
        };
        let code = if client.era() == Era::Modern { -32602 } else { -32002 };
        assert_eq!(error.code, code, "{name}");

        assert_eq!(client.list_prompts().await.unwrap().items.len(), 5, "{name}");
        let none = BTreeMap::new();
        let prompt = client.get_prompt("test_simple_prompt", &none).await.unwrap();
        assert_eq!(prompt.messages.len(), 1, "{name}");
        let target = CompletionTarget::Prompt("test_prompt_with_arguments");
        let words = client.complete(target, "arg1", "par", &none).await.unwrap();
        assert_eq!(words.values, ["paris", "park", "party"], "{name}");
        client.ping().await.unwrap();
    }
}

#[tokio::test]
async fn tool_elicits_from_its_client_and_continues() {
    for guest in guests().await {
        let (name, client) = (&guest.name, &guest.client);
        let ask = async |tool: &str| call(client, tool, json!({})).await.text();
        assert_eq!(ask("test_input_required_result_elicitation").await, "Hello, Ada!", "{name}");
        assert_eq!(ask("test_input_required_result_sampling").await, "as if by a model", "{name}");
        let all = ask("test_input_required_result_multiple_inputs").await;
        assert_eq!(all, r#"as if by a model, Ada: {"roots":[]}"#, "{name}");
        let rounds = ask("test_input_required_result_multi_round").await;
        assert_eq!(rounds, "Ada likes nobody", "{name}");
        let none = BTreeMap::new();
        let prompt = client.get_prompt("test_input_required_result_prompt", &none).await.unwrap();
        assert_eq!(prompt.messages.len(), 1, "{name}");
    }
}

#[tokio::test]
async fn missing_client_capability_is_reported_as_each_era_requires() {
    let server = mcp_tests::served::everything();
    let url = listen(&server, mcp_server::http::HttpServeOptions::default()).await;
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let mut options = ClientOptions::default();
        options.era = era;
        let client = Client::connect(&http(&url), options).await.unwrap();
        let outcome = client.call_tool("test_missing_capability", &()).await;
        match (era, outcome) {
            (EraChoice::Legacy, Ok(result)) => {
                assert!(result.is_error && result.text().contains("sampling"));
            }
            (
                EraChoice::Modern,
                Err(CallError::Failed { failure: Failure::Rejected(error), .. }),
            ) => {
                assert_eq!(error.code, -32021);
                let data = error.data.unwrap();
                assert_eq!(data.as_str(), r#"{"requiredCapabilities":{"sampling":{}}}"#);
            }
            (_, outcome) => panic!("{era:?}: {outcome:?}"),
        }
    }
}

#[tokio::test]
async fn progress_and_logs_arrive_while_the_call_runs() {
    for mut guest in guests().await {
        let (name, client) = (&guest.name, &guest.client);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        let mut options = CallOptions::default();
        options.on_progress = Some(Arc::new(move |step| ear.lock().unwrap().push(step.progress)));
        let call = client.call_tool("test_tool_with_progress", &()).with(options);
        soon("progress", call).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), [0.0, 50.0, 100.0], "{name}");
        if client.era() == Era::Legacy {
            client.call_tool("test_tool_with_logging", &()).await.unwrap();
            let is_log = |event: &ServerEvent| matches!(event, ServerEvent::Log(line) if line.level == "info");
            guest.diary.hears("a line of the log", is_log).await;
            client.set_log_level(LogLevel::Error).await.unwrap();
        }
    }
}

#[tokio::test]
async fn changes_are_told_to_those_who_listen() {
    for guest in guests().await {
        let (name, client) = (&guest.name, &guest.client);
        let mut filter = ListenFilter::default();
        filter.tools = true;
        let listening = soon("acknowledged", async { client.listen(filter).await }).await;
        let mut listening = listening.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(listening.acknowledged().tools, "{name}");
        call(client, "test_trigger_tool_change", json!({})).await;
        let event = soon("the change", listening.next()).await;
        assert_eq!(event, Some(ServerEvent::ToolsChanged), "{name}");
        let tools = client.list_tools().await.unwrap();
        assert!(tools.iter().any(|tool| tool.name == "test_dynamic_tool"), "{name}");
        drop(listening);
        call(client, "test_trigger_tool_change", json!({})).await;
    }
}

/// A tool that reports when its call begins and when it is dropped.
struct Endless(ToolSpec, mpsc::UnboundedSender<&'static str>);

struct Leaves(mpsc::UnboundedSender<&'static str>);

impl Drop for Leaves {
    fn drop(&mut self) {
        let _ = self.0.send("ended");
    }
}

impl ServedTool for Endless {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, _: RawJson, _: Call) -> BoxFuture<'_, Result<ToolOutcome, ServeError>> {
        let leaves = Leaves(self.1.clone());
        let _ = self.1.send("began");
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop(leaves);
            Ok(ToolOutcome::text("never"))
        })
    }
}

#[tokio::test]
async fn dropped_call_ends_at_the_server_too() {
    let (news, mut heard) = mpsc::unbounded_channel();
    let server = ToolServer::new(ServeOptions::new("patient", "1"));
    server.add_served_tool(Arc::new(Endless(ToolSpec::new("endless", "Never ends."), news)));
    let url = listen(&server, mcp_server::http::HttpServeOptions::default()).await;
    let ways: [Box<dyn mcp_transport::Connect>; 2] =
        [Box::new(server.in_process()), Box::new(http(&url))];
    for way in &ways {
        for era in [EraChoice::Legacy, EraChoice::Modern] {
            let mut options = ClientOptions::default();
            options.era = era;
            let client = Client::connect(&**way, options).await.unwrap();
            let endless = client.clone();
            let task = tokio::spawn(async move { endless.call_tool("endless", &()).await });
            assert_eq!(soon("the call", heard.recv()).await, Some("began"));
            task.abort();
            assert_eq!(soon("its end", heard.recv()).await, Some("ended"), "{era:?}");
        }
    }
}

#[tokio::test]
async fn long_lists_are_paged() {
    let mut options = ServeOptions::new("long", "1");
    options.page_size = 7;
    let server = ToolServer::new(options);
    let (news, _) = mpsc::unbounded_channel();
    for number in 0..50 {
        let spec = ToolSpec::new(format!("tool-{number:02}"), "One of many.");
        server.add_served_tool(Arc::new(Endless(spec, news.clone())));
    }
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let mut options = ClientOptions::default();
        options.era = era;
        let client = Client::connect(&server.in_process(), options).await.unwrap();
        let tools = client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.clone()).collect();
        assert_eq!(names, (0..50).map(|n| format!("tool-{n:02}")).collect::<Vec<_>>());
    }
}
