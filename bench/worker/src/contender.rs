//! What a client library has to show to take part.

use std::{path::PathBuf, sync::Arc};

use bytes::BytesMut;

use crate::Era;

/// The server for one connection.
#[derive(Clone, Debug)]
pub struct Server {
    pub reach: Reach,
    pub era: Era,
    /// Not as a README has it but as fast as the library can be made to go.
    pub tuned: bool,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    /// Started by the client, one for each connection.
    Start { program: PathBuf, args: Vec<String> },
    /// It runs already; Streamable HTTP.
    Http { url: String },
    /// It runs already; WebSocket.
    Ws { url: String },
}

/// One client library, used as its documentation says.
///
/// All methods panic on failure: a failed benchmark has no figures.
pub trait Contender: Sized + Send + Sync + 'static {
    /// Connects to the server and returns when it is ready for calls.
    fn connect(server: Server) -> impl Future<Output = Self> + Send;

    /// Calls a tool without arguments and returns the length of the text of its result.
    fn call(&self, tool: &'static str) -> impl Future<Output = usize> + Send;

    /// Lists all tools and returns their number.
    fn list(&self) -> impl Future<Output = usize> + Send;

    /// Ends the connection and the server in an orderly way.
    fn close(self) -> impl Future<Output = ()> + Send;

    /// Makes `calls` calls, `depth` of them at a time: each of `depth` tasks makes the next call when it
    /// has its response, like the agents of one host.
    fn call_many(
        self: Arc<Self>,
        tool: &'static str,
        depth: usize,
        calls: usize,
    ) -> impl Future<Output = ()> + Send {
        call_many(self, tool, depth, calls)
    }

    /// Decodes the line with a tool call's response to its type and returns the length of the text.
    ///
    /// Owns the line, for contenders that decode in place. The line includes its newline.
    fn decode_call(line: BytesMut) -> usize;

    /// Decodes the line with a list to its type and returns the number of tools.
    fn decode_list(line: BytesMut) -> usize;
}

/// The default of [`Contender::call_many`].
pub async fn call_many<C: Contender>(
    client: Arc<C>,
    tool: &'static str,
    depth: usize,
    calls: usize,
) {
    let tasks: Vec<_> = (0..depth)
        .map(|task| {
            let client = Arc::clone(&client);
            let share = calls / depth + usize::from(task < calls % depth);
            tokio::spawn(async move {
                for _ in 0..share {
                    assert_ne!(client.call(tool).await, 0);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a caller panicked");
    }
}
