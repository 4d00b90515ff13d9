//! What a request knows of its client, and can ask and tell it while it runs.

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

use futures_core::future::BoxFuture;
use mcp_client::{
    ClientCapabilities, CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult,
    Handler, LogLevel, ProtocolVersion, RawJson, Refusal, Root, ServerEvent,
};
use tokio::sync::oneshot;

use crate::{
    serve::{
        ask::{Ask, Question, offers, read_elicited},
        error::{ClientNeed, ServeError},
        inbox::{Line, Report, Step},
        request::parse_level,
    },
    trace::TraceParent,
};

/// One request of a client while it is being worked on.
///
/// What it [asks](Self::ask) looks the same in both eras: an old client is sent a request, a modern one gets
/// the question as an interim result and comes back with the answer. The tool runs once in either case. A
/// modern client that comes back without the state it was given makes it run again from the start, and
/// then finds its answers by their keys.
#[derive(Clone)]
pub struct Call(Arc<Inner>);

struct Inner {
    line: Arc<Line>,
    about: About,
    pending: Mutex<Pending>,
    asked: AtomicU32,
}

/// What is known of a request before it runs.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) version: ProtocolVersion,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) wants_progress: bool,
    pub(crate) trace_parent: Option<TraceParent>,
    /// Answers that came with the request.
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
    pub(crate) fn new(line: Arc<Line>, about: About) -> Self {
        let (pending, asked) = (Mutex::default(), AtomicU32::new(0));
        Self(Arc::new(Inner { line, about, pending, asked }))
    }

    /// The revision its client speaks.
    pub fn version(&self) -> ProtocolVersion {
        self.0.about.version
    }

    /// What its client offers.
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.0.about.capabilities
    }

    /// Whether its client wants to hear of progress.
    pub fn wants_progress(&self) -> bool {
        self.0.about.wants_progress
    }

    pub(crate) fn trace_parent(&self) -> Option<TraceParent> {
        self.0.about.trace_parent
    }

    /// Goes on only if the client offers what is needed.
    ///
    /// # Errors
    /// [`ServeError::MissingCapability`], which tells a modern client what it would have to declare.
    pub fn require(&self, need: ClientNeed) -> Result<(), ServeError> {
        if offers(self.capabilities(), need) {
            return Ok(());
        }
        Err(ServeError::MissingCapability(need))
    }

    /// Asks the client, and waits for its answer. Questions asked at the same time travel together.
    ///
    /// The `key` is what a modern client sees the question under; each one in a call needs its own.
    ///
    /// # Errors
    /// When the client does not offer that, says no to it, or is not heard of any more.
    ///
    /// # Cancel safety
    /// The question may have been asked; its answer is dropped.
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
            Ok(Err(_)) => Err(ServeError::NoAnswer("it went away".into())),
            Err(_) => Err(ServeError::NoAnswer("it took too long".into())),
        }
    }

    /// Tells how far it is, of how much if that is known, if anyone wants to know. Reports that do not grow
    /// are dropped.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if self.wants_progress() {
            let message = message.map(str::to_owned);
            self.0.line.report(Report::Progress(Step { progress, total, message }));
        }
    }

    /// Tells the client something for its log. It gets there if the client wants lines of this level.
    pub fn log(&self, level: LogLevel, logger: Option<&str>, data: RawJson) {
        self.0.line.report(Report::Log { level, logger: logger.map(str::to_owned), data });
    }

    /// Lets a client on Streamable HTTP hang up and ask for the answer later, as 2025-11-25 has it. No
    /// other client notices.
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

/// For tools that know nothing of being served: what they ask of the owner of their call reaches the client.
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

    /// What a server behind this one logs while it works for the client is for the client's log.
    fn event(&self, event: ServerEvent) {
        if let ServerEvent::Log(line) = event {
            let level = parse_level(&line.level).unwrap_or(LogLevel::Info);
            let data = line.data.unwrap_or_else(RawJson::null);
            self.log(level, line.logger.as_deref(), data);
        }
    }
}

/// Runs a call to its end and reports it, together with what it asks on the way.
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

/// A tool that panics takes its task with it, and its client would wait for ever.
impl Drop for Run {
    fn drop(&mut self) {
        if !self.is_done {
            let gone = ServeError::Internal("the server broke off the work on this".into());
            self.call.0.line.report(Report::Done(Err(gone)));
        }
    }
}
