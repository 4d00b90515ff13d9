//! A running request: the properties of its client, its requests to the client, and its notifications.

pub(crate) mod ask;
pub(crate) mod inbox;
pub(crate) mod waiting;

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use mcp_jsonrpc::{ObjectWriter, RawJson};
use mcp_tool::TraceParent;
use mcp_types::{
    BoxFuture, ClientCapabilities, CreateMessageRequest, CreateMessageResult, ElicitRequest,
    ElicitResult, Handler, LogLevel, ProtocolVersion, Root,
    events::{Refusal, ServerEvent},
    meta,
};
use tokio::sync::oneshot;

pub use self::ask::Question;
use self::{
    ask::{Ask, offers, read_elicited},
    inbox::{Report, ReportSender, Step},
};
use crate::error::{ClientNeed, ServeError};

/// One request of a client while it runs.
///
/// [`ask`](Self::ask) works the same in both eras. A legacy client is sent a request. A modern client gets an
/// `input_required` result and repeats its request with the responses; the tool keeps running in between. If a
/// modern client repeats its request without the `requestState` it was given, the tool runs again from the start
/// and finds the responses by their keys.
#[derive(Clone)]
pub struct Call(Arc<Inner>);

struct Inner {
    line: Arc<ReportSender>,
    about: About,
    pending: Mutex<Pending>,
    asked: AtomicU32,
}

/// The properties of a request, known before it runs.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) wants_progress: bool,
    pub(crate) trace_parent: Option<TraceParent>,
    pub(crate) trace_state: Option<String>,
    pub(crate) client_info: Option<RawJson>,
    /// Keys of `_meta` that the protocol does not define.
    pub(crate) meta: Vec<(String, RawJson)>,
    /// Responses that came with the request, by key.
    pub(crate) given: Vec<(String, RawJson)>,
    pub(crate) answer_timeout: Duration,
}

#[derive(Default)]
struct Pending {
    asks: Vec<Ask>,
    waker: Option<Waker>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Call {
    pub(crate) fn new(line: Arc<ReportSender>, about: About) -> Self {
        let (pending, asked) = (Mutex::default(), AtomicU32::new(0));
        Self(Arc::new(Inner { line, about, pending, asked }))
    }

    /// The revision that the client speaks.
    pub fn version(&self) -> ProtocolVersion {
        self.0.about.version
    }

    /// The capabilities that the client declared.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.0.about.capabilities
    }

    /// The `clientInfo` of the client: an object with its name and version, as it gave them.
    pub fn client_info(&self) -> Option<&RawJson> {
        self.0.about.client_info.as_ref()
    }

    /// Whether the client asked for progress notifications.
    pub fn wants_progress(&self) -> bool {
        self.0.about.wants_progress
    }

    /// A value of the request's `_meta` that the protocol does not define.
    pub fn meta(&self, key: &str) -> Option<&RawJson> {
        self.0.about.meta.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(crate) fn trace_parent(&self) -> Option<TraceParent> {
        self.0.about.trace_parent
    }

    pub(crate) fn trace_state(&self) -> Option<String> {
        self.0.about.trace_state.clone()
    }

    /// The members of `_meta` that the protocol does not define, as an object, if there are any.
    pub(crate) fn foreign_meta(&self) -> Option<RawJson> {
        let mut foreign = ObjectWriter::new();
        for (name, value) in &self.0.about.meta {
            if !name.starts_with(meta::RESERVED_PREFIX) {
                foreign.raw(name, value);
            }
        }
        let foreign = foreign.finish();
        (foreign != RawJson::empty_object()).then_some(foreign)
    }

    /// Checks that the client declared a capability.
    ///
    /// # Errors
    /// [`ServeError::MissingCapability`], which names the capability that a modern client has to declare.
    pub fn require(&self, need: ClientNeed) -> Result<(), ServeError> {
        if offers(self.capabilities(), need) {
            return Ok(());
        }
        Err(ServeError::MissingCapability(need))
    }

    /// Sends a question to the client and waits for the response. Questions asked at the same time are sent together.
    ///
    /// A modern client sees the question under `key`, which must be unique within a call.
    ///
    /// # Errors
    /// If the client did not declare the capability, declines, disconnects, or does not respond in time.
    ///
    /// # Cancel safety
    /// The question may have been sent; its response is dropped.
    pub async fn ask(&self, key: &str, question: Question) -> Result<RawJson, ServeError> {
        self.require(question.need)?;
        let given = self.0.about.given.iter().find(|(known, _)| known == key);
        if let Some((_, answer)) = given.filter(|(_, answer)| question.is_answered_by(answer)) {
            return Ok(answer.clone());
        }
        let (reply, answer) = oneshot::channel();
        let wake = {
            let mut pending = self.pending();
            pending.asks.push(Ask { key: key.to_owned(), question, reply });
            pending.waker.take()
        };
        if let Some(waker) = wake {
            waker.wake();
        }
        match tokio::time::timeout(self.0.about.answer_timeout, answer).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(ServeError::NoAnswer(error.message)),
            Ok(Err(_)) => Err(ServeError::NoAnswer("it disconnected".into())),
            Err(_) => Err(ServeError::NoAnswer("the request timed out".into())),
        }
    }

