//! The other direction: tools, resources and prompts of this program, served to MCP clients of both eras.

mod ask;
mod call;
mod conversation;
#[cfg(test)]
mod conversation_tests;
mod dispatch;
mod error;
#[cfg(feature = "serve-http")]
mod http;
#[cfg(feature = "serve-http")]
#[cfg(test)]
mod http_tests;
mod inbox;
mod legacy;
mod link;
mod listen;
mod modern;
mod options;
mod paging;
mod params;
#[cfg(feature = "stdio")]
mod pipes;
mod providers;
mod request;
mod result;
mod secret;
mod shared;
mod tools;
mod waiting;
mod watched;

use std::sync::Arc;

use mcp_transport::{InProcess, InProcessOptions, Link};

pub(crate) use self::error::MISSING_CAPABILITY;
#[cfg(feature = "serve-http")]
pub use self::http::{HttpBody, HttpServeOptions, HttpServer};
pub use self::{
    ask::Question,
    call::Call,
    error::{ClientNeed, ServeError},
    options::ServeOptions,
    providers::{
        CompletionOf, CompletionQuestion, Completions, Nothing, Prompts, Resources, ServedTool,
    },
};
use self::{
    inbox::Change,
    shared::{Shared, Source},
    tools::{Entry, Tools},
};
use crate::tool::Tool;

/// Serves tools as an MCP server: in process, over standard input and output, or over HTTP.
///
/// Clones are the same server. It speaks every published revision, with sessions (2024-11-05 to
/// 2025-11-25) and without (2026-07-28); tools do not see the difference.
///
/// ```
/// use std::sync::Arc;
/// use mcp_bridge::{BoxFuture, CallContext, RawJson, ServeOptions, Tool, ToolOutcome, ToolServer, ToolSpec};
/// use mcp_client::Client;
///
/// struct Clock(ToolSpec);
/// impl Tool for Clock {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///     fn call(&self, _: RawJson, _: CallContext) -> BoxFuture<'_, ToolOutcome> {
///         Box::pin(async { ToolOutcome::text("noon") })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let server = ToolServer::new(ServeOptions::new("clock", "1.0.0"));
/// server.add_tool(Arc::new(Clock(ToolSpec::new("clock", "Tells the time."))));
/// let client = Client::connect(&server.in_process(), Default::default()).await?;
/// assert_eq!(client.call_tool("clock", &()).await?.text(), "noon");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ToolServer(Arc<Shared>);

impl ToolServer {
    /// A server without tools, so far.
    pub fn new(options: ServeOptions) -> Self {
        Self(Arc::new(Shared::new(options, None)))
    }

    /// A server of whatever tools there are when somebody asks, such as those of a bridge: a gateway. Say so
    /// when they are others: [`tools_changed`](Self::tools_changed).
    ///
    /// ```
    /// use mcp_bridge::{Bridge, BridgeOptions, ServeOptions, ToolServer};
    ///
    /// let bridge = Bridge::new(BridgeOptions::default());
    /// let options = ServeOptions::new("gateway", "1.0.0");
    /// let server = ToolServer::of(options, move || bridge.snapshot().tools().to_vec());
    /// ```
    pub fn of(
        options: ServeOptions,
        tools: impl Fn() -> Vec<Arc<dyn Tool>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared::new(options, Some(Source(Box::new(tools))))))
    }

    /// Offers one more tool, or another one of the same name in its place. Clients are told.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) {
        self.0.change_tools(|tools| Some(tools.with(Entry::plain(tool))));
    }

    /// The same for a tool that was made for being served.
    pub fn add_served_tool(&self, tool: Arc<dyn ServedTool>) {
        self.0.change_tools(|tools| Some(tools.with(Entry::new(tool))));
    }

    /// Offers these tools and no others, in this order. Clients are told.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        self.0.change_tools(|_| Some(Tools::new(tools.into_iter().map(Entry::plain))));
    }

    /// Stops offering a tool. Calls that run go on. Says whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.0.change_tools(|tools| tools.without(name))
    }

    /// Tells clients that there are other tools now. Only servers that are [`of`](Self::of) a source need to be
    /// told.
    pub fn tools_changed(&self) {
        self.0.announce(&Change::Tools);
    }

    /// Tells clients that there are other prompts now.
    pub fn prompts_changed(&self) {
        self.0.announce(&Change::Prompts);
    }

    /// Tells clients that there are other resources now.
    pub fn resources_changed(&self) {
        self.0.announce(&Change::Resources);
    }

    /// Tells clients that have subscribed to it that a resource changed.
    pub fn resource_updated(&self, uri: &str) {
        self.0.announce(&Change::Resource(uri.into()));
    }

    /// Serves one client over a link of this process, until either side closes it.
    ///
    /// # Cancel safety
    /// Dropping it ends the link and every call that runs.
    pub async fn serve_link(&self, link: Link) {
        link::serve(self.0.clone(), link).await;
    }

    /// This server as something to connect to without leaving the process: `sdk` in configuration files.
    pub fn in_process(&self) -> InProcess {
        self.in_process_with(InProcessOptions::default())
    }

    /// The same with options of one's own.
    pub fn in_process_with(&self, options: InProcessOptions) -> InProcess {
        let server = self.clone();
        let serve = move |link| -> mcp_client::BoxFuture<'static, ()> {
            let server = server.clone();
            Box::pin(async move { server.serve_link(link).await })
        };
        InProcess::with_options(serve, options)
    }

    /// Serves one client over standard input and output, until the input ends.
    ///
    /// Nothing else may write to standard output.
    ///
    /// # Errors
    /// When reading or writing fails.
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self) -> std::io::Result<()> {
        self.serve_pipes(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves one client over any pair of byte streams, one message a line, until the input ends.
    ///
    /// # Errors
    /// When reading or writing fails.
    ///
    /// # Cancel safety
    /// Dropping it ends every call that runs.
    #[cfg(feature = "stdio")]
    pub async fn serve_pipes(
        &self,
        input: impl tokio::io::AsyncRead + Send + Unpin,
        output: impl tokio::io::AsyncWrite + Send + Unpin,
    ) -> std::io::Result<()> {
        pipes::serve(self.0.clone(), input, output).await
    }

    /// This server over Streamable HTTP, ready to be given a listener.
    #[cfg(feature = "serve-http")]
    pub fn http(&self, options: HttpServeOptions) -> HttpServer {
        HttpServer::new(self.0.clone(), options)
    }
}
