//! Lists the tools of any server behind a URL:
//! `cargo run -p mcp-client --features http --example remote -- https://example.com/mcp`.
//!
//! The variable `MCP_TOKEN` sets a bearer token.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;

use mcp_client::{Client, ClientOptions};
use mcp_transport::{Http, HttpClient, HttpOptions, StaticHeaders};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = HttpOptions::new(std::env::args().nth(1).ok_or("usage: remote URL")?);
    if let Ok(token) = std::env::var("MCP_TOKEN") {
        options.authorizer = Some(Arc::new(StaticHeaders::bearer(&token)));
    }
    let server = Http::new(HttpClient::new()?, options);

    let client = Client::connect(&server, ClientOptions::default()).await?;
    println!("{} speaks {}", name(&client), client.server().version);
    for tool in client.list_tools().await? {
        println!("  {}: {}", tool.name, tool.description.unwrap_or_default());
    }
    println!("{}", client.close().await);
    Ok(())
}

fn name(client: &Client) -> &str {
    client.server().info.as_ref().map_or("the server", |info| &info.name)
}
