//! A server for tools, resources and prompts, for MCP clients of both eras.

use std::sync::Arc;

use mcp_tool::Tool;
use mcp_transport::{InProcess, InProcessOptions, Link};
use mcp_types::BoxFuture;

#[cfg(feature = "http")]
use crate::http::{HttpServeOptions, HttpServer};
use crate::{
    call::inbox::Change,
    options::ServeOptions,
    provide::{
        ServedPrompt, ServedResource, ServedTool,
        tools::{Entry, Tools},
    },
    shared::{Shared, Source},
    transport,
};

/// Serves tools as an MCP server: in process, over standard input and output, or over HTTP.
///
/// Clones refer to the same server. It supports every published revision, with sessions (2024-11-05 to 2025-11-25)
/// and without (2026-07-28); tools do not see the difference.
///
/// ```
/// use std::sync::Arc;
/// use mcp_server::{ServeOptions, ToolServer};
/// use mcp_tool::{BoxFuture, CallContext, RawJson, Tool, ToolOutcome, ToolSpec};
/// use mcp_transport::Connect;
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
/// let link = server.in_process().connect().await?;
/// # drop(link);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ToolServer(Arc<Shared>);

impl ToolServer {
    /// A server without tools.
    pub fn new(options: ServeOptions) -> Self {
        Self(Arc::new(Shared::new(options, None)))
    }

    /// A server of the tools that `tools` returns each time a client lists or calls them, such as a gateway's. Call
    /// [`tools_changed`](Self::tools_changed) when they change.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use mcp_server::{ServeOptions, ToolServer};
    /// use mcp_tool::Tool;
    ///
    /// let tools: Arc<Mutex<Vec<Arc<dyn Tool>>>> = Arc::default();
    /// let options = ServeOptions::new("gateway", "1.0.0");
    /// let server = ToolServer::of(options, move || tools.lock().unwrap().clone());
    /// ```
    pub fn of(
        options: ServeOptions,
        tools: impl Fn() -> Vec<Arc<dyn Tool>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared::new(options, Some(Source(Box::new(tools))))))
    }

    /// Adds a tool, or replaces the tool of the same name. Clients are notified.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) {
        self.0.change_tools(|tools| Some(tools.with(Entry::plain(tool))));
    }

    /// Adds or replaces a [`ServedTool`]. Clients are notified.
    pub fn add_served_tool(&self, tool: Arc<dyn ServedTool>) {
        self.0.change_tools(|tools| Some(tools.with(Entry::new(tool))));
    }

    /// Replaces all tools by these, in this order. Clients are notified.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        self.0.change_tools(|_| Some(Tools::new(tools.into_iter().map(Entry::plain))));
    }

    /// Removes a tool. Running calls continue. Returns whether it existed.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.0.change_tools(|tools| tools.without(name))
    }

    /// Adds a prompt, or replaces the prompt of the same name. It takes precedence over those of
    /// [`ServeOptions::prompts`]. Clients are notified.
    ///
    /// Add the first prompt before clients connect: the capability is declared only if there is one by then.
    pub fn add_prompt(&self, prompt: ServedPrompt) {
        self.0.prompts.add(prompt);
        self.prompts_changed();
    }

    /// Removes a prompt that was [added](Self::add_prompt). Returns whether it existed.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let is_removed = self.0.prompts.remove_named(name);
        if is_removed {
            self.prompts_changed();
        }
        is_removed
    }

    /// Adds a resource or resource template, or replaces the one of the same URI. It takes precedence over those of
    /// [`ServeOptions::resources`]. Clients are notified.
    ///
    /// Add the first resource before clients connect: the capability is declared only if there is one by then.
    pub fn add_resource(&self, resource: ServedResource) {
        self.0.resources.add(resource);
        self.resources_changed();
    }

    /// Removes a resource, or a template by its URI template, that was [added](Self::add_resource). Returns whether
    /// it existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let is_removed = self.0.resources.remove_at(uri);
        if is_removed {
            self.resources_changed();
        }
        is_removed
    }

    /// Notifies clients that the list of tools has changed. Needed only for servers made with [`of`](Self::of); the
    /// other methods notify by themselves.
    pub fn tools_changed(&self) {
        self.0.announce(&Change::Tools);
    }

    /// Notifies clients that the list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.0.announce(&Change::Prompts);
    }

    /// Notifies clients that the list of resources has changed.
    pub fn resources_changed(&self) {
        self.0.announce(&Change::Resources);
    }

    /// Notifies subscribed clients that a resource has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.0.announce(&Change::Resource(uri.into()));
    }

    /// Serves one client over an in-process link, until either side closes it.
    ///
    /// # Cancel safety
    /// Dropping the future closes the link and cancels every running call.
    pub async fn serve_link(&self, link: Link) {
        transport::link::serve(self.0.clone(), link).await;
    }

    /// A connector to this server within the process: type `sdk` in configuration files.
    pub fn in_process(&self) -> InProcess {
        self.in_process_with(InProcessOptions::default())
    }

    /// A connector with these options. See [`in_process`](Self::in_process).
    pub fn in_process_with(&self, options: InProcessOptions) -> InProcess {
        let server = self.clone();
        let serve = move |link| -> BoxFuture<'static, ()> {
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
    /// If reading or writing fails.
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(&self) -> std::io::Result<()> {
        self.serve_pipes(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves one client over a pair of byte streams, with one message per line, until the input ends.
    ///
    /// # Errors
    /// If reading or writing fails.
    ///
    /// # Cancel safety
    /// Dropping the future cancels every running call.
    #[cfg(feature = "stdio")]
    pub async fn serve_pipes(
        &self,
        input: impl tokio::io::AsyncRead + Send + Unpin,
        output: impl tokio::io::AsyncWrite + Send + Unpin,
    ) -> std::io::Result<()> {
        transport::stdio::serve(self.0.clone(), input, output).await
    }

    /// Serves one client over a byte stream, with one message per line, until the client closes it: a socket, a pipe,
    /// an SSH channel.
    ///
    /// ```no_run
    /// # async fn example(server: mcp_server::ToolServer) -> std::io::Result<()> {
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    /// loop {
    ///     let (stream, _) = listener.accept().await?;
    ///     let server = server.clone();
    ///     tokio::spawn(async move { server.serve_stream(stream).await });
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// If reading or writing fails.
    ///
    /// # Cancel safety
    /// Dropping the future cancels every running call.
    #[cfg(feature = "stdio")]
    pub async fn serve_stream(
        &self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send,
    ) -> std::io::Result<()> {
        let (input, output) = tokio::io::split(stream);
        self.serve_pipes(input, output).await
    }

    /// This server over Streamable HTTP. Call [`HttpServer::serve`] with a listener.
    #[cfg(feature = "http")]
    pub fn http(&self, options: HttpServeOptions) -> HttpServer {
        HttpServer::new(self.0.clone(), options)
    }
}
