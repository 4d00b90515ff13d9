//! rmcp 3.8, used as its README shows and otherwise left at its defaults.

use std::process::ExitCode;

use bench_worker::{Contender, Era, Server};
use bytes::BytesMut;
use rmcp::{
    RoleClient, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResult, ContentBlock, ProtocolVersion, ServerJsonRpcMessage,
        ServerResult,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::{ConfigureCommandExt, TokioChildProcess},
};
use tokio::process::Command;

struct Rmcp(RunningService<RoleClient, ()>);

impl Contender for Rmcp {
    async fn connect(server: Server) -> Self {
        let command = Command::new(server.program).configure(|command| {
            command.args(server.args);
        });
        let transport = TokioChildProcess::new(command).expect("the server starts");
        let service = match server.era {
            Era::Default | Era::Legacy => ().serve(transport).await,
            Era::Modern => {
                let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
                ().serve_with_lifecycle(
                    transport,
                    ClientLifecycleMode::Discover { preferred_versions },
                )
                .await
            }
        };
        Self(service.expect("the handshake succeeds"))
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

/// As its stdio transport does it: UTF-8 is checked, then the line is decoded.
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
