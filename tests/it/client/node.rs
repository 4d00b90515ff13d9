//! The filesystem and memory servers.

use mcp_client::{ClientOptions, ServerEvent, request::ListenFilter, types::Root};
use serde_json::json;
use tempfile::tempdir;

use super::support::{Host, call, connect, published, soon};

#[tokio::test]
async fn roots_replace_the_directories_of_the_filesystem_server() {
    let Some(mut server) = published("MCP_REFSERVERS", "mcp-server-filesystem") else { return };
    let (given, root) = (tempdir().unwrap(), tempdir().unwrap());
    std::fs::write(root.path().join("note.txt"), "hello").unwrap();
    server.args = vec![given.path().into()];

    let client = connect(server.clone(), ClientOptions::default()).await;
    let allowed = call(&client, "list_allowed_directories", json!({})).await.text();
    assert!(allowed.contains(given.path().to_str().unwrap()), "{allowed}");
    let tools = soon("tools/list", client.list_tools()).await.unwrap();
    assert_eq!(tools.items.len(), 14);
    assert!(tools.iter().all(|tool| tool.output_schema.is_some()));
    soon("the end", client.close()).await;

    let (mut host, mut diary) = Host::new();
    host.roots = vec![Root::new(format!("file://{}", root.path().display()))];
    let client = connect(server, host.options()).await;
    diary.is_asked("roots").await;
    // The server answers in order but applies the roots asynchronously.
    soon("the new roots", async {
        let wanted = root.path().to_str().unwrap();
        while !call(&client, "list_allowed_directories", json!({})).await.text().contains(wanted) {}
    })
    .await;
    let read = call(&client, "read_text_file", json!({"path": root.path().join("note.txt")})).await;
    assert_eq!(read.text(), "hello");
    let content = read.structured_content.unwrap();
    assert_eq!(content.get("content").unwrap().as_str(), r#""hello""#);
    // After the change notification it requests the roots again.
    client.roots_changed();
    diary.is_asked("roots").await;
}

#[tokio::test]
async fn memory_server_notifies_subscribers() {
    let Some(mut server) = published("MCP_REFSERVERS", "mcp-server-memory") else { return };
    let folder = tempdir().unwrap();
    server.env.insert("MEMORY_FILE_PATH".into(), folder.path().join("memory.jsonl").into());
    let client = connect(server, ClientOptions::default()).await;
    let resources = soon("resources/list", client.list_resources()).await.unwrap();
    let uri = resources.items[0].uri.clone();
    let mut filter = ListenFilter::default();
    filter.resource_uris = vec![uri.clone()];
    let mut subscription = soon("subscribing", client.listen(filter)).await.unwrap();
    let entities =
        json!({"entities": [{"name": "Ada", "entityType": "person", "observations": []}]});
    call(&client, "create_entities", entities).await;
    let event = soon("the update", subscription.next()).await;
    assert_eq!(event, Some(ServerEvent::ResourceUpdated { uri: uri.clone() }));
    let graph = soon("a read", client.read_resource(&uri)).await.unwrap();
    assert!(graph.contents[0].text.as_deref().unwrap().contains("Ada"));
    soon("the end", client.close()).await;
}
