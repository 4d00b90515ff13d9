//! The server's side of the session with one client: plain state, no sockets, no clock.
//!
//! Messages of the client and reports of running calls go in; messages and jobs come out. There is one session per
//! pipe, per HTTP session, and per modern HTTP request.

mod answers;
mod dispatch;
mod legacy;
mod listen;
mod modern;
mod paging;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod tool_result;
mod wire;

use mcp_jsonrpc::{
    ErrorObject, Message, Notification, ObjectWriter, RawJson, Request, RequestId, Response,
};
use mcp_types::{Era, LogLevel, method};

use self::state::Asked;
pub(crate) use self::state::{ClientSession, Outgoing};
use crate::{
    call::{
        ask::Ask,
        inbox::{CallKey, Change, Item, Report, Step},
    },
    error::ServeError,
    request::{Facts, Headers, Meta},
};

impl ClientSession {
    /// Handles a message of the client.
    pub(crate) fn receive(&mut self, message: Message, facts: &Facts) {
        match message {
            Message::Request(request) => self.request(&request, facts),
            Message::Notification(notification) => self.notification(&notification),
            Message::Response(response) => self.response(response),
        }
    }

    /// Handles a report of a call, or a change.
    pub(crate) fn take(&mut self, item: Item) {
        match item {
            Item::Change(change) => self.changed(&change),
            Item::Report(key, report) => match report {
                Report::Progress(step) => self.progress(key, &step),
                Report::Log { level, logger, data } => self.log(key, level, logger, &data),
                Report::Asks(asks) => self.asks(key, asks),
                Report::HangUp => {
                    if let Some(running) = self.calls.get(&key) {
                        self.outgoing.push_back(Outgoing::HangUp { about: running.id.clone() });
                    }
                }
                Report::Done(outcome) => self.done(key, outcome),
            },
        }
    }

    fn request(&mut self, request: &Request, facts: &Facts) {
        if self.is_in_use(&request.id) {
            let error =
                ErrorObject::new(ErrorObject::INVALID_REQUEST, "this request id is already in use");
            return self.refuse(&request.id, error, 400);
        }
        let meta = Meta::of(request.params.as_ref());
        let is_modern = meta.version.is_some()
            || facts.headers.as_ref().is_some_and(Headers::is_modern)
            || request.method == method::SERVER_DISCOVER;
        if is_modern { self.modern(request, meta, facts) } else { self.legacy(request, meta) }
    }

    fn notification(&mut self, notification: &Notification) {
        if notification.method == method::INITIALIZED
            && let Some(session) = &mut self.session
        {
            session.is_initialized = true;
        }
        if notification.method != method::CANCELLED {
            return;
        }
        let id = notification.params.as_ref().and_then(|params| params.get("requestId"));
        if let Some(id) = id.and_then(|id| id.decode::<RequestId>().ok()) {
            self.cancel(&id);
        }
    }

    fn response(&mut self, response: Response) {
        let id = response.id.as_ref().and_then(RequestId::as_integer);
        if let Some(asked) = id.and_then(|id| self.asked.remove(&id)) {
            // Not an error: the call may have ended in the meantime.
            let _ = asked.reply.send(response.outcome);
        }
    }

    fn progress(&mut self, key: CallKey, step: &Step) {
        let Some(running) = self.calls.get_mut(&key) else { return };
        let Some(token) = &running.progress_token else { return };
        // Progress must increase: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress>
        if running.last_progress.is_some_and(|last| step.progress <= last) {
            return;
        }
        running.last_progress = Some(step.progress);
        let mut params = ObjectWriter::new();
        params.raw("progressToken", token);
        let _ = params.member("progress", &step.progress);
        if let Some(total) = step.total {
            let _ = params.member("total", &total);
        }
        if let Some(message) = &step.message {
            params.string("message", message);
        }
        let about = running.id.clone();
        self.notify(Some(&about), method::PROGRESS, params.finish());
    }

    fn log(&mut self, key: CallKey, level: LogLevel, logger: Option<String>, data: &RawJson) {
        let Some(running) = self.calls.get(&key) else { return };
        // `logging/setLevel` may have changed the level since the call started.
        let wanted = match &self.session {
            Some(session) if running.version.era() == Era::Legacy => Some(session.log_level),
            _ => running.log_level,
        };
        if !self.shared.options.logging || wanted.is_none_or(|wanted| level < wanted) {
            return;
        }
        let mut params = ObjectWriter::new();
        params.string("level", level.as_str());
        if let Some(logger) = logger {
            params.string("logger", &logger);
        }
        params.raw("data", data);
        let about = running.id.clone();
        self.notify(Some(&about), method::MESSAGE, params.finish());
    }

    fn asks(&mut self, key: CallKey, asks: Vec<Ask>) {
        let Some(running) = self.calls.get_mut(&key) else { return };
        if running.version.era() == Era::Modern {
            for ask in asks {
                if running.open.iter().any(|open| open.key == ask.key) {
                    let message = format!("two questions of a call have the key `{}`", ask.key);
                    let error = ErrorObject::new(ErrorObject::INTERNAL_ERROR, message);
                    // Not an error: the tool may have stopped waiting.
                    let _ = ask.reply.send(Err(error));
                } else {
                    running.open.push(ask);
                }
            }
            return self.wait_for_answers(key);
        }
        let about = running.id.clone();
        for Ask { question, reply, .. } in asks {
            self.next_ask += 1;
            let id = self.next_ask;
            self.asked.insert(id, Asked { reply, of: key });
            let message =
                Message::Request(Request::new(id, question.method, Some(question.params)));
            self.outgoing.push_back(Outgoing::Message { about: Some(about.clone()), message });
        }
    }

    fn done(&mut self, key: CallKey, outcome: Result<RawJson, ServeError>) {
        let Some(running) = self.finish(key) else { return };
        match outcome {
            Ok(result) => self.answer(&running.id, result),
            Err(error) => {
                let error = error.into_object(running.version.era() == Era::Modern);
                self.refuse(&running.id, error, 200);
            }
        }
    }

    fn changed(&mut self, change: &Change) {
        if let Some((method, params)) =
            self.session.as_ref().and_then(|session| session.notification_of(change))
        {
            let message = Message::Notification(Notification::new(method, params));
            self.outgoing.push_back(Outgoing::Message { about: None, message });
        }
        let news: Vec<_> =
            self.listens.iter().filter_map(|listen| listen.notification_of(change)).collect();
        for (about, message) in news {
            self.outgoing.push_back(Outgoing::Message { about: Some(about), message });
        }
    }
}
