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
/// Everything panics on failure: a benchmark that went wrong has no figures to report.
pub trait Contender: Sized + Send + Sync + 'static {
    /// Reaches the server and returns once calls may be made.
    fn connect(server: Server) -> impl Future<Output = Self> + Send;

    /// Calls a tool without arguments; the length of the text it answered.
    fn call(&self, tool: &'static str) -> impl Future<Output = usize> + Send;

    /// Fetches the whole catalogue; the number of tools in it.
    fn list(&self) -> impl Future<Output = usize> + Send;

    /// Ends the connection and the server in an orderly way.
    fn close(self) -> impl Future<Output = ()> + Send;

    /// Makes `calls` calls, `depth` of them in flight at any time: as many tasks, each of which
    /// calls again as soon as it has its answer, as the agents of one host would.
    fn call_many(
        self: Arc<Self>,
        tool: &'static str,
        depth: usize,
        calls: usize,
    ) -> impl Future<Output = ()> + Send {
        call_many(self, tool, depth, calls)
    }

    /// Decodes the line of a call's answer all the way to its type; the length of its text.
    ///
    /// Owns the line, for those who decode in place. The newline is still there.
    fn decode_call(line: BytesMut) -> usize;

    /// Decodes the line of a catalogue all the way to its type; the number of tools.
    fn decode_list(line: BytesMut) -> usize;
}

/// What [`Contender::call_many`] does unless a contender knows better.
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
