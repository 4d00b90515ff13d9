//! Requests that only legacy clients send: `initialize`, `ping`, `logging/setLevel`, `resources/subscribe`.

use std::collections::HashMap;

use mcp_jsonrpc::{ErrorObject, ObjectWriter, RawJson, Request};
use mcp_types::{Era, LogLevel, ProtocolVersion, method};

use super::{dispatch::member, session::Session, state::ClientSession, wire::Wire};
use crate::{
    call::ask::read_capabilities,
    error::{BUSY, ServeError},
    request::Meta,
    shared::unknown_method,
};

impl ClientSession {
    pub(super) fn legacy(&mut self, request: &Request, mut meta: Meta) {
        if request.method == method::PING {
            return self.answer(&request.id, RawJson::empty_object());
        }
        if request.method == method::INITIALIZE {
            return self.initialize(request);
        }
        let Some(session) = &self.session else {
            let message =
                "the first request must be `initialize`, or carry the `_meta` of 2026-07-28";
            let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, message);
            return self.refuse(&request.id, error, 400);
        };
        meta.client_info.clone_from(&session.client_info);
        let wire = Wire {
            version: session.version,
            capabilities: session.capabilities.clone(),
            log_level: None,
            meta,
        };
        let settled = match &*request.method {
            method::LOGGING_SET_LEVEL if self.shared.options.logging => self.set_level(request),
            method::RESOURCES_SUBSCRIBE if self.shared.resources.is_offered() => {
                self.subscribe(request, true)
            }
            method::RESOURCES_UNSUBSCRIBE if self.shared.resources.is_offered() => {
                self.subscribe(request, false)
            }
            method::SERVER_DISCOVER | method::SUBSCRIPTIONS_LISTEN => {
                return self.refuse(&request.id, unknown_method(&request.method), 200);
            }
            _ => return self.dispatch(request, wire),
        };
        match settled {
            Ok(()) => self.answer(&request.id, RawJson::empty_object()),
            Err(error) => self.refuse(&request.id, error.into_object(false), 200),
        }
    }

    fn initialize(&mut self, request: &Request) {
        if self.session.is_some() {
            let message = "this session is already initialized";
            let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, message);
            return self.refuse(&request.id, error, 400);
        }
        let wanted: Result<String, _> = member(request, "protocolVersion");
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(error) => return self.refuse(&request.id, error.into_object(false), 400),
        };
        // For an unknown revision, or one without sessions, offer the newest with sessions:
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation>
        let version = ProtocolVersion::parse(&wanted)
            .filter(|version| version.era() == Era::Legacy)
            .unwrap_or(ProtocolVersion::NEWEST_LEGACY);
        let member = |name| request.params.as_ref().and_then(|params| params.get(name));
        let declared = member("capabilities");
        self.session = Some(Session {
            version,
            is_initialized: false,
            capabilities: declared.as_ref().map(read_capabilities).unwrap_or_default(),
            client_info: member("clientInfo").map(|info| info.detached()),
            log_level: LogLevel::Info,
            subscriptions: HashMap::new(),
        });
        let options = &self.shared.options;
        let mut result = ObjectWriter::with_capacity(512);
        result.string("protocolVersion", version.as_str());
        result.raw("capabilities", &self.shared.capabilities(Era::Legacy));
        // Cannot fail: all members are strings and raw JSON.
        let _ = result.member("serverInfo", &options.server_info);
        if let Some(instructions) = &options.instructions {
            result.string("instructions", instructions);
        }
        self.answer(&request.id, result.finish());
    }

    fn set_level(&mut self, request: &Request) -> Result<(), ServeError> {
        let level: String = member(request, "level")?;
        let level = LogLevel::parse(&level)
            .ok_or_else(|| ServeError::InvalidParams(format!("unknown level `{level}`")))?;
        if let Some(session) = &mut self.session {
            session.log_level = level;
        }
        Ok(())
    }

    fn subscribe(&mut self, request: &Request, wanted: bool) -> Result<(), ServeError> {
        let uri: String = member(request, "uri")?;
        let limit = self.shared.options.max_subscriptions;
        let Some(session) = &mut self.session else { return Ok(()) };
        if !wanted {
            session.subscriptions.remove(&uri);
        } else if session.subscriptions.len() < limit {
            let watch = self.shared.watches.watch(&uri);
            session.subscriptions.insert(uri, watch);
        } else {
            let message = format!("more than {limit} subscriptions");
            return Err(ServeError::Rpc(ErrorObject::new(BUSY, message)));
        }
        Ok(())
    }
}
