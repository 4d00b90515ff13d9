//! rmcp 3.8 as shown in its README, with its defaults unless tuned.

use std::{process::ExitCode, sync::OnceLock};

use bench_worker::{Contender, Era, Reach, Server};
use bytes::BytesMut;
use rmcp::{
    RoleClient, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResult, ContentBlock, ProtocolVersion, ServerJsonRpcMessage,
        ServerResult,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::{
        ConfigureCommandExt, IntoTransport, StreamableHttpClientTransport, TokioChildProcess,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::process::Command;

/// A client with a connection pool: the default one keeps no connections.
static POOL: OnceLock<reqwest::Client> = OnceLock::new();

struct Rmcp(RunningService<RoleClient, ()>);

impl Rmcp {
    async fn over<E, A>(transport: impl IntoTransport<RoleClient, E, A>, era: Era) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let service = match era {
            Era::Default | Era::Legacy => ().serve(transport).await,
            Era::Modern => {
                let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                let mode = ClientLifecycleMode::Discover { preferred_versions };
                ().serve_with_lifecycle(transport, mode).await
            }
        };
        Self(service.expect("the handshake succeeds"))
    }
}

impl Contender for Rmcp {
    async fn connect(server: Server) -> Self {
        match server.reach {
            Reach::Start { program, args } => {
                let command = Command::new(program).configure(|command| {
                    command.args(args);
                });
                let transport = TokioChildProcess::new(command).expect("the server starts");
                Self::over(transport, server.era).await
            }
            Reach::Http { url } if server.tuned => {
                let pool = POOL.get_or_init(reqwest::Client::new).clone();
                // The default limit is 16 calls in flight.
                let config = StreamableHttpClientTransportConfig::with_uri(url)
                    .max_concurrent_requests(1024);
                let transport = StreamableHttpClientTransport::with_client(pool, config);
                Self::over(transport, server.era).await
            }
            Reach::Http { url } => {
                Self::over(StreamableHttpClientTransport::from_uri(url), server.era).await
            }
            Reach::Ws { .. } => panic!("rmcp has no WebSocket"),
        }
    }

    async fn call(&self, tool: &'static str) -> usize {
        let params = CallToolRequestParams::new(tool);
        text_of(&self.0.call_tool(params).await.expect("the call is answered"))
    }

    async fn list(&self) -> usize {
        self.0.list_all_tools().await.expect("the list is answered").len()
    }

    async fn close(self) {
        self.0.cancel().await.expect("the service ends");
    }

    fn decode_call(line: BytesMut) -> usize {
        match decode(&line) {
            ServerResult::CallToolResult(result) => text_of(&result),
            other => panic!("not the result of a call: {other:?}"),
        }
    }

    fn decode_list(line: BytesMut) -> usize {
        match decode(&line) {
            ServerResult::ListToolsResult(result) => result.tools.len(),
            other => panic!("not a list of tools: {other:?}"),
        }
    }
}

/// Like its stdio transport: checks UTF-8, then decodes the line.
fn decode(line: &[u8]) -> ServerResult {
    std::str::from_utf8(line).expect("the line is text");
    match serde_json::from_slice(line).expect("the line is a message") {
        ServerJsonRpcMessage::Response(response) => response.result,
        other => panic!("not an answer: {other:?}"),
    }
}

fn text_of(result: &CallToolResult) -> usize {
    match &result.content[0] {
        ContentBlock::Text(text) => text.text.len(),
        other => panic!("not a text: {other:?}"),
    }
}

fn main() -> ExitCode {
    bench_worker::main::<Rmcp>()
}
