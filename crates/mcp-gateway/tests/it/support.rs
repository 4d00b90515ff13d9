//! Test helpers: a shop as the server, a gateway in front of it, and a client.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use mcp_bridge::{BridgeOptions, ServerConfig, connect::DefaultConnector};
use mcp_client::{Client, ClientOptions};
use mcp_config::{Sdk, Transport};
use mcp_gateway::{Gateway, GatewayOptions};
use mcp_server::{Call, Resources, ServeError, ServeOptions, ToolServer};
use mcp_tool::{BoxFuture, CallContext, RawJson, Tool, ToolOutcome, ToolSpec};
use mcp_types::{
    ClientCapabilities, ElicitRequest, ElicitResult, Handler, Resource, ResourceContents,
    ResourceTemplate,
};
use tokio::sync::Notify;

/// A tool that counts its calls and ends when released.
pub(crate) struct Order {
    spec: ToolSpec,
    pub(crate) calls: AtomicUsize,
    pub(crate) begun: Notify,
    pub(crate) may_end: Option<Notify>,
}

impl Order {
    pub(crate) fn quick(name: &str) -> Arc<Self> {
        Arc::new(Self {
            spec: ToolSpec::new(name, "Orders an article of the shop."),
            calls: AtomicUsize::new(0),
            begun: Notify::new(),
            may_end: None,
        })
    }

    /// A tool with the read-only annotation.
    pub(crate) fn reading(name: &str) -> Arc<Self> {
        let mut order = Arc::into_inner(Self::quick(name)).unwrap();
        order.spec.hints.read_only = Some(true);
        Arc::new(order)
    }

    pub(crate) fn slow(name: &str) -> Arc<Self> {
        let mut order = Arc::into_inner(Self::quick(name)).unwrap();
        order.may_end = Some(Notify::new());
        Arc::new(order)
    }

    pub(crate) fn end(&self) {
        self.may_end.as_ref().unwrap().notify_one();
    }
}

impl Tool for Order {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.begun.notify_one();
            if let Some(may_end) = &self.may_end {
                may_end.notified().await;
            }
            ToolOutcome::text(format!("ordered {}", arguments.as_str()))
        })
    }
}

/// One listed resource and a template.
struct Articles;

impl Resources for Articles {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Resource>, ServeError>> {
        Box::pin(async { Ok(vec![Resource::new("shop://list", "All articles")]) })
    }

    fn templates(&self) -> BoxFuture<'_, Result<Vec<ResourceTemplate>, ServeError>> {
        Box::pin(async { Ok(vec![ResourceTemplate::new("shop://article/{id}", "Article")]) })
    }

    fn read(
        &self,
        uri: String,
        _: Call,
    ) -> BoxFuture<'_, Result<Vec<ResourceContents>, ServeError>> {
        Box::pin(
            async move { Ok(vec![ResourceContents::text(uri.clone(), format!("all of {uri}"))]) },
        )
    }
}

/// A server behind the gateway.
pub(crate) fn shop(tools: impl IntoIterator<Item = Arc<Order>>) -> ToolServer {
    let mut options = ServeOptions::new("shop", "1");
    options.resources = Some(Arc::new(Articles));
    let server = ToolServer::new(options);
    server.set_tools(tools.into_iter().map(|tool| tool as Arc<dyn Tool>));
    server
}

/// Bridge options for in-process servers.
pub(crate) fn bridge(servers: &[(&str, &ToolServer)]) -> BridgeOptions {
    let connector = servers.iter().fold(DefaultConnector::new(), |connector, (name, server)| {
        connector.register(*name, Arc::new(server.in_process()))
    });
    let mut options = BridgeOptions::default();
    options.connector = Arc::new(connector);
    options
}

/// The entry of an in-process server.
pub(crate) fn entry(name: &str) -> ServerConfig {
    ServerConfig::new(name.parse().unwrap(), Transport::Sdk(Sdk::default()))
}

pub(crate) fn options() -> GatewayOptions {
    GatewayOptions::new("gateway", "1")
}

/// A gateway that leaves consent to its clients, in front of one shop.
pub(crate) async fn gateway(shop: &ToolServer, mut options: GatewayOptions) -> Gateway {
    options.consent.trust_client = true;
    let gateway = Gateway::new(bridge(&[("shop", shop)]), options, vec![entry("shop")]);
    gateway.open().await;
    gateway
}

pub(crate) async fn client(gateway: &Gateway) -> Client {
    Client::connect(&gateway.server().in_process(), ClientOptions::default()).await.unwrap()
}

pub(crate) async fn names(client: &Client) -> Vec<String> {
    client.list_tools().await.unwrap().iter().map(|tool| tool.name.clone()).collect()
}

/// A user who answers every form the same way and records the requests.
#[derive(Default)]
pub(crate) struct User {
    pub(crate) accepts: AtomicBool,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Handler for User {
    fn capabilities(&self) -> ClientCapabilities {
        let mut offered = ClientCapabilities::default();
        offered.elicitation_form = true;
        offered
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        self.asked.lock().unwrap().push(request.message);
        let answer = if self.accepts.load(Ordering::Relaxed) {
            ElicitResult::accept(RawJson::parse(r#"{"run":true}"#).unwrap())
        } else {
            ElicitResult::decline()
        };
        Box::pin(std::future::ready(answer))
    }
}
