//! A session with one server.

mod listen;
mod lists;
mod methods;
mod pagination;
mod pending;
mod request;
mod rounds;
#[cfg(feature = "skills")]
pub(crate) mod skills;
mod tasks;
mod tool_call;

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex},
};

use mcp_jsonrpc::RawJson;
use mcp_transport::{
    Connect,
    diagnostics::{CloseReport, Diagnostics},
};
use mcp_types::Era;

use crate::{
    connect::{self, Opened, ServerProfile},
    engine::Engine,
    error::HandshakeError,
    host::dispatch::Dispatch,
    options::ClientOptions,
};

pub use self::{listen::Subscription, methods::CompletionTarget, pending::PendingCall};

/// A session with one server, over any transport and in any supported revision.
///
/// Clones share the session. It ends when it is [closed](Self::close), when the server disconnects,
/// or when the last clone is dropped.
///
/// ```no_run
/// use mcp_client::{Client, ClientOptions};
/// use mcp_transport::{Stdio, StdioOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Stdio::new(StdioOptions::new("mcp-server-time"));
/// let client = Client::connect(&server, ClientOptions::default()).await?;
/// for tool in client.list_tools().await? {
///     println!("{}", tool.name);
/// }
/// client.close().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) profile: ServerProfile,
    pub(crate) meta: Option<RawJson>,
    pub(crate) options: ClientOptions,
    /// Tools that run only as tasks (2025-11-25), according to the last `tools/list`.
    pub(crate) task_tools: Mutex<HashSet<String>>,
}

impl Client {
    /// Opens a link and negotiates the protocol revision with the server.
    ///
    /// # Cancel safety
    /// Dropping the future closes the link and leaves no process or socket behind.
    pub async fn connect(
        connector: &dyn Connect,
        options: ClientOptions,
    ) -> Result<Self, HandshakeError> {
        let Opened { engine, dispatch, profile, meta } = connect::open(connector, &options).await?;
        let task_tools = Mutex::default();
        Ok(Self(Arc::new(Inner { engine, dispatch, profile, meta, options, task_tools })))
    }

    /// The server's identity, revision and capabilities.
    pub fn server(&self) -> &ServerProfile {
        &self.0.profile
    }

    /// The era of this session.
    pub fn era(&self) -> Era {
        self.0.profile.era()
    }

    /// Closes the session gracefully. Calls in flight fail.
    ///
    /// # Cancel safety
    /// The close continues in the background if the future is dropped.
    pub async fn close(&self) -> Arc<CloseReport> {
        self.0.engine.close().await
    }

    /// Waits until the session has ended, for any reason.
    pub async fn closed(&self) -> Arc<CloseReport> {
        self.0.engine.closed().await
    }

    /// Whether the session has ended.
    pub fn is_closed(&self) -> bool {
        self.0.engine.shared().report().is_some()
    }

    /// Returns the diagnostics of the link so far.
    pub fn diagnostics(&self) -> Diagnostics {
        let mut diagnostics = self.0.engine.outlet().diagnostics();
        diagnostics.noise = self.0.engine.shared().noise();
        diagnostics
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.0.profile.info).finish_non_exhaustive()
    }
}
