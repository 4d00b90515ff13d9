//! One set of scenarios that every transport must pass.
//!
//! A transport is accepted when all [`scenarios`] hold for it. Each opens links to a [`Server`] with a small protocol
//! for misbehaviour on demand:
//!
//! | method | the server… |
//! |---|---|
//! | `parity/echo` | responds with the params |
//! | `parity/size {bytes}` | responds with a string of that many bytes |
//! | `parity/flood {count, bytes, die}` | sends `count` `parity/tick {n, filler}` without reading; responds or dies |
//! | `parity/stop-reading` | responds, and never reads again |
//! | `parity/stray` | writes text that is not a message, before and after its response |
//! | `parity/die` | ends immediately, without a response |
//! | `parity/close-output` | closes its output and continues to read |
//! | `parity/twice` | responds twice |
//! | `parity/wrong-id` | responds to an unknown request, then to this one |
//! | `parity/batch` | sends two ticks and the response in one frame |
//! | `parity/hold`, `parity/release` | on release, responds to the held requests, last first |
//! | `parity/ask` | sends a request `parity/question`, and responds with its result |
//! | `parity/note {n}` | records the notification |
//! | `parity/report` | responds with the recorded notifications and cancellations |
//!
//! The server is plain state: [`serve`] runs it over a link, for transports within one process, and a separate
//! program runs it for other transports. Connect with the limits given here:
//!
//! ```
//! use mcp_transport::{InProcess, InProcessOptions, testing::parity};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let mut options = InProcessOptions::default();
//! options.max_message = parity::MAX_MESSAGE;
//! let transport = InProcess::with_options(parity::serve, options);
//!
//! for scenario in parity::scenarios().iter().filter(|scenario| !scenario.needs_text) {
//!     scenario.run(&transport).await?;
//! }
//! # Ok::<(), parity::Violation>(()) }).unwrap();
//! ```

mod probe;
mod scenarios;
mod serve;
mod server;

use std::{fmt, time::Duration};

use futures_core::future::BoxFuture;

pub use self::{
    scenarios::scenarios,
    serve::serve,
    server::{Action, Server},
};
use crate::link::Connect;

/// The maximum message size that the transport under test must accept.
pub const MAX_MESSAGE: usize = 1 << 20;
/// How much may be queued for a server that does not read, where the transport counts bytes.
pub const MAX_QUEUED: usize = 1 << 20;

/// The time limit of one scenario. Exceeding it indicates a deadlock, not a slow machine.
///
/// Longer than TCP needs to retry a connection that a full backlog dropped several times (1 + 2 + … + 32 s): the
/// scenarios that fill queues open hundreds of connections at once.
const TOO_LONG: Duration = Duration::from_secs(120);

/// One behaviour that every transport must have.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Scenario {
    /// The behaviour as a sentence, `with_underscores`.
    pub name: &'static str,
    /// Whether it uses bytes that are not messages, which not every transport can carry.
    pub needs_text: bool,
    /// Whether it needs requests to arrive in the order they were sent, and responses likewise. Over HTTP each is
    /// sent separately, and the order is not guaranteed.
    pub needs_order: bool,
    /// Whether it needs the link to end with the server. Over Streamable HTTP there are only exchanges, and a broken
    /// one fails only its request.
    pub needs_channel: bool,
    play: Play,
}

type Play = fn(&dyn Connect) -> BoxFuture<'_, Result<(), Violation>>;

impl Scenario {
    const fn new(name: &'static str, play: Play) -> Self {
        Self { name, needs_text: false, needs_order: false, needs_channel: false, play }
    }

    const fn needs_text(mut self) -> Self {
        self.needs_text = true;
        self
    }

    const fn needs_order(mut self) -> Self {
        self.needs_order = true;
        self
    }

    const fn needs_channel(mut self) -> Self {
        self.needs_channel = true;
        self
    }

    /// Runs the scenario over new links from `connect`.
    pub async fn run(&self, connect: &dyn Connect) -> Result<(), Violation> {
        match tokio::time::timeout(TOO_LONG, (self.play)(connect)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Violation(what))) => Err(Violation(format!("{}: {what}", self.name))),
            Err(_) => Err(Violation(format!("{}: not over after {TOO_LONG:?}", self.name))),
        }
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scenario({})", self.name)
    }
}

/// A violation of the required behaviour.
#[derive(Clone, Debug)]
pub struct Violation(String);

impl Violation {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}
