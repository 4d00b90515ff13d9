//! Multi round-trip calls of modern clients: the server returns its questions, and the client repeats the request
//! with the responses.

use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson, Request};

use super::{
    state::{ClientSession, Running},
    wire::Wire,
};
use crate::{
    call::{
        inbox::CallKey,
        waiting::{Subject, Waiting},
    },
    error::BUSY,
};

impl ClientSession {
    /// Returns all open questions of a call to a modern client in an `input_required` result.
    pub(super) fn wait_for_answers(&mut self, key: CallKey) {
        let Some(Running { id, task, line, open, subject, .. }) = self.finish(key) else { return };
        let mut questions = ObjectWriter::new();
        for ask in &open {
            questions.object(&ask.key, |entry| {
                entry.string("method", ask.question.method).raw("params", &ask.question.params)
            });
        }
        let state =
            task.and_then(|task| self.shared.waiting.insert(Waiting { task, line, open, subject }));
        let Some(state) = state else {
            let error = ErrorObject::new(BUSY, "too many calls wait for answers");
            return self.refuse(&id, error, 503);
        };
        let mut result = ObjectWriter::with_capacity(512);
        result.string("resultType", "input_required");
        result.raw("_meta", self.shared.result_meta());
        result.raw("inputRequests", &questions.finish());
        result.string("requestState", &state);
        self.answer(&id, result.finish());
    }

    /// Resumes a call after its client has repeated the request with responses.
    pub(super) fn resume(
        &mut self,
        request: &Request,
        wire: &Wire,
        subject: Subject,
        state: &RawJson,
        answers: &RawJson,
    ) {
        let state: Option<String> = state.decode().ok();
        let waiting = state.and_then(|state| self.shared.waiting.take(&state, &subject));
        let Some(Waiting { task, line, open, .. }) = waiting else {
            let message = "`requestState` is unknown, belongs to another request, or has expired";
            let error = ErrorObject::new(ErrorObject::INVALID_PARAMS, message);
            return self.refuse(&request.id, error, 200);
        };
        let mut unanswered = Vec::new();
        for ask in open {
            match answers.get(&ask.key).filter(|answer| ask.question.is_answered_by(answer)) {
                // Not an error: the tool may have stopped waiting.
                Some(answer) => drop(ask.reply.send(Ok(answer.detached()))),
                None => unanswered.push(ask),
            }
        }
        let key = self.shared.next_key();
        let mut running = wire.running(request, Arc::clone(&line), subject);
        let is_complete = unanswered.is_empty();
        (running.task, running.open) = (Some(task), unanswered);
        self.by_id.insert(request.id.clone(), key);
        self.calls.insert(key, running);
        if is_complete {
            line.attach(&self.inbox, key);
        } else {
            self.wait_for_answers(key);
        }
    }
}
