//! `server-everything`, which exercises most of the legacy era.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use mcp_client::{
    CallOptions, Client, Content, ProgressStream, ServerEvent,
    request::{CompletionTarget, ListenFilter},
    types::{Era, LogLevel, Root, tasks::TaskSupport},
};
use serde_json::{Value, json};

use super::support::{Diary, Host, call, connect, published, soon};

/// A client with all capabilities, once the server has listed all its tools.
async fn everything() -> Option<(Client, Diary)> {
    let mut server = published("MCP_REFSERVERS", "mcp-server-everything")?;
    server.args = vec!["stdio".into()];
    let (mut host, mut diary) = Host::new();
    host.roots = vec![Root::new("file:///workplace")];
    let client = connect(server, host.options()).await;
    assert_eq!(client.era(), Era::Legacy);
    // Some tools depend on the host's capabilities; the server sends a notification when it adds them.
    loop {
        let tools = soon("tools/list", client.list_tools()).await.unwrap();
        if tools.iter().any(|tool| tool.name == "trigger-url-elicitation") {
            return Some((client, diary));
        }
        diary.hears("more tools", |event| *event == ServerEvent::ToolsChanged).await;
    }
}

#[tokio::test]
async fn tools_and_every_kind_of_content() {
    let Some((client, mut diary)) = everything().await else { return };
    assert!(client.server().instructions.as_deref().is_some_and(|text| text.len() > 100));
    let tools = soon("tools/list", client.list_tools()).await.unwrap();
    assert!(tools.items.len() >= 17 && tools.rejected.is_empty() && !tools.truncated);

    assert_eq!(call(&client, "echo", json!({"message": "hé"})).await.text(), "Echo: hé");
    assert!(call(&client, "get-sum", json!({"a": 2, "b": 3})).await.text().contains('5'));

    let weather = call(&client, "get-structured-content", json!({"location": "Chicago"})).await;
    let structured: Value = weather.structured_content.unwrap().decode().unwrap();
    assert!(structured["temperature"].is_number(), "{structured}");

    let image = call(&client, "get-tiny-image", json!({})).await;
    let is_png = |content: &Content| matches!(content, Content::Image(image) if image.mime_type == "image/png" && !image.data.is_empty());
    assert!(image.content.iter().any(is_png));

    let links = call(&client, "get-resource-links", json!({"count": 2})).await;
    let is_link = |content: &&Content| matches!(content, Content::ResourceLink(_));
    assert_eq!(links.content.iter().filter(is_link).count(), 2);

    let embedded = call(&client, "get-resource-reference", json!({"resourceType": "Blob"})).await;
    let has_blob =
        |content: &Content| matches!(content, Content::Resource(r) if r.resource.blob.is_some());
    assert!(embedded.content.iter().any(has_blob));

    let annotated = call(&client, "get-annotated-message", json!({"messageType": "error"})).await;
    let Content::Text(text) = &annotated.content[0] else { panic!("text") };
    assert!(text.annotations.as_ref().unwrap().get("priority").is_some());

    // Creates a resource and sends a notification.
    let data = json!({"name": "a.gz", "data": "data:text/plain,hello"});
    call(&client, "gzip-file-as-resource", data).await;
    diary.hears("the new resource", |event| *event == ServerEvent::ResourcesChanged).await;

    let wrong =
        soon("a wrong call", async { client.call_tool("get-sum", &json!({"a": "x"})).await });
    assert!(wrong.await.unwrap().is_error);
    soon("the end", client.close()).await;
}

#[tokio::test]
async fn progress_arrives_while_the_call_runs() {
    let Some((client, _diary)) = everything().await else { return };
    let mut options = CallOptions::default();
    let progress = ProgressStream::of(&mut options);
    let arguments = json!({"duration": 0.2, "steps": 4});
    let tool = "trigger-long-running-operation";
    let (result, reports) = soon(tool, async {
        tokio::join!(client.call_tool(tool, &arguments).with(options), progress.collect::<Vec<_>>())
    })
    .await;
    assert!(result.unwrap().text().contains("completed"));
    let steps: Vec<_> = reports.iter().map(|report| (report.progress, report.total)).collect();
    assert_eq!(steps, [1.0, 2.0, 3.0, 4.0].map(|step| (step, Some(4.0))));
}

