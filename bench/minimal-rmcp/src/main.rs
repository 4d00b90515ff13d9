//! A minimal stdio client with rmcp: connect, list, call, close.

use rmcp::{
    ServiceExt,
    model::CallToolRequestParams,
    transport::{ConfigureCommandExt, TokioChildProcess},
};
use tokio::process::Command;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let program = args.next().ok_or("usage: minimal-rmcp <program> [args]")?;
    let command = Command::new(program).configure(|command| {
        command.args(args);
    });
    let client = ().serve(TokioChildProcess::new(command)?).await?;
    for tool in client.list_all_tools().await? {
        println!("{}", tool.name);
    }
    let result = client.call_tool(CallToolRequestParams::new("small")).await?;
    println!("{result:?}");
    client.cancel().await?;
    Ok(())
}
