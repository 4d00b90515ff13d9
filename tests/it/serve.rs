//! `ToolServer` with our client: in process, over the pipes of a child, and over HTTP, in both eras.

mod both_eras;
mod front_door;
mod http;
mod scripted;
mod tools;
mod typed;

use mcp_client::{Client, EraChoice};
use mcp_server::{ToolServer, http::HttpServeOptions};
use mcp_tests::{Diary, Host, served, soon};
use mcp_transport::{
    Connect, Http, HttpClient, HttpOptions, Stdio, StdioOptions, net::HttpClientOptions,
};
use tokio::net::TcpListener;

/// A client, its transport, and the requests and events its host received.
pub(crate) struct Guest {
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) diary: Diary,
}

/// A client for each era and transport, connected to servers with every feature.
pub(crate) async fn guests() -> Vec<Guest> {
    let server = served::everything();
    let url = listen(&server, HttpServeOptions::default()).await;
    let mut stdio = StdioOptions::new(env!("CARGO_BIN_EXE_mcp-conformance-server"));
    stdio.args = vec!["--stdio".into()];
    let ways: [(&str, Box<dyn Connect>); 3] = [
        ("in process", Box::new(server.in_process())),
        ("stdio", Box::new(Stdio::new(stdio))),
        ("http", Box::new(http(&url))),
    ];
    let mut guests = Vec::new();
    for (way, connect) in &ways {
        for era in [EraChoice::Legacy, EraChoice::Modern] {
            let (host, diary) = Host::new();
            let mut options = host.options();
            options.era = era;
            let client = soon("the handshake", Client::connect(&**connect, options)).await;
            let name = format!("{way}, {era:?}");
            let client = client.unwrap_or_else(|error| panic!("{name}: {error}"));
            guests.push(Guest { name, client, diary });
        }
    }
    guests
}

/// Serves on a free port for as long as the test's runtime lives.
pub(crate) async fn listen(server: &ToolServer, options: HttpServeOptions) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let http = server.http(options);
    tokio::spawn(async move { http.serve(listener).await });
    url
}

pub(crate) fn http(url: &str) -> Http {
    let mut options = HttpClientOptions::default();
    options.proxy_from_environment = false;
    Http::new(HttpClient::with_options(&options).unwrap(), HttpOptions::new(url))
}
