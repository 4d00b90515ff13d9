//! The time and git servers, which speak both eras.

use mcp_client::{
    ClientOptions, EraChoice,
    types::{Era, ProtocolVersion},
};
use mcp_transport::StdioOptions;
use serde_json::json;
use tempfile::tempdir;

use super::support::{call, connect, published, soon};

/// Runs the same session in each era.
async fn in_both_eras(
    server: &StdioOptions,
    tools: usize,
    tool: &str,
    arguments: serde_json::Value,
) {
    for (choice, era, version) in [
        (EraChoice::Auto, Era::Modern, ProtocolVersion::V2026_07_28),
        (EraChoice::Legacy, Era::Legacy, ProtocolVersion::V2025_11_25),
    ] {
        let mut options = ClientOptions::default();
        options.era = choice;
        options.handshake_timeout = std::time::Duration::from_secs(30);
        let client = connect(server.clone(), options).await;
        assert_eq!((client.era(), client.server().version), (era, version));
        assert!(client.server().info.as_ref().is_some_and(|info| !info.name.is_empty()));
        let listing = soon("tools/list", client.list_tools()).await.unwrap();
        assert_eq!((listing.items.len(), listing.rejected.len()), (tools, 0));
        let result = call(&client, tool, arguments.clone()).await;
        assert!(!result.text().is_empty());
        let unknown =
            soon("an unknown tool", async { client.call_tool("no such tool", &()).await });
        match unknown.await {
            Ok(result) => assert!(result.is_error),
            Err(error) => assert!(
                matches!(
                    error,
                    mcp_client::CallError::Failed {
                        failure: mcp_client::rpc::Failure::Rejected(_),
                        ..
                    }
                ),
                "{error}"
            ),
        }
        soon("a ping", client.ping()).await.unwrap();
        soon("the end", client.close()).await;
    }
}

#[tokio::test]
async fn the_time_server_speaks_both_eras() {
    let Some(server) = published("MCP_PYREF", "mcp-server-time") else { return };
    in_both_eras(&server, 2, "get_current_time", json!({"timezone": "Europe/Oslo"})).await;
}

#[tokio::test]
async fn the_git_server_speaks_both_eras() {
    let Some(mut server) = published("MCP_PYREF", "mcp-server-git") else { return };
    let folder = tempdir().unwrap();
    let made = std::process::Command::new("git").arg("init").arg("-q").arg(folder.path()).status();
    assert!(made.unwrap().success());
    server.args = vec!["--repository".into(), folder.path().into()];
    in_both_eras(&server, 12, "git_status", json!({"repo_path": folder.path()})).await;
}
