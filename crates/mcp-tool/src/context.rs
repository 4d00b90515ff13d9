//! The context of one call.

use std::{fmt, sync::Arc, time::Duration};

use mcp_jsonrpc::{Progress, RawJson};
use mcp_types::{Handler, LogLevel, OnProgress};

use crate::{cancel::Cancelled, trace::TraceParent};

/// The options and callbacks of one call. The defaults suit most calls.
///
/// ```
/// use std::time::Duration;
/// use mcp_tool::{CallContext, TraceParent};
///
/// let context = CallContext::default()
///     .with_total_timeout(Duration::from_secs(30))
///     .with_trace_parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse()?)
///     .with_trace_state("vendor=value");
/// # Ok::<(), mcp_tool::TraceParentError>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallContext {
    /// The timeout without progress. Default: the server's, then 120 s.
    pub idle_timeout: Option<Duration>,
    /// The total timeout. Default: the server's, then 10 minutes.
    pub total_timeout: Option<Duration>,
    /// Cancels the call. Default: none. Dropping the call's future cancels it too.
    pub cancel: Option<Cancelled>,
    /// Called with each progress report.
    pub on_progress: Option<OnProgress>,
    /// Called with each log message of the tool.
    pub on_log: Option<OnLog>,
    /// The span that this call belongs to, passed on to the server unchanged.
    pub trace_parent: Option<TraceParent>,
    /// The `tracestate` of the trace parent, passed on unchanged. Default: none.
    pub trace_state: Option<String>,
    /// Members for the request's `_meta`: an object, passed on to the server. Served tools find here the
    /// members of the client's `_meta` that the protocol does not define. Default: none.
    pub meta: Option<RawJson>,
    /// The `clientInfo` of the program that makes the call, for logs: an object with its name and version, as it gave them.
    /// Default: none. Not sent to the server.
    pub client_info: Option<RawJson>,
    /// Skips validation against the tool's schemas, and sends the arguments unchanged. Default: false.
    pub no_validate: bool,
    /// Handles the server's requests during this call. Default: the conversation's handler, then the bridge's.
    ///
    /// Two calls have the same owner if they hold clones of one `Arc`: owners are compared by address.
    pub owner: Option<Arc<dyn Handler>>,
    /// Whether the user has approved this call, so that no approval is requested. Deny rules still apply.
    pub approved: bool,
    /// Whether to return the result to a program exactly as the tool gave it: default length limits do not apply, and
    /// structured content is neither removed nor repeated as text. A limit set for the tool or its server still applies
    /// to text. Default: false.
    pub verbatim: bool,
}

/// Called with a log message of a tool: its level, its logger, and the data.
pub type OnLog = Arc<dyn Fn(LogLevel, Option<&str>, RawJson) + Send + Sync>;

impl CallContext {
    /// Sets the timeout without progress.
    #[must_use]
    pub fn with_idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = Some(limit);
        self
    }

    /// Sets the total timeout.
    #[must_use]
    pub fn with_total_timeout(mut self, limit: Duration) -> Self {
        self.total_timeout = Some(limit);
        self
    }

    /// Sets the token that cancels the call.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancelled) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets the function to call with each progress report.
    #[must_use]
    pub fn with_progress(mut self, on_progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(on_progress));
        self
    }

    /// Sets the function to call with each log message of the tool.
    #[must_use]
    pub fn with_log(
        mut self,
        on_log: impl Fn(LogLevel, Option<&str>, RawJson) + Send + Sync + 'static,
    ) -> Self {
        self.on_log = Some(Arc::new(on_log));
        self
    }

    /// Sets the span that the call belongs to.
    #[must_use]
    pub fn with_trace_parent(mut self, parent: TraceParent) -> Self {
        self.trace_parent = Some(parent);
        self
    }

    /// Sets the `tracestate` of the trace parent.
    #[must_use]
    pub fn with_trace_state(mut self, state: impl Into<String>) -> Self {
        self.trace_state = Some(state.into());
        self
    }

    /// Sets the members to add to the request's `_meta`: an object.
    #[must_use]
    pub fn with_meta(mut self, meta: RawJson) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sets the handler of the server's requests during this call.
    #[must_use]
    pub fn with_owner(mut self, owner: Arc<dyn Handler>) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Sets the `clientInfo` of the program that makes the call.
    #[must_use]
    pub fn with_client_info(mut self, info: RawJson) -> Self {
        self.client_info = Some(info);
        self
    }

    /// Sets whether the user has approved this call.
    #[must_use]
    pub fn with_approved(mut self, is_approved: bool) -> Self {
        self.approved = is_approved;
        self
    }

    /// Sets whether validation against the tool's schemas is skipped.
    #[must_use]
    pub fn with_no_validate(mut self, is_unchecked: bool) -> Self {
        self.no_validate = is_unchecked;
        self
    }

    /// Sends a log message to the caller, if it wants one. If the tool is served, this is the client, which receives
    /// messages of the level that it requested.
    ///
    /// ```
    /// use mcp_tool::{CallContext, LogLevel};
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
            .field("has_meta", &self.meta.is_some())
            .finish_non_exhaustive()
    }
}
