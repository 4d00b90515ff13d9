//! One set of scenarios that every transport must pass.
//!
//! A transport is accepted when [`scenarios`] hold over it. Each opens links to a [`Server`], which
//! follows a small protocol made to misbehave on demand:
//!
//! | method | the server… |
//! |---|---|
//! | `parity/echo` | answers with the params |
//! | `parity/size {bytes}` | answers with a string of that many bytes |
//! | `parity/flood {count, bytes, die}` | sends so many `parity/tick {n, filler}` without reading meanwhile, then answers, or dies |
//! | `parity/stop-reading` | answers, and never reads again |
//! | `parity/stray` | writes what is no message, in between answering |
//! | `parity/die` | ends at once, without an answer |
//! | `parity/close-output` | closes its output and reads on |
//! | `parity/twice` | answers twice |
//! | `parity/wrong-id` | answers a call nobody made, then this one |
//! | `parity/batch` | sends two ticks and the answer in one frame |
//! | `parity/hold`, `parity/release` | answers what it held, last first, when told to release |
//! | `parity/ask` | asks `parity/question` in turn, and answers with what it is told |
//! | `parity/note {n}` | is a notification to remember |
//! | `parity/report` | answers with what it was noted, and what was cancelled |
//!
//! The server is plain state: [`serve`] runs it over a link, for transports within one process, and
//! a program of its own runs it wherever the transport wants one. Connect with the limits given here:
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

/// The longest message the transport under test must accept, and no longer.
pub const MAX_MESSAGE: usize = 1 << 20;
/// How much may wait for a server that does not read, where the transport counts bytes.
pub const MAX_QUEUED: usize = 1 << 20;

/// How long one scenario may take. Reaching this is a deadlock, not a slow machine.
const TOO_LONG: Duration = Duration::from_secs(60);

/// One thing every transport must do.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Scenario {
    /// A sentence about what holds, `with_underscores`.
    pub name: &'static str,
    /// Whether it is about bytes that are no messages, which not every transport can carry.
    pub needs_text: bool,
    /// Whether it needs requests to arrive in the order they were sent, and answers in the order they
    /// were given. Over HTTP each travels by itself, and none need.
    pub needs_order: bool,
    /// Whether it needs a server whose end is the end of the link. Over Streamable HTTP there are only
    /// exchanges, and one that breaks off costs one request.
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

    /// Plays the scenario over fresh links from `connect`.
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

/// What a transport did that it must not do.
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
