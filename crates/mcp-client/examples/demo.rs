//! A host and its server in one process, without configuration or network: `cargo run -p mcp-client --example demo`.
//!
//! The server handles raw messages in forty lines, to show the traffic of a link. The host is code as you would write
//! it.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::{collections::BTreeMap, future::poll_fn};

use mcp_client::{CallOptions, Client, ClientOptions, RawJson, rpc::ErrorObject};
use mcp_jsonrpc::{Message, Notification, ObjectWriter, Request};
use mcp_transport::{InProcess, Inbound, Link};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = InProcess::new(|link| Box::pin(serve(link)));
    let client = Client::connect(&server, ClientOptions::default()).await?;
    let profile = client.server();
    println!(
        "connected: revision {}, {}",
        profile.version,
        profile.instructions.as_deref().unwrap_or("?")
    );

    for tool in &client.list_tools().await? {
        println!("tool `{}`: {}", tool.name, tool.description.as_deref().unwrap_or("?"));
        println!("     takes {}", tool.input_schema.as_str());
    }

    let mut options = CallOptions::default();
    options.on_progress = Some(std::sync::Arc::new(|report| {
        println!("  … {} of {}", report.progress, report.total.unwrap_or(f64::NAN));
    }));
    let result = client
        .call_tool("count", &BTreeMap::from([("text", "four words of text")]))
        .with(options)
        .await?;
    println!("count says: {}", result.text());

    let refused = client.call_tool("missing", &()).await.expect_err("the tool does not exist");
    println!("an unknown tool: {refused} ({:?}, {:?})", refused.class(), refused.delivery());
    println!("{}", client.close().await);
    Ok(())
}

/// Serves one host until it disconnects.
async fn serve(mut link: Link) {
    let mut batch = Vec::new();
    while poll_fn(|cx| link.inlet.poll_recv(cx, &mut batch)).await.is_ok() {
        for inbound in batch.drain(..) {
            if let Inbound::Message(Message::Request(request)) = inbound {
                let params = request.params.clone().unwrap_or_else(RawJson::empty_object);
                if let Some(token) = params.get("_meta").and_then(|meta| meta.get("progressToken"))
                {
                    report(&link, &token);
                }
                let _ = link.outlet.send(request.answer(answer(&request, &params)));
            }
        }
    }
}

fn report(link: &Link, token: &RawJson) {
    for step in 1..=3 {
        let mut params = ObjectWriter::new();
        params.raw("progressToken", token).integer("progress", step).integer("total", 3);
        let progress = Notification::new("notifications/progress", Some(params.finish()));
        let _ = link.outlet.send(Message::Notification(progress));
    }
}

fn answer(request: &Request, params: &RawJson) -> Result<RawJson, ErrorObject> {
    let text = match &*request.method {
        "server/discover" => {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},
                "instructions":"counts words","ttlMs":0,"cacheScope":"private"}"#.to_owned()
        }
        "tools/list" => {
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"count",
                "description":"Counts the words of a text","inputSchema":{"type":"object",
                "properties":{"text":{"type":"string"}},"required":["text"]}}]}"#.to_owned()
        }
        "tools/call" if params.get("name").is_some_and(|name| name.as_str() == r#""count""#) => {
            let text = params.get("arguments").and_then(|arguments| arguments.get("text"));
            let words = text.map_or(0, |text| text.as_str().split_whitespace().count());
            format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":"{words} words"}}]}}"#)
        }
        "tools/call" => return Err(ErrorObject::new(ErrorObject::INVALID_PARAMS, "no such tool")),
        _ => return Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, "no such method")),
    };
    RawJson::parse(text)
        .map_err(|error| ErrorObject::new(ErrorObject::INTERNAL_ERROR, error.to_string()))
}
