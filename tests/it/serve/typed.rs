//! Typed tools, prompts and resources, served in process, over a byte stream, and from an axum application.

use std::collections::BTreeMap;

use mcp_client::{CallOptions, Client, ClientOptions, EraChoice, RawJson};
use mcp_server::{
    ServeError, ServeOptions, ToolServer, http::HttpServeOptions, prompt, resource,
    resource_template,
};
use mcp_tests::soon;
use mcp_tool::{CallContext, ToolOutcome, tool};
use mcp_transport::{Connect, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};

#[derive(Deserialize, JsonSchema)]
struct Factors {
    x: i64,
    y: i64,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
struct Product {
    value: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The person to greet.
    name: String,
    times: Option<u8>,
}

#[derive(Deserialize)]
struct User {
    id: u32,
}

fn raw(json: &str) -> RawJson {
    RawJson::parse(json.to_owned()).unwrap()
}

fn server() -> ToolServer {
    let server = ToolServer::new(ServeOptions::new("typed", "1"));
    server.add_tool(
        tool("calc", "Multiplies two numbers")
            .read_only()
            .meta(raw(r#"{"example/ui":"card"}"#))
            .run(|args: Factors, _| async move { Ok(Product { value: args.x * args.y }) }),
    );
    server.add_tool(tool("meta", "Returns the `_meta` it was called with").respond(
        |(), context: CallContext| async move {
            let mut outcome = ToolOutcome::text(format!(
                "{} {}",
                context.trace_parent.map(|parent| parent.to_string()).unwrap_or_default(),
                context.trace_state.unwrap_or_default(),
            ));
            outcome.meta = context.meta;
            outcome
        },
    ));
    server.add_prompt(prompt("greet", "Greets someone").arguments::<Greeting>().run(
        |args, _call| async move {
            Ok(format!("Greet {} {} times.", args.name, args.times.unwrap_or(1)))
        },
    ));
    server.add_resource(resource("memo://help", "help").mime_type("text/plain").text("Read me."));
    server.add_resource(resource("memo://logo", "logo").read(|| async { Ok(vec![1_u8, 2, 3]) }));
    server.add_resource(resource_template("users://{id}", "user").read(|user: User| async move {
        match user.id {
            7 => Ok("Ada"),
            other => Err(ServeError::UnknownResource(format!("users://{other}"))),
        }
    }));
    server
}

async fn client(connect: &dyn Connect, era: EraChoice) -> Client {
    let options = ClientOptions::default().with_era(era);
    soon("the handshake", Client::connect(connect, options)).await.unwrap()
}

/// Checks all of the above from a client of either era.
async fn check(client: &Client) {
    let tools = soon("the tools", client.list_tools()).await.unwrap();
    let calc = tools.iter().find(|tool| tool.name == "calc").unwrap();
    assert!(calc.output_schema.is_some());
    assert_eq!(calc.annotations.as_ref().unwrap().read_only_hint, Some(true));
    assert_eq!(calc.meta.as_ref().unwrap().as_str(), r#"{"example/ui":"card"}"#);
    let factors = BTreeMap::from([("x", 6), ("y", 7)]);
    let result = soon("the product", client.call_tool("calc", &factors)).await.unwrap();
    assert_eq!(result.structured::<Product>().unwrap(), Product { value: 42 });
    assert_eq!(result.text(), r#"{"value":42}"#);
    let wrong = soon("a refusal", client.call_tool("calc", &BTreeMap::from([("x", "six")]))).await;
    let wrong = wrong.unwrap();
    assert!(wrong.is_error && wrong.text().contains("x: expected"), "{}", wrong.text());

    let mut options = CallOptions::default();
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    options.meta = vec![
        ("example/own".into(), raw("[1]")),
        ("traceparent".into(), RawJson::encode(parent).unwrap()),
        ("tracestate".into(), raw(r#""a=b""#)),
    ];
    let result = soon("the meta", client.call_tool("meta", &()).with(options)).await.unwrap();
    assert_eq!(result.text(), format!("{parent} a=b"));
    let meta = result.meta.unwrap();
    assert_eq!(meta.get("example/own").unwrap().as_str(), "[1]");
    assert!(meta.get("io.modelcontextprotocol/clientInfo").is_none(), "{}", meta.as_str());

    let prompts = soon("the prompts", client.list_prompts()).await.unwrap();
    let arguments: Vec<_> =
        prompts.iter().flat_map(|p| &p.arguments).map(|a| (a.name.as_str(), a.required)).collect();
    assert_eq!(arguments, [("name", true), ("times", false)]);
    let ada = BTreeMap::from([("name".to_owned(), "Ada".to_owned()), ("times".into(), "2".into())]);
    let greeting = soon("the prompt", client.get_prompt("greet", &ada)).await.unwrap();
    assert_eq!(greeting.messages[0].content.as_text(), Some("Greet Ada 2 times."));
    let missing = soon("a refusal", client.get_prompt("greet", &BTreeMap::new())).await;
    assert!(missing.unwrap_err().to_string().contains("name"));

    let resources = soon("the resources", client.list_resources()).await.unwrap();
    let uris: Vec<_> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(uris, ["memo://help", "memo://logo"]);
    let help = soon("the help", client.read_resource("memo://help")).await.unwrap();
    assert_eq!(help.contents[0].text.as_deref(), Some("Read me."));
    assert_eq!(help.contents[0].mime_type.as_deref(), Some("text/plain"));
    let logo = soon("the logo", client.read_resource("memo://logo")).await.unwrap();
    assert_eq!(logo.contents[0].blob.as_deref(), Some("AQID"));
    let user = soon("a user", client.read_resource("users://7")).await.unwrap();
    assert_eq!(user.contents[0].text.as_deref(), Some("Ada"));
    for unknown in ["users://8", "users://ada", "memo://other"] {
        assert!(soon("a refusal", client.read_resource(unknown)).await.is_err(), "{unknown}");
    }
}

#[tokio::test]
async fn typed_parts_are_served_in_process_in_both_eras() {
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        check(&client(&server().in_process(), era).await).await;
    }
}

#[tokio::test]
async fn typed_parts_are_served_over_tcp_streams_in_both_eras() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move { server().serve_stream(stream).await });
        }
    });
    let streams = Streams::new(move || async move { TcpStream::connect(address).await });
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let client = client(&streams, era).await;
        check(&client).await;
        soon("the end", client.close()).await;
    }
}

#[tokio::test]
async fn server_mounted_in_axum_serves_both_eras() {
    let mcp = server().http(HttpServeOptions::default());
    let app = axum::Router::new()
        .route("/health", axum::routing::get(|| async { "fine" }))
        .route_service("/mcp", mcp);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        check(&client(&super::http(&url), era).await).await;
    }
}

#[tokio::test]
async fn removed_prompts_and_resources_are_not_offered() {
    let server = server();
    assert!(server.remove_prompt("greet") && !server.remove_prompt("greet"));
    assert!(server.remove_resource("users://{id}") && !server.remove_resource("users://{id}"));
    server.add_resource(resource("memo://help", "help").text("Another one."));
    let client = client(&server.in_process(), EraChoice::Auto).await;
    let help = soon("the help", client.read_resource("memo://help")).await.unwrap();
    assert_eq!(help.contents[0].text.as_deref(), Some("Another one."));
    assert!(soon("a refusal", client.read_resource("users://7")).await.is_err());
    assert!(soon("a refusal", client.list_prompts()).await.is_err());
}
