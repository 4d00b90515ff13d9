//! A gateway inside an axum application: the application has its own routes, and `/mcp` is one MCP server in front of
//! all those behind it.

use std::{collections::BTreeMap, error::Error, sync::Arc};

use axum::{Router, routing::get};
use mcp_host::{
    BridgeOptions, ServerConfig,
    client::{Client, ClientOptions},
    config::{Sdk, Transport},
    serve::{Gateway, GatewayOptions, ServeOptions, ToolServer, http::HttpServeOptions},
    servers::DefaultConnector,
    tool,
    transport::{Http, HttpClient, HttpOptions},
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut connector = DefaultConnector::new();
    let mut servers = Vec::new();
    for (name, server) in [("weather", weather()), ("clock", clock())] {
        connector = connector.register(name, Arc::new(server.in_process()));
        let config = ServerConfig::new(name.parse()?, Transport::Sdk(Sdk::default()));
        servers.push(config.with_trust(true));
    }
    let options = BridgeOptions::default().with_connector(connector);
    let gateway = Gateway::new(options, GatewayOptions::new("gateway", "1.0.0"), servers);
    gateway.open().await;

    let app = Router::new()
        .route("/health", get(|| async { "fine" }))
        .route_service("/mcp", gateway.server().http(HttpServeOptions::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let application = tokio::spawn(async move { axum::serve(listener, app).await });

    // A client of the application, as it is found in any agent.
    let http = Http::new(HttpClient::new()?, HttpOptions::new(format!("http://{address}/mcp")));
    let client = Client::connect(&http, ClientOptions::default()).await?;
    for tool in client.list_tools().await? {
        println!("{}", tool.name);
    }
    let result =
        client.call_tool("mcp__weather__forecast", &BTreeMap::from([("city", "Bern")])).await?;
    println!("{}", result.text());
    assert_eq!(result.text(), "sunny in Bern");
    client.close().await;

    application.abort();
    gateway.drain().await;
    gateway.bridge().shutdown().await;
    Ok(())
}

fn weather() -> ToolServer {
    let server = ToolServer::new(ServeOptions::new("weather", "1.0.0"));
    server.add_tool(
        tool("forecast", "Tells the weather")
            .read_only()
            .run(|place: City, _ctx| async move { Ok(format!("sunny in {}", place.city)) }),
    );
    server
}

fn clock() -> ToolServer {
    let server = ToolServer::new(ServeOptions::new("clock", "1.0.0"));
    server.add_tool(tool("now", "Tells the time").read_only().run(|(), _ctx| async { Ok("noon") }));
    server
}
