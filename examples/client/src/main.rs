//! A minimal client: starts a server, lists its tools and calls one.
//!
//! The server is this program as well, started with the argument `serve`. Put the command of any server in its place.

use std::{collections::BTreeMap, env, error::Error};

use mcp_host::{
    client::{Client, ClientOptions},
    serve::{ServeOptions, ToolServer},
    tool,
    transport::{Stdio, StdioOptions},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Person {
    name: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
struct Greeting {
    text: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("serve") {
        return Ok(serve().await?);
    }
    let program = StdioOptions::new(env::current_exe()?).with_arg("serve");
    let client = Client::connect(&Stdio::new(program), ClientOptions::default()).await?;
    for tool in client.list_tools().await? {
        println!("{}: {}", tool.name, tool.description.unwrap_or_default());
    }
    let result = client.call_tool("greet", &BTreeMap::from([("name", "Ada")])).await?;
    let greeting: Greeting = result.structured()?;
    println!("{}", greeting.text);
    assert_eq!(greeting, Greeting { text: "Hello, Ada.".into() });
    client.close().await;
    Ok(())
}

async fn serve() -> std::io::Result<()> {
    let server = ToolServer::new(ServeOptions::new("greeter", "1.0.0"));
    server.add_tool(
        tool("greet", "Greets a person").read_only().run(|person: Person, _ctx| async move {
            Ok(Greeting { text: format!("Hello, {}.", person.name) })
        }),
    );
    server.serve_stdio().await
}
