//! The MCP server of this example: it asks the user for a signature before it sends a letter.

use mcp_host::{
    RawJson, ToolError,
    client::{ElicitRequest, types::ElicitAction},
    serve::{ServeOptions, ToolServer},
    tool,
};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Letter {
    to: String,
}

pub fn server() -> ToolServer {
    let server = ToolServer::new(ServeOptions::new("post", "1.0.0"));
    server.add_tool(
        tool("addresses", "Lists addresses").read_only().run(|(), _ctx| async { Ok("Ada") }),
    );
    server.add_tool(tool("send", "Sends a letter").run(|letter: Letter, ctx| async move {
        let schema = RawJson::parse(
            r#"{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}"#,
        )?;
        let user = ctx.owner.ok_or_else(|| ToolError::new("there is no user to ask"))?;
        let answer = user.elicit(ElicitRequest::form("Who signs?", schema)).await;
        match answer.content.and_then(|content| content.get("name")) {
            Some(name) if answer.action == ElicitAction::Accept => {
                Ok(format!("sent to {}, signed {}", letter.to, name.decode::<String>()?))
            }
            _ => Err(ToolError::new("not signed")),
        }
    }));
    server
}
