//! Our client as shown in its README, with its defaults.

use std::{process::ExitCode, sync::OnceLock};

use bench_worker::{Contender, Era, Reach, Server};
use bytes::BytesMut;
use mcp_client::{CallToolResult, Client, ClientOptions, Content, EraChoice, RawJson, types::Tool};
use mcp_jsonrpc::wire::Reply;
use mcp_transport::{Connect, Http, HttpClient, HttpOptions, Stdio, StdioOptions, Ws, WsOptions};
use serde::Deserialize;

/// One connection pool for all servers, as in a host.
static POOL: OnceLock<HttpClient> = OnceLock::new();

struct Ours(Client);

impl Contender for Ours {
    async fn connect(server: Server) -> Self {
        let mut options = ClientOptions::default();
        options.era = match server.era {
            Era::Default => EraChoice::Auto,
            Era::Legacy => EraChoice::Legacy,
            Era::Modern => EraChoice::Modern,
        };
        let way: Box<dyn Connect> = match server.reach {
            Reach::Start { program, args } => {
                let mut command = StdioOptions::new(program);
                command.args = args.into_iter().map(Into::into).collect();
                Box::new(Stdio::new(command))
            }
            Reach::Http { url } => {
                let pool = POOL.get_or_init(|| HttpClient::new().expect("a pool of connections"));
                Box::new(Http::new(pool.clone(), HttpOptions::new(url)))
            }
            Reach::Ws { url } => Box::new(Ws::new(WsOptions::new(url))),
        };
        let client = Client::connect(&*way, options).await;
        Self(client.expect("the handshake succeeds"))
    }

    async fn call(&self, tool: &'static str) -> usize {
        // Without arguments, as for rmcp.
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

/// Like our stdio transport: recognises the line as a response, which the caller decodes.
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
