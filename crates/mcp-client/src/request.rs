//! Making one request: its params, its limits, its answer.

use std::{borrow::Cow, time::Duration};

use mcp_jsonrpc::{
    CallId, CallLimits, ObjectWriter, Progress, RawJson, Reply, ShapeError, Timeout,
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use crate::{
    client::Client,
    engine::Token,
    era::Era,
    error::CallError,
    handler::ServerEvent,
    handshake::{CLIENT_CAPABILITIES, declaration},
    options::CallOptions,
    types::{CallToolResult, Completion, Extra, GetPromptResult, ReadPage, Task},
};

const PROGRESS_TOKEN: &str = "progressToken";
pub(crate) const RESULT_TYPE: &str = "resultType";
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Writes the members of a request's params.
pub(crate) type Members<'a> = dyn Fn(&mut ObjectWriter) + Send + Sync + 'a;

/// A result that says whether it is complete.
pub(crate) trait Answer: DeserializeOwned {
    /// Members the type has no field for, `resultType` among them.
    fn extra(&self) -> &Extra;
}

macro_rules! answers {
    ($($type:ty)*) => {$(
        impl Answer for $type {
            fn extra(&self) -> &Extra {
                &self.extra
            }
        }
    )*};
}
answers! { CallToolResult GetPromptResult ReadPage Completion Task }

/// A request about to be made.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'static str,
    /// The tool's name, for people who watch progress.
    pub(crate) label: Option<&'a str>,
    pub(crate) options: &'a CallOptions,
    /// Long-running work: the limits of calls rather than those of quick requests, and a progress token.
    pub(crate) is_call: bool,
    pub(crate) began: Instant,
    /// Not the first request of its call, which has used up some of its time.
    pub(crate) is_repeated: bool,
    /// What to report progress by, if not by the request's own id.
    pub(crate) token: Option<&'a Token<'a>>,
}

impl<'a> Ask<'a> {
    /// A request that should be answered quickly.
    pub(crate) fn quick(method: &'static str, options: &'a CallOptions) -> Self {
        Self { is_call: false, ..Self::call(method, None, options) }
    }

    /// A request that may take its time.
    pub(crate) fn call(
        method: &'static str,
        label: Option<&'a str>,
        options: &'a CallOptions,
    ) -> Self {
        Self {
            method,
            label,
            options,
            is_call: true,
            began: Instant::now(),
            is_repeated: false,
            token: None,
        }
    }
}

impl Client {
    /// Makes a request of any method, for what nobody has modelled yet.
    ///
    /// `params` must be an object, if anything; what the era wants in its `_meta` is added. The result
    /// comes back as it is, whatever its type.
    pub async fn request(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: Option<RawJson>,
        options: CallOptions,
    ) -> Result<RawJson, CallError> {
        if params.as_ref().is_some_and(|params| !params.is_object()) {
            return Err(CallError::Unsendable(problem("params must be an object")));
        }
        let method = method.into();
        let name = match &method {
            Cow::Borrowed(method) => *method,
            Cow::Owned(_) => "request",
        };
        let ask = Ask::call(name, None, &options);
        let (own_meta, rest) = split_meta(params);
        let members = |params: &mut ObjectWriter| {
            params.splice(&rest);
        };
        let reply = self.send(&ask, method, own_meta.as_ref(), &members).await?;
        reply.into_raw().map_err(|failure| CallError::new(ask.method, failure, None))
    }

    /// Sends a notification of any method.
    pub fn notify(&self, method: &'static str, params: Option<RawJson>) {
        self.0.engine.shared().notify(method, params);
    }

