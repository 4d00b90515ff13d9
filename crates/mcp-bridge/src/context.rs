//! What travels with one call.

use std::{fmt, sync::Arc, time::Duration};

use mcp_client::{Handler, LogLevel, OnProgress, RawJson};
use tokio::sync::watch;

use crate::{lease::LeaseCore, trace::TraceParent};

/// What one call has of its own. The default suits most.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallContext {
    /// How long it may be silent. Default: the server's, then 120 s.
    pub idle_timeout: Option<Duration>,
    /// How long it may take in all. Default: the server's, then 10 minutes.
    pub total_timeout: Option<Duration>,
    /// Ends the call from elsewhere. Default: nobody does. Dropping the call's future ends it too.
    pub cancel: Option<Cancelled>,
    /// Hears of progress.
    pub on_progress: Option<OnProgress>,
    /// Hears what the tool has to say for a log.
    pub on_log: Option<OnLog>,
    /// The span this call belongs to, passed on to the server.
    pub trace_parent: Option<TraceParent>,
    /// Who answers what the server asks during this call. Default: the lease's, then the bridge's.
    pub owner: Option<Arc<dyn Handler>>,
    /// The user has agreed to this very call already, so nobody asks again. A rule that denies still does.
    pub approved: bool,
    /// The call was in a plan that was reviewed, so nothing of it waits for that again.
    pub(crate) reviewed: bool,
    /// The conversation it is made in; for what is done on the way of a call, the one of that call.
    pub(crate) lease: Option<Arc<LeaseCore>>,
}

/// Hears a line of a tool's log: how bad it is, which part of the tool says so, and what.
pub type OnLog = Arc<dyn Fn(LogLevel, Option<&str>, RawJson) + Send + Sync>;

impl CallContext {
    /// Says something for the log of whoever made this call, if they want it: where the tool is served,
    /// that is the client, which gets lines of the level it asked for.
    ///
    /// ```
    /// use mcp_bridge::{CallContext, LogLevel};
    ///
    /// # let context = CallContext::default();
    /// context.log(LogLevel::Warning, "the cache is cold");
    /// ```
    pub fn log(&self, level: LogLevel, text: &str) {
        if let Some(on_log) = &self.on_log
            && let Ok(data) = RawJson::encode(text)
        {
            on_log(level, None, data);
        }
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("idle_timeout", &self.idle_timeout)
            .field("total_timeout", &self.total_timeout)
            .field("trace_parent", &self.trace_parent)
            .finish_non_exhaustive()
    }
}

/// Ends calls: give its [`token`](Self::token) to as many as you like.
///
/// ```
/// use mcp_bridge::{CallContext, Cancel};
///
/// let cancel = Cancel::new();
/// let mut context = CallContext::default();
/// context.cancel = Some(cancel.token());
/// cancel.cancel();
/// assert!(context.cancel.unwrap().is_cancelled());
/// ```
#[derive(Debug)]
pub struct Cancel(watch::Sender<bool>);

/// Tells a call that it has been ended.
#[derive(Clone, Debug)]
pub struct Cancelled(watch::Receiver<bool>);

impl Cancel {
    /// One that has ended nothing yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// What a call listens to.
    pub fn token(&self) -> Cancelled {
        Cancelled(self.0.subscribe())
    }

    /// Ends every call that has a token, now and later.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancelled {
    /// Whether it has happened.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it; for ever, if whoever could do it is gone.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn cancelled(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|ended| *ended).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