    /// Reports progress, if the client asked for it. `total` is the amount at which the call is complete. Reports
    /// that do not increase are dropped.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if self.wants_progress() {
            let message = message.map(str::to_owned);
            self.0.line.report(Report::Progress(Step { progress, total, message }));
        }
    }

    /// Sends a log message, if the client wants messages of this level.
    pub fn log(&self, level: LogLevel, logger: Option<&str>, data: RawJson) {
        self.0.line.report(Report::Log { level, logger: logger.map(str::to_owned), data });
    }

    /// Closes the response stream of a client on Streamable HTTP, which fetches the result later. Other transports
    /// ignore this.
    ///
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server>
    pub fn hang_up(&self) {
        self.0.line.report(Report::HangUp);
    }

    fn key(&self, of: &str) -> String {
        format!("{of}-{}", self.0.asked.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes requests of plain tools, such as elicitation, on to the client.
impl Handler for Call {
    fn capabilities(&self) -> ClientCapabilities {
        self.0.about.capabilities.clone()
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, ElicitResult> {
        Box::pin(async move {
            let Ok(question) = Question::elicit(&request) else { return ElicitResult::cancel() };
            match self.ask(&self.key("elicitation"), question).await {
                Ok(answer) => read_elicited(&answer).unwrap_or_else(ElicitResult::cancel),
                Err(ServeError::MissingCapability(_)) => ElicitResult::decline(),
                Err(_) => ElicitResult::cancel(),
            }
        })
    }

    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, Refusal>> {
        Box::pin(async move {
            let question = Question::sample(&request).map_err(|e| Refusal::new(e.to_string()))?;
            let answer = self.ask(&self.key("sampling"), question).await;
            let answer = answer.map_err(|error| Refusal::new(error.to_string()))?;
            answer.decode().map_err(|error| Refusal::new(error.to_string()))
        })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, Refusal>> {
        Box::pin(async move {
            let answer = self.ask(&self.key("roots"), Question::roots()).await;
            let answer = answer.map_err(|error| Refusal::new(error.to_string()))?;
            let roots = answer.get("roots").unwrap_or_else(RawJson::null);
            roots.decode().map_err(|error| Refusal::new(error.to_string()))
        })
    }

    /// Forwards log messages of a server behind this one to the client.
    fn event(&self, event: ServerEvent) {
        if let ServerEvent::Log(line) = event {
            let level = LogLevel::parse(&line.level).unwrap_or(LogLevel::Info);
            let data = line.data.unwrap_or_else(RawJson::null);
            self.log(level, line.logger.as_deref(), data);
        }
    }
}

/// Runs a call to completion and reports its result, and the questions it asks.
pub(crate) struct Run {
    pub(crate) work: BoxFuture<'static, Result<RawJson, ServeError>>,
    pub(crate) call: Call,
    is_done: bool,
}

impl Run {
    pub(crate) fn new(work: BoxFuture<'static, Result<RawJson, ServeError>>, call: Call) -> Self {
        Self { work, call, is_done: false }
    }
}

impl Future for Run {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let outcome = self.work.as_mut().poll(cx);
        let line = self.call.0.line.clone();
        if let Poll::Ready(outcome) = outcome {
            self.is_done = true;
            line.report(Report::Done(outcome));
            return Poll::Ready(());
        }
        let asks = {
            let mut pending = self.call.pending();
            pending.waker = Some(cx.waker().clone());
            std::mem::take(&mut pending.asks)
        };
        if !asks.is_empty() {
            line.report(Report::Asks(asks));
        }
        Poll::Pending
    }
}

/// A panicking tool ends its task. Report an error, so that its client does not wait forever.
impl Drop for Run {
    fn drop(&mut self) {
        if !self.is_done {
            let gone = ServeError::Internal("the request handler ended without a result".into());
            self.call.0.line.report(Report::Done(Err(gone)));
        }
    }
}
