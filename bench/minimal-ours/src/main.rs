//! A minimal stdio client with our crates: connect, list, call, close.

use mcp_client::{Client, ClientOptions, RawJson};
use mcp_transport::{Stdio, StdioOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let program = args.next().ok_or("usage: minimal-ours <program> [args]")?;
    let mut command = StdioOptions::new(program);
    command.args = args.map(Into::into).collect();
    let client = Client::connect(&Stdio::new(command), ClientOptions::default()).await?;
    for tool in client.list_tools().await? {
        println!("{}", tool.name);
    }
    let result = client.call_tool_raw("small", RawJson::empty_object()).await?;
    println!("{result:?}");
    client.close().await;
    Ok(())
}
