//! Sending one request: its params, limits and response.

use std::{borrow::Cow, time::Duration};

use mcp_jsonrpc::{
    CallId, CallLimits, Failure, ObjectWriter, Progress, RawJson, Timeout, wire::Reply,
};
use mcp_types::{
    CallToolResult, Completion, Era, Extra, GetPromptResult, events::ServerEvent, lists::ReadPage,
    meta, tasks::Task,
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use super::Client;
use crate::{
    connect::declaration,
    engine::Token,
    error::{CallError, problem},
    options::CallOptions,
    telemetry::{record_failure, record_id, request_span},
};

pub(crate) const RESULT_TYPE: &str = "resultType";

/// Writes the members of a request's params.
pub(crate) type Members<'a> = dyn Fn(&mut ObjectWriter) + Send + Sync + 'a;

/// A result that may carry a `resultType`.
pub(crate) trait Answer: DeserializeOwned {
    /// Members without a field in this type, including `resultType`.
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
    /// The tool's name, for progress displays.
    pub(crate) label: Option<&'a str>,
    pub(crate) options: &'a CallOptions,
    /// Whether this is long-running work, with call timeouts and a progress token, or a quick request.
    pub(crate) is_call: bool,
    pub(crate) began: Instant,
    /// Whether this is a later request of its call, so that part of the total timeout has been used.
    pub(crate) is_repeated: bool,
    /// The progress token to use instead of the request's id.
    pub(crate) token: Option<&'a Token<'a>>,
}

impl<'a> Ask<'a> {
    /// A request with the short request timeout.
    pub(crate) fn quick(method: &'static str, options: &'a CallOptions) -> Self {
        Self { is_call: false, ..Self::call(method, None, options) }
    }

    /// A request with the call timeouts.
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
    /// Sends a request with any method, including those without types in this crate.
    ///
    /// `params` must be an object if present. The `_meta` members required by the era are added.
    /// The result is returned unchanged, regardless of its `resultType`.
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
        reply.into_raw().map_err(|failure| CallError::new(ask.method, failure))
    }

    /// Sends a notification with any method.
    pub fn notify(&self, method: &'static str, params: Option<RawJson>) {
        self.0.engine.shared().notify(method, params);
    }

    /// Sends a request and decodes its result.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        ask: &Ask<'_>,
        members: &Members<'_>,
    ) -> Result<T, CallError> {
        let reply = self.send(ask, ask.method.into(), None, members).await?;
        reply.decode().map_err(|failure| CallError::new(ask.method, failure))
    }

    /// Sends a request and ignores the content of its result.
    pub(crate) async fn quick(
        &self,
        method: &'static str,
        members: &Members<'_>,
    ) -> Result<(), CallError> {
        let options = CallOptions::default();
        let ask = Ask::quick(method, &options);
        self.ask::<RawJson>(&ask, members).await.map(drop)
    }

    /// Sends a request without waiting for its response.
    pub(crate) fn tell(&self, method: &'static str, members: &Members<'_>) {
        let options = CallOptions::default();
        let ask = Ask::quick(method, &options);
        self.0.engine.shared().tell(method, |id| self.params(&ask, id, None, members));
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
        let span = request_span(&method, ask.label);
        let params = |id| {
            record_id(&span, id);
            self.params(ask, id, own_meta, members)
        };
        let mut limits = self.limits(ask);
        if ask.is_repeated {
            limits.total = self.time_left(ask);
        }
        let call = shared.call(method, limits, on_progress, params);
        // A disabled span costs two calls for each poll.
        let answer =
            if span.is_disabled() { call.await } else { call.instrument(span.clone()).await };
        answer.inspect_err(|failure| record_failure(&span, failure)).map_err(
            |failure| match failure {
                // Report the timeout of the whole call, not the remainder this request had.
                Failure::TimedOut(timeout) if ask.is_repeated && timeout.in_total => {
                    self.timed_out(ask)
                }
                failure => CallError::reported(ask.method, failure, shared.report()),
            },
        )
    }

    /// The remaining part of a call's total timeout.
    pub(crate) fn time_left(&self, ask: &Ask<'_>) -> Option<Duration> {
        self.limits(ask).total.map(|total| total.saturating_sub(ask.began.elapsed()))
    }

    /// Runs work that belongs to a call, within the remaining total timeout.
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
        CallError::new(ask.method, Failure::TimedOut(timeout))
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

    /// Builds the params of one request: the members its era requires, then its own.
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
                extra.push((meta::CLIENT_CAPABILITIES.into(), declared));
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
                    meta.integer(meta::PROGRESS_TOKEN, token.get());
                }
                meta
            });
        }
        members(&mut params);
        let params = params.finish();
        (params != RawJson::empty_object()).then_some(params)
    }

    /// Rejects an incomplete result of a method that allows only complete ones. `resultType` is
    /// ignored in the legacy era, which does not define it.
    ///
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/index#resulttype>
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

/// Merges the `_meta` required by the era with the caller's, each name once. The value closest to
/// the call wins, except for members the session depends on. `None` if the caller adds nothing.
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
        // The token must be unique among the requests in flight, so it is always the request's id:
        // <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow>
        if name == meta::PROGRESS_TOKEN || era.is_some() && name == meta::PROTOCOL_VERSION {
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

/// Removes `_meta` from params that contain it.
fn split_meta(params: Option<RawJson>) -> (Option<RawJson>, RawJson) {
    let Some(params) = params else { return (None, RawJson::empty_object()) };
    let Some(meta) = params.get(meta::META) else { return (None, params) };
    let mut rest = ObjectWriter::new();
    for (name, value) in params.members().filter(|(name, _)| name != "_meta") {
        rest.raw(&name, &value);
    }
    (Some(meta), rest.finish())
}

/// Whether a result is complete. A missing `resultType` means complete, as in revisions that do not
/// define it.
pub(crate) fn is_complete(extra: &Extra) -> bool {
    extra.get(RESULT_TYPE).is_none_or(|kind| kind.is_null() || kind.as_str() == r#""complete""#)
}

pub(crate) fn unexpected_type(method: &'static str) -> CallError {
    CallError::shape(method, problem("unexpected `resultType` for this method"))
}
