//! Requests of clients without a session: validation of `_meta` and headers, `server/discover`, `subscriptions/listen`.

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson, Request};
use mcp_types::{Era, ProtocolVersion, error_code, method};

use super::{
    listen::{Filter, Listen},
    state::ClientSession,
    wire::Wire,
};
use crate::{
    call::ask::read_capabilities,
    error::BUSY,
    provide::header_params::decode_value,
    request::{Facts, Headers, MODERN, Meta},
    shared::{CachePolicy, unknown_method},
};

/// An error, and the HTTP status to send with it.
type Refusal = (ErrorObject, u16);

impl ClientSession {
    pub(super) fn modern(&mut self, request: &Request, meta: Meta, facts: &Facts) {
        let version = match self.admit(request, &meta, facts) {
            Ok(version) => version,
            Err((error, status)) => return self.refuse(&request.id, error, status),
        };
        let capabilities = meta.capabilities.as_ref().map(read_capabilities).unwrap_or_default();
        let wire = Wire { version, capabilities, log_level: meta.log_level, meta };
        match &*request.method {
            method::SERVER_DISCOVER => self.discover(request, version),
            method::SUBSCRIPTIONS_LISTEN => self.listen(request),
            method::INITIALIZE
            | method::PING
            | method::LOGGING_SET_LEVEL
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE => {
                self.refuse(&request.id, unknown_method(&request.method), 404);
            }
            _ => self.dispatch(request, wire),
        }
    }

    /// Checks that `_meta` is complete, and that the headers match the body:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>
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
            method::TOOLS_CALL | method::PROMPTS_GET => "name",
            method::RESOURCES_READ => "uri",
            _ => return Ok(()),
        };
        let params = request.params.clone().unwrap_or_else(RawJson::empty_object);
        let name: Option<String> = params.get(named_by).and_then(|name| name.decode().ok());
        let said = headers.name.as_deref().map(decode_value).transpose();
        if said.map_err(|()| "the header `Mcp-Name` is not valid Base64")? != name {
            return Err(format!("the header `Mcp-Name` does not match `params.{named_by}`"));
        }
        let tools = self.shared.tools();
        if let Some(tool) = name.filter(|_| request.method == method::TOOLS_CALL)
            && let Some(entry) = tools.get(&tool)
        {
            let arguments = params.get("arguments").unwrap_or_else(RawJson::empty_object);
            entry.header_params.check(&arguments, |header| headers.param(header))?;
        }
        Ok(())
    }

    fn discover(&mut self, request: &Request, version: ProtocolVersion) {
        let shared = self.shared.clone();
        let result = shared.result(version, CachePolicy::List, |result| {
            let versions: Vec<&str> = MODERN.iter().map(|version| version.as_str()).collect();
            // Cannot fail: strings can always be serialized.
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
        let filter = Filter::honoured(&wanted, &self.shared);
        let watches = filter.watch(&self.shared.watches);
        let id = request.id.clone();
        let listen = Listen { id, filter, _watches: watches, _permit: permit };
        let mut params = listen.params();
        params.raw("notifications", &listen.filter.to_json());
        let acknowledged = method::SUBSCRIPTIONS_ACKNOWLEDGED;
        self.notify(Some(&request.id), acknowledged, params.finish());
        self.listens.push(listen);
    }
}

fn mismatch(problem: &str) -> Refusal {
    (ErrorObject::new(error_code::HEADER_MISMATCH, problem), 400)
}

fn unsupported(requested: &str) -> Refusal {
    let mut data = ObjectWriter::new();
    let versions: Vec<&str> = MODERN.iter().map(|version| version.as_str()).collect();
    // Cannot fail: strings can always be serialized.
    let _ = data.member("supported", &versions);
    data.string("requested", requested);
    let message = "unsupported protocol version".into();
    (ErrorObject { code: error_code::UNSUPPORTED_VERSION, message, data: Some(data.finish()) }, 400)
}