#[tokio::test]
async fn host_answers_sampling_elicitation_and_roots() {
    let Some((client, mut diary)) = everything().await else { return };
    let sampled = call(&client, "trigger-sampling-request", json!({"prompt": "hi"})).await;
    assert!(sampled.text().contains("as if by a model"), "{}", sampled.text());
    diary.is_asked("sample 1").await;

    let form = call(&client, "trigger-elicitation-request", json!({})).await.text();
    // The user's input, and the defaults of the fields left empty.
    assert!(
        form.contains("Ada") && form.contains("dark and stormy") && form.contains("42"),
        "{form}"
    );

    let url = json!({"url": "https://example.com/login"});
    let visited = call(&client, "trigger-url-elicitation", url).await.text();
    assert!(visited.contains("User completed"), "{visited}");
    diary.is_asked("https://example.com/login").await;

    // The same with the error -32042: first the URL, then the call again.
    let url = json!({"url": "https://example.com/again", "errorPath": true});
    call(&client, "trigger-url-elicitation", url).await;
    diary.is_asked("https://modelcontextprotocol.io").await;
    diary.is_asked("https://example.com/again").await;

    let roots = call(&client, "get-roots-list", json!({})).await.text();
    assert!(roots.contains("file:///workplace"), "{roots}");
}

#[tokio::test]
async fn resources_prompts_and_completion() {
    let Some((client, _diary)) = everything().await else { return };
    let (resources, templates, prompts) = soon("three lists", async {
        tokio::join!(
            client.list_resources(),
            client.list_resource_templates(),
            client.list_prompts()
        )
    })
    .await;
    let resources = resources.unwrap();
    assert_eq!((resources.items.len(), templates.unwrap().items.len()), (7, 2));
    let read = soon("a read", client.read_resource(&resources.items[0].uri)).await.unwrap();
    assert!(read.contents[0].text.as_deref().is_some_and(|text| !text.is_empty()));
    let missing = soon("a read", client.read_resource("demo://nothing")).await.unwrap_err();
    assert!(
        matches!(
            missing,
            mcp_client::CallError::Failed { failure: mcp_client::rpc::Failure::Rejected(_), .. }
        ),
        "{missing}"
    );

    assert_eq!(prompts.unwrap().items.len(), 4);
    let city = BTreeMap::from([("city".to_owned(), "Oslo".to_owned())]);
    let prompt = soon("a prompt", client.get_prompt("args-prompt", &city)).await.unwrap();
    assert!(prompt.messages[0].content.as_text().unwrap().contains("Oslo"));

    let target = CompletionTarget::Prompt("completable-prompt");
    let department = BTreeMap::from([("department".to_owned(), "Sales".to_owned())]);
    let names = soon("a completion", client.complete(target, "name", "E", &department)).await;
    assert_eq!(names.unwrap().values, ["Eve"]);
}

#[tokio::test]
async fn subscriptions_and_logs() {
    let Some((client, mut diary)) = everything().await else { return };
    let uri = "demo://resource/dynamic/text/1";
    let mut filter = ListenFilter::default();
    filter.resource_uris = vec![uri.into()];
    let mut subscription = soon("subscribing", client.listen(filter)).await.unwrap();
    assert_eq!(subscription.acknowledged().resource_uris, [uri]);
    call(&client, "toggle-subscriber-updates", json!({})).await;
    let updated = soon("an update", subscription.next()).await;
    assert_eq!(updated, Some(ServerEvent::ResourceUpdated { uri: uri.into() }));

    soon("setting a level", client.set_log_level(LogLevel::Debug)).await.unwrap();
    call(&client, "toggle-simulated-logging", json!({})).await;
    diary.hears("a log message", |event| matches!(event, ServerEvent::Log(_))).await;
    soon("a ping", client.ping()).await.unwrap();
}

#[tokio::test]
async fn task_only_tool_is_polled_and_may_elicit() {
    let Some((client, mut diary)) = everything().await else { return };
    let tools = soon("tools/list", client.list_tools()).await.unwrap();
    let research = tools.iter().find(|tool| tool.name == "simulate-research-query").unwrap();
    assert_eq!(research.task_support(), TaskSupport::Required);
    let arguments = json!({"topic": "python", "ambiguous": true});
    let result = call(&client, "simulate-research-query", arguments).await;
    assert!(result.text().contains("User accepted without selection"), "{}", result.text());
    diary
        .is_asked(
            "The research query \"python\" could have multiple interpretations. Please clarify what \
             you're looking for:",
        )
        .await;
}
