//! A conversation with one server.

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex},
};

use mcp_jsonrpc::RawJson;
use mcp_transport::{CloseReport, Connect, Diagnostics};

use crate::{
    dispatch::Dispatch,
    engine::Engine,
    era::Era,
    error::HandshakeError,
    handshake::{self, Opened},
    options::ClientOptions,
    profile::ServerProfile,
};

/// A conversation with one server, whatever it is reached by and whichever revision it speaks.
///
/// Clones share the conversation. It ends when it is [closed](Self::close), when the server goes away,
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
    /// Tools that run only as tasks (2025-11-25), as of the last listing.
    pub(crate) task_tools: Mutex<HashSet<String>>,
}

impl Client {
    /// Opens a link and finds out how to speak with the server.
    ///
    /// # Cancel safety
    /// A dropped attempt leaves nothing behind.
    pub async fn connect(
        connector: &dyn Connect,
        options: ClientOptions,
    ) -> Result<Self, HandshakeError> {
        let Opened { engine, dispatch, profile, meta } =
            handshake::open(connector, &options).await?;
        let task_tools = Mutex::default();
        Ok(Self(Arc::new(Inner { engine, dispatch, profile, meta, options, task_tools })))
    }

    /// Who the server is and what it can do.
    pub fn server(&self) -> &ServerProfile {
        &self.0.profile
    }

    /// The era of this conversation.
    pub fn era(&self) -> Era {
        self.0.profile.era()
    }

    /// Ends the conversation in good order. Calls in flight fail.
    ///
    /// # Cancel safety
    /// The end goes on in the background if nobody waits for it.
    pub async fn close(&self) -> Arc<CloseReport> {
        self.0.engine.close().await
    }

    /// Waits for the end of the conversation, whoever brings it about.
    pub async fn closed(&self) -> Arc<CloseReport> {
        self.0.engine.closed().await
    }

    /// Whether the conversation is over.
    pub fn is_closed(&self) -> bool {
        self.0.engine.shared().report().is_some()
    }

    /// What is known of the link so far.
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
