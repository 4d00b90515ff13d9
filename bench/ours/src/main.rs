//! Our client, as its README uses it and otherwise left at its defaults.

use std::process::ExitCode;

use bench_worker::{Contender, Era, Server};
use bytes::BytesMut;
use mcp_client::{CallToolResult, Client, ClientOptions, Content, EraChoice, RawJson, Tool};
use mcp_jsonrpc::Reply;
use mcp_transport::{Stdio, StdioOptions};
use serde::Deserialize;

struct Ours(Client);

impl Contender for Ours {
    async fn connect(server: Server) -> Self {
        let mut command = StdioOptions::new(server.program);
        command.args = server.args.into_iter().map(Into::into).collect();
        let mut options = ClientOptions::default();
        options.era = match server.era {
            Era::Default => EraChoice::Auto,
            Era::Legacy => EraChoice::Legacy,
            Era::Modern => EraChoice::Modern,
        };
        let client = Client::connect(&Stdio::new(command), options).await;
        Self(client.expect("the handshake succeeds"))
    }

    async fn call(&self, tool: &'static str) -> usize {
        // Like rmcp's: a call whose tool takes no arguments.
        let call = self.0.call_tool_raw(tool, RawJson::empty_object());
        text_of(&call.await.expect("the call is answered"))
    }

    async fn list(&self) -> usize {
        self.0.list_tools().await.expect("the list is answered").items.len()
    }

    async fn close(self) {
        self.0.close().await;
    }

    fn decode_call(line: BytesMut) -> usize {
        text_of(&reply(line).decode().expect("the result of a call"))
    }

    fn decode_list(line: BytesMut) -> usize {
        // The client's own page type is private; this is its shape.
        #[derive(Deserialize)]
        struct Page {
            tools: Vec<Tool>,
        }
        reply(line).decode::<Page>().expect("a list of tools").tools.len()
    }
}

/// As our stdio transport does it: the line is recognised as an answer, and read by whoever called.
fn reply(line: BytesMut) -> Reply {
    Reply::recognize(&line.freeze()).expect("an answer in the usual form")
}

fn text_of(result: &CallToolResult) -> usize {
    match &result.content[0] {
        Content::Text(text) => text.text.len(),
        other => panic!("not a text: {other:?}"),
    }
}

fn main() -> ExitCode {
    bench_worker::main::<Ours>()
}
