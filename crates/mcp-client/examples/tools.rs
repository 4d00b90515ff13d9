//! Lists the tools of any stdio server: `cargo run -p mcp-client --example tools -- PROGRAM [ARG…]`.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use mcp_client::{Client, ClientOptions};
use mcp_transport::{Stdio, StdioOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let mut command = StdioOptions::new(words.next().ok_or("usage: tools PROGRAM [ARG…]")?);
    command.args = words.collect();

    let client = Client::connect(&Stdio::new(command), ClientOptions::default()).await?;
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
