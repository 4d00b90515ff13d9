//! What only requests that stand by themselves do: checks, discovery, listening, coming back with answers.

use std::sync::Arc;

use mcp_client::{Era, ErrorObject, ProtocolVersion, RawJson};
use mcp_jsonrpc::{ObjectWriter, Request};

use crate::serve::{
    ask::read_capabilities,
    conversation::{Conversation, Running},
    dispatch::Wire,
    error::{BUSY, HEADER_MISMATCH, UNSUPPORTED_VERSION},
    inbox::CallKey,
    listen::{Filter, Listen},
    params::decode_value,
    request::{Facts, Headers, MODERN, Meta},
    shared::{Keep, unknown_method},
    waiting::{Subject, Waiting},
};

/// An error, and the HTTP status that goes with it.
type Refusal = (ErrorObject, u16);

impl Conversation {
    pub(super) fn modern(&mut self, request: &Request, meta: Meta, facts: &Facts) {
        let version = match self.admit(request, &meta, facts) {
            Ok(version) => version,
            Err((error, status)) => return self.refuse(&request.id, error, status),
        };
        let capabilities = meta.capabilities.as_ref().map(read_capabilities).unwrap_or_default();
        let wire = Wire { version, capabilities, log_level: meta.log_level, meta };
        match &*request.method {
            "server/discover" => self.discover(request, version),
            "subscriptions/listen" => self.listen(request),
            "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe" => {
                self.refuse(&request.id, unknown_method(&request.method), 404);
            }
            _ => self.dispatch(request, wire),
        }
    }

    /// Whether the request is complete, and its headers repeat what it says.
    fn admit(
        &self,
        request: &Request,
        meta: &Meta,
        facts: &Facts,
    ) -> Result<ProtocolVersion, Refusal> {
        let missing = |what: &str| {
            let message = format!("`_meta` lacks `io.modelcontextprotocol/{what}`");
            (ErrorObject::new(ErrorObject::INVALID_PARAMS, message), 400)
        };
        let headers = facts.headers.as_ref();
        if headers.is_some_and(|headers| headers.version.is_none()) {
            return Err(mismatch("the header `MCP-Protocol-Version` is missing"));
        }
        let said = meta.version.as_deref().ok_or_else(|| missing("protocolVersion"))?;
        if meta.capabilities.is_none() {
            return Err(missing("clientCapabilities"));
        }
        if headers.is_some_and(|headers| headers.version.as_deref() != Some(said)) {
            return Err(mismatch("the header `MCP-Protocol-Version` does not match `_meta`"));
        }
        let version = ProtocolVersion::parse(said).filter(|version| MODERN.contains(version));
        let version = version.ok_or_else(|| unsupported(said))?;
        if let Some(headers) = headers {
            self.check_headers(request, headers).map_err(|problem| mismatch(&problem))?;
        }
        Ok(version)
    }

    fn check_headers(&self, request: &Request, headers: &Headers) -> Result<(), String> {
        if headers.method.as_deref() != Some(&request.method) {
            return Err("the header `Mcp-Method` does not match the method".into());
        }
        let named_by = match &*request.method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return Ok(()),
        };
        let params = request.params.clone().unwrap_or_else(RawJson::empty_object);
        let name: Option<String> = params.get(named_by).and_then(|name| name.decode().ok());
        let said = headers.name.as_deref().map(decode_value).transpose();
        if said.map_err(|()| "the header `Mcp-Name` is not valid Base64")? != name {
            return Err(format!("the header `Mcp-Name` does not match `params.{named_by}`"));
        }
        let tools = self.shared.tools();
        if let Some(tool) = name.filter(|_| request.method == "tools/call")
            && let Some(entry) = tools.get(&tool)
        {
            let arguments = params.get("arguments").unwrap_or_else(RawJson::empty_object);
            entry.header_params.check(&arguments, |header| headers.param(header))?;
        }
        Ok(())
    }

    fn discover(&mut self, request: &Request, version: ProtocolVersion) {
        let shared = self.shared.clone();
        let result = shared.result(version, Keep::List, |result| {
            let versions: Vec<&str> = MODERN.iter().map(|version| version.as_str()).collect();
            // Strings can always be written.
            let _ = result.member("supportedVersions", &versions);
            result.raw("capabilities", &shared.capabilities(Era::Modern));
            if let Some(instructions) = &shared.options.instructions {
                result.string("instructions", instructions);
            }
        });
        self.answer(&request.id, result);
    }

    fn listen(&mut self, request: &Request) {
        let wanted = request.params.as_ref().and_then(|params| params.get("notifications"));
        let Some(wanted) = wanted.filter(RawJson::is_object) else {
            let message = "`notifications` is missing";
            let error = ErrorObject::new(ErrorObject::INVALID_PARAMS, message);
            return self.refuse(&request.id, error, 400);
        };
        let Ok(permit) = self.shared.listens.clone().try_acquire_owned() else {
            let error = ErrorObject::new(BUSY, "too many subscriptions are open");
            return self.refuse(&request.id, error, 503);
        };
        let filter = Filter::honoured(&wanted, &self.shared.options);
        let watches = filter.watch(&self.shared.watches);
        let id = request.id.clone();
        let listen = Listen { id, filter, _watches: watches, _permit: permit };
        let mut params = listen.params();
        params.raw("notifications", &listen.filter.to_json());
        let acknowledged = "notifications/subscriptions/acknowledged";
        self.notify(Some(&request.id), acknowledged, params.finish());
        self.listens.push(listen);
    }

    /// Sends a modern client away with all open questions of a call. It comes back with the answers.
    pub(super) fn wait_for_answers(&mut self, key: CallKey) {
        let Some(Running { id, task, line, open, subject, .. }) = self.finish(key) else { return };
        let mut questions = ObjectWriter::new();
        for ask in &open {
            questions.object(&ask.key, |entry| {
                entry.string("method", ask.question.method).raw("params", &ask.question.params)
            });
        }
        let state =
            task.and_then(|task| self.shared.waiting.enter(Waiting { task, line, open, subject }));
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

    /// Goes on with a call whose client has come back.
    pub(super) fn resume(
        &mut self,
        request: &Request,
        wire: &Wire,
        subject: Subject,
        state: &RawJson,
        answers: &RawJson,
    ) {
        let state: Option<String> = state.decode().ok();
        let waiting = state.and_then(|state| self.shared.waiting.leave(&state, &subject));
        let Some(Waiting { task, line, open, .. }) = waiting else {
            let message = "this `requestState` is not one of ours, belongs to another request, or has expired";
            let error = ErrorObject::new(ErrorObject::INVALID_PARAMS, message);
            return self.refuse(&request.id, error, 200);
        };
        let mut unanswered = Vec::new();
        for ask in open {
            match answers.get(&ask.key).filter(|answer| ask.question.is_answered_by(answer)) {
                // Not an error: the tool may have stopped waiting for it.
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

fn mismatch(problem: &str) -> Refusal {
    (ErrorObject::new(HEADER_MISMATCH, problem), 400)
}

fn unsupported(requested: &str) -> Refusal {
    let mut data = ObjectWriter::new();
    let versions: Vec<&str> = MODERN.iter().map(|version| version.as_str()).collect();
    // Strings can always be written.
    let _ = data.member("supported", &versions);
    data.string("requested", requested);
    let message = "this revision of the protocol is not supported".into();
    (ErrorObject { code: UNSUPPORTED_VERSION, message, data: Some(data.finish()) }, 400)
}