    /// Makes a request and reads its result.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        ask: &Ask<'_>,
        members: &Members<'_>,
    ) -> Result<T, CallError> {
        let reply = self.send(ask, ask.method.into(), None, members).await?;
        reply.decode().map_err(|failure| CallError::new(ask.method, failure, None))
    }

    pub(crate) async fn send(
        &self,
        ask: &Ask<'_>,
        method: Cow<'static, str>,
        own_meta: Option<&RawJson>,
        members: &Members<'_>,
    ) -> Result<Reply, CallError> {
        let shared = self.0.engine.shared();
        let hear = |progress: Progress| self.hear(ask, progress);
        let on_progress: Option<&(dyn Fn(Progress) + Send + Sync)> = ask.is_call.then_some(&hear);
        let params = |id| self.params(ask, id, own_meta, members);
        let mut limits = self.limits(ask);
        if ask.is_repeated {
            limits.total = self.time_left(ask);
        }
        let answer = shared.call(method, limits, on_progress, params).await;
        answer.map_err(|failure| match CallError::new(ask.method, failure, shared.report()) {
            // The limit of the whole call, whatever was left of it.
            CallError::TimedOut { timeout, .. } if ask.is_repeated && timeout.in_total => {
                self.timed_out(ask)
            }
            error => error,
        })
    }

    /// How much of its time in all a call has left.
    pub(crate) fn time_left(&self, ask: &Ask<'_>) -> Option<Duration> {
        self.limits(ask).total.map(|total| total.saturating_sub(ask.began.elapsed()))
    }

    /// Does something that belongs to a call, within what is left of the call's time.
    pub(crate) async fn within<T>(
        &self,
        ask: &Ask<'_>,
        work: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        match self.time_left(ask) {
            Some(left) => timeout(left, work).await.unwrap_or_else(|_| Err(self.timed_out(ask))),
            None => work.await,
        }
    }

    fn timed_out(&self, ask: &Ask<'_>) -> CallError {
        let limits = self.limits(ask);
        let timeout = Timeout::new(true, limits.idle, limits.total);
        CallError::TimedOut { method: ask.method, timeout }
    }

    pub(crate) fn hear(&self, ask: &Ask<'_>, progress: Progress) {
        if let Some(on_progress) = &ask.options.on_progress {
            on_progress(progress.clone());
        }
        let call =
            ask.label.map_or_else(|| ask.method.into(), |label| format!("{} {label}", ask.method));
        self.0.dispatch.tell(ServerEvent::Progress { call, progress });
    }

    fn limits(&self, ask: &Ask<'_>) -> CallLimits {
        let options = &self.0.options;
        let mut limits = CallLimits::default();
        let (idle, total) = if ask.is_call {
            (Some(options.call_idle_timeout), Some(options.call_total_timeout))
        } else {
            (None, Some(options.request_timeout))
        };
        limits.idle = ask.options.idle_timeout.or(idle);
        limits.total = ask.options.total_timeout.or(total);
        limits
    }

    /// The params of one request: what its era demands, then its own members.
    pub(crate) fn params(
        &self,
        ask: &Ask<'_>,
        id: CallId,
        own_meta: Option<&RawJson>,
        members: &Members<'_>,
    ) -> Option<RawJson> {
        let era_meta = self.0.meta.as_ref();
        let merged = match ask.options.offers.as_ref().filter(|_| era_meta.is_some()) {
            None => merge_meta(era_meta, own_meta, &ask.options.meta),
            Some(offers) => {
                let mut extra = ask.options.meta.clone();
                let declared = declaration(&self.0.options, offers);
                extra.push((CLIENT_CAPABILITIES.into(), declared));
                merge_meta(era_meta, own_meta, &extra)
            }
        };
        let era_meta = merged.as_ref().or(era_meta);
        let mut params = ObjectWriter::with_capacity(if era_meta.is_some() { 512 } else { 128 });
        if era_meta.is_some() || ask.is_call {
            params.object("_meta", |meta| {
                if let Some(object) = era_meta {
                    meta.splice(object);
                }
                if ask.is_call {
                    let token = ask.token.map_or(id, |token| token.carried_by(id));
                    meta.integer(PROGRESS_TOKEN, token.get());
                }
                meta
            });
        }
        members(&mut params);
        let params = params.finish();
        (params != RawJson::empty_object()).then_some(params)
    }

    /// Refuses a result that is not complete, of a method whose results always are. Legacy servers have
    /// no such member, whatever they mean by it.
    pub(crate) fn check_type(
        &self,
        method: &'static str,
        kind: Option<&RawJson>,
        also: &str,
    ) -> Result<(), CallError> {
        let is_fine = |kind: &RawJson| {
            kind.is_null()
                || kind.decode::<String>().is_ok_and(|kind| kind == "complete" || kind == also)
        };
        match kind {
            Some(kind) if self.era() == Era::Modern && !is_fine(kind) => {
                Err(unexpected_type(method))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn require(&self, era: Era, what: &'static str) -> Result<(), CallError> {
        if self.era() == era { Ok(()) } else { Err(CallError::Unsupported(what)) }
    }
}

/// What the era demands together with what the caller adds, each name once: the closest to the call wins,
/// except for what the connection itself depends on. `None` if the caller adds nothing.
fn merge_meta(
    era: Option<&RawJson>,
    own: Option<&RawJson>,
    extra: &[(String, RawJson)],
) -> Option<RawJson> {
    if own.is_none() && extra.is_empty() {
        return None;
    }
    let mut members: Vec<(String, RawJson)> = era.into_iter().flat_map(RawJson::members).collect();
    let added = own.into_iter().flat_map(RawJson::members).chain(extra.iter().cloned());
    for (name, value) in added {
        if name == PROGRESS_TOKEN || era.is_some() && name == PROTOCOL_VERSION {
            continue;
        }
        match members.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => members.push((name, value)),
        }
    }
    let mut merged = ObjectWriter::with_capacity(512);
    for (name, value) in &members {
        merged.raw(name, value);
    }
    Some(merged.finish())
}

/// Takes `_meta` out of params that bring their own.
fn split_meta(params: Option<RawJson>) -> (Option<RawJson>, RawJson) {
    let Some(params) = params else { return (None, RawJson::empty_object()) };
    let Some(meta) = params.get("_meta") else { return (None, params) };
    let mut rest = ObjectWriter::new();
    for (name, value) in params.members().filter(|(name, _)| name != "_meta") {
        rest.raw(&name, &value);
    }
    (Some(meta), rest.finish())
}

/// No `resultType` means complete, as in every server older than that member.
pub(crate) fn is_complete(extra: &Extra) -> bool {
    extra.get(RESULT_TYPE).is_none_or(|kind| kind.is_null() || kind.as_str() == r#""complete""#)
}

pub(crate) fn unexpected_type(method: &'static str) -> CallError {
    CallError::Shape { method, error: problem("`resultType` is not one this method may have") }
}

pub(crate) fn problem(text: impl std::fmt::Display) -> ShapeError {
    serde::de::Error::custom(text)
}
