//! An agent on rig whose server crashes in the middle of the conversation.
//!
//! The glue between rig and MCP is fifteen lines of `run`; `example-rig-adapter` is the adapter. The model is a scripted
//! server on the loopback, the MCP server is this program with the argument `serve`.

use std::{env, error::Error, time::Duration};

use example_model::{Model, Turn};
use example_rig_adapter::rig_tools;
use mcp_host::{
    Bridge, BridgeOptions, ServerConfig,
    config::{Stdio, Transport},
    serve::{ServeOptions, ToolServer},
    tool,
};
use rig::{agent::AgentBuilder, providers::openai::OpenAIConfig};

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), AnyError> {
    if env::args().nth(1).as_deref() == Some("serve") {
        return Ok(serve().await?);
    }
    let model = Model::start([
        Turn::Calls(&[("mcp__shaky__process", "{}")]),
        Turn::Calls(&[("mcp__shaky__crash", "{}")]),
        Turn::Calls(&[("mcp__shaky__process", "{}")]),
        Turn::Text("It is back."),
    ])
    .await?;
    let answer = run(&model.url).await?;
    println!("{answer}");
    assert_eq!(answer, "It is back.");

    let last = model.requests().pop().unwrap_or_default();
    let results: Vec<String> = last["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    println!("{results:#?}");
    assert!(results[0].contains("process") && results[2].contains("process"));
    assert_ne!(results[0], results[2], "another process answers");
    Ok(())
}

async fn run(model: &str) -> Result<String, AnyError> {
    let program = env::current_exe()?;
    let server = Stdio::new(program.to_string_lossy().as_ref()).with_args(["serve"]);
    let config = ServerConfig::new("shaky".parse()?, Transport::Stdio(server)).with_trust(true);

    let wait = Duration::from_secs(30);
    let bridge =
        Bridge::new(BridgeOptions::default().with_tool_search(false).with_queue_while_down(wait));
    bridge.add_server_as_written(config);
    bridge.start().await;

    let model = OpenAIConfig::new("no key").with_base_url(model).client().chat("scripted");
    let tools = rig_tools(bridge.snapshot().tools())?;
    let agent = AgentBuilder::new(model).dynamic_tools(tools).build();
    let answer = agent.prompt("Is the server there?").max_turns(5).await?.output();
    bridge.shutdown().await;
    Ok(answer)
}

async fn serve() -> std::io::Result<()> {
    let server = ToolServer::new(ServeOptions::new("shaky", "1.0.0"));
    server.add_tool(
        tool("process", "Tells which process answers")
            .read_only()
            .run(|(), _ctx| async { Ok(format!("process {}", std::process::id())) }),
    );
    server.add_tool(tool("crash", "Ends the server").run(|(), _ctx| async {
        std::process::exit(1);
        #[expect(unreachable_code, reason = "the type of the result")]
        Ok(())
    }));
    server.serve_stdio().await
}
