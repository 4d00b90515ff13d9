//! The rules of Streamable HTTP: sessions, eras, refusals, and the fallback to the transport of 2024-11-05.
//!
//! Plain state without I/O: messages and the heads of responses go in, headers and decisions come out. The async
//! modules of this folder carry the decisions out.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use mcp_jsonrpc::{
    Delivery, ErrorClass, Failure, FailureCause, Loss, Message, RawJson, Request,
    Response as Answer,
    wire::{Decoded, decode},
};
use mcp_types::{error_code, method};
use url::Url;

use super::{
    awaited::Awaited,
    header_params::HeaderParam,
    header_value::header_value,
    loss::{lost, not_mcp, permanent, session_lost},
    vocabulary::{
        Description, Kind, LAST_EVENT_ID, METHOD, NAME, SESSION, VERSION, agreed_version,
    },
};

/// The bodies of refusals are not read beyond this length.
pub(super) const LONGEST_REFUSAL: usize = 64 * 1024;
const SESSION_WORD: &[u8] = b"session";
/// Longer session ids are rejected: legitimate servers do not send them.
const LONGEST_SESSION: usize = 1024;
/// The number of tools with header parameters that are remembered.
const MOST_TOOLS: usize = 100_000;

/// The state of the exchange with one server.
#[derive(Default)]
pub(super) struct Protocol {
    /// The session of a legacy server, and the negotiated revision.
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The revision that the last request to a modern server named.
    modern_version: Option<HeaderValue>,
    /// The server has accepted a GET for a stream before.
    has_streams: bool,
    /// The URL that a 2024-11-05 server accepts messages at.
    endpoint: Option<Url>,
    /// Tools with header parameters, or why those are invalid.
    tools: HashMap<String, Result<Arc<[HeaderParam]>, String>>,
}

/// A message that was posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) kind: Kind,
    pub(super) is_request: bool,
    pub(super) carried_session: bool,
}

/// The kind of body of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    None,
    Json,
    Events,
    /// Any other kind, described.
    Other(String),
}

/// How to handle the response to a POST.
#[derive(Debug)]
pub(super) enum Next {
    /// The session has ended, and so has the link.
    SessionLost,
    /// The server accepted the message. Its response arrives elsewhere, or it has none.
    Taken { listen: bool },
    /// The server accepted a message without a response, and still sent a body.
    ReadAside { listen: bool },
    /// The body is the JSON-RPC response.
    ReadJson,
    /// The body is a stream that contains the JSON-RPC response.
    ReadEvents,
    /// The body is not a JSON-RPC response.
    Lose(Loss),
    /// The server refused the message, and the body is not needed.
    LoseByStatus,
    /// The server refused the request. The body contains the reason, up to [`LONGEST_REFUSAL`].
    ReadRefusal,
}

/// How to handle a refused request.
#[derive(Debug)]
pub(super) enum Refusal {
    SessionLost,
    /// Try to find a 2024-11-05 server first, and post the request to it.
    TryOld(Verdict),
    Settle(Verdict),
}

/// The outcome of a refused request.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The body contains an error response to the request.
    Answer(Answer),
    Lose(Loss),
}

/// How to proceed when the stream of a response has ended.
#[derive(Debug)]
pub(super) enum AfterStream {
    Done,
    /// Open it again after its last event.
    Resume,
    Lose(Failure),
}

impl Protocol {
    /// Returns the headers of a POST, based on those of every POST, and its URL if it differs from the configured
    /// one.
    pub(super) fn post(
        &mut self,
        message: &Message,
        description: &Description,
        mut headers: HeaderMap,
    ) -> Result<(HeaderMap, Option<Url>), Loss> {
        let kind = description.kind;
        if self.endpoint.is_none() && !kind.is_modern() && kind != Kind::Initialize {
            self.name_session(&mut headers);
        }
        if let (Message::Request(request), Some(version)) = (message, &description.version) {
            self.modern_headers(request, version, description, &mut headers)?;
        }
        Ok((headers, self.endpoint.clone()))
    }

    /// Adds the headers that tell a legacy server the session and the revision.
    ///
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>, <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header>
    pub(super) fn name_session(&self, headers: &mut HeaderMap) {
        if let Some(version) = &self.version {
            headers.insert(VERSION, version.clone());
        }
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
    }

    /// Adds the headers that let a modern server, and gateways before it, route a request without its body.
    ///
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#standard-request-headers>
    fn modern_headers(
        &mut self,
        request: &Request,
        version: &str,
        description: &Description,
        headers: &mut HeaderMap,
    ) -> Result<(), Loss> {
        let unfit = |what: &str| {
            let reason = format!("the {what} has characters that no header can have");
            permanent(FailureCause::Local, reason)
        };
        // All requests of a client name the same version, and nearly all methods are constants.
        let version = match &self.modern_version {
            Some(known) if known == version => known.clone(),
            _ => HeaderValue::from_str(version).map_err(|_| unfit("protocol version"))?,
        };
        let method = match &request.method {
            Cow::Borrowed(method) => Bytes::from_static(method.as_bytes()),
            Cow::Owned(method) => Bytes::copy_from_slice(method.as_bytes()),
        };
        let method = HeaderValue::from_maybe_shared(method).map_err(|_| unfit("method"))?;
        headers.insert(VERSION, version.clone());
        self.modern_version = Some(version);
        headers.insert(METHOD, method);
        let Some(name) = &description.name else { return Ok(()) };
        headers.insert(NAME, header_value(name));
        if request.method != method::TOOLS_CALL {
            return Ok(());
        }
        let refused = |why: &String| permanent(FailureCause::Local, why.as_str());
        let Some(params) = self.tools.get(name) else { return Ok(()) };
        let empty = RawJson::empty_object();
        let arguments = description.arguments.as_ref().unwrap_or(&empty);
        for param in params.as_ref().map_err(refused)?.iter() {
            headers.extend(param.header(arguments).map_err(|why| refused(&why))?);
        }
        Ok(())
    }

    /// Stores which arguments of a tool are sent in headers.
    pub(super) fn register_header_params(
        &mut self,
        name: &str,
        params: Result<Vec<HeaderParam>, String>,
    ) {
        if params.as_ref().is_ok_and(Vec::is_empty) {
            self.tools.remove(name);
        } else if self.tools.len() < MOST_TOOLS {
            self.tools.insert(name.to_owned(), params.map(Into::into));
        }
    }

    /// Handles the head of a response to a POST.
    pub(super) fn answered(
        &mut self,
        posted: Posted,
        status: StatusCode,
        headers: &HeaderMap,
        content: &Content,
    ) -> Next {
        // A 2024-11-05 server puts its session into the endpoint's URL.
        let has_session = posted.carried_session || self.endpoint.is_some();
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>
        if status == StatusCode::NOT_FOUND && has_session {
            return Next::SessionLost;
        }
        if !status.is_success() {
            let has_reason = posted.is_request && self.endpoint.is_none();
            return if has_reason { Next::ReadRefusal } else { Next::LoseByStatus };
        }
        if self.endpoint.is_some() {
            return Next::Taken { listen: false };
        }
        if posted.kind == Kind::Initialize
            && let Err(loss) = self.begin_session(headers.get(SESSION))
        {
            return Next::Lose(loss);
        }
        // Once the session is open, the server may offer a stream for its messages:
        // <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server>
        let listen = posted.kind == Kind::Initialized;
        match content {
            Content::None | Content::Other(_) if !posted.is_request => Next::Taken { listen },
            _ if !posted.is_request => Next::ReadAside { listen },
            Content::None => Next::Lose(not_mcp(Delivery::Unknown, "the response is empty")),
            Content::Json => Next::ReadJson,
            Content::Events => Next::ReadEvents,
            Content::Other(what) => {
                let reason = format!("the response has a body {what}, which is not MCP");
                Next::Lose(not_mcp(Delivery::Unknown, reason))
            }
        }
    }

    /// Opens a session. A legacy server may send its id.
    fn begin_session(&mut self, session: Option<&HeaderValue>) -> Result<(), Loss> {
        if let Some(session) = session {
            let bytes = session.as_bytes();
            let problem = if bytes.len() > LONGEST_SESSION {
                format!("is longer than {LONGEST_SESSION} bytes")
            // <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management>
            } else if bytes.iter().all(|byte| (0x21..=0x7e).contains(byte)) {
                String::new()
            } else {
                "has characters that no session id may have".into()
            };
            if !problem.is_empty() {
                let reason = format!("the server's session id {problem}");
                return Err(not_mcp(Delivery::Executed, reason));
            }
        }
        self.session = session.cloned();
        if let Some(session) = &mut self.session {
            // A session id grants access to the session, so HTTP/2 must not index it and logs must not show it.
            session.set_sensitive(true);
        }
        Ok(())
    }

    /// Handles the result of `initialize`: every later request names its revision.
    pub(super) fn initialized(&mut self, result: &RawJson) {
        self.version = agreed_version(result);
    }

    /// Handles a refusal with this body; `loss` describes its status.
    pub(super) fn refused(posted: Posted, status: StatusCode, loss: Loss, body: &Bytes) -> Refusal {
        // The specification requires 404 (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).
        // The example of the TypeScript SDK, and servers derived from it, respond to
        // an unknown session as to a request without one.
        let is_about_session =
            || body.windows(SESSION_WORD.len()).any(|part| part.eq_ignore_ascii_case(SESSION_WORD));
        if posted.carried_session && status == StatusCode::BAD_REQUEST && is_about_session() {
            return Refusal::SessionLost;
        }
        let error = error_in(body);
        let is_modern = error.as_ref().is_some_and(
            |answer| matches!(&answer.outcome, Err(error) if error_code::is_modern(error.code)),
        );
        let is_permanent = loss.class == ErrorClass::Permanent;
        // A busy server may send a JSON-RPC error too, but the status has the delay for a retry.
        let is_busy = matches!(status.as_u16(), 429 | 503);
        let proves_nothing = posted.kind == Kind::Probe && loss.class == ErrorClass::Transient;
        let verdict = match error {
            Some(answer) if is_modern || !(is_busy || proves_nothing) => Verdict::Answer(answer),
            _ => Verdict::Lose(loss),
        };
        // A client error to `initialize` may come from a server that supports only the transport of 2024-11-05:
        // https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
        if posted.kind == Kind::Initialize && !is_modern && is_permanent {
            return Refusal::TryOld(verdict);
        }
        Refusal::Settle(verdict)
    }

    /// Handles the end of a stream that was to contain a response. `loss` is set if it broke. A legacy stream is
    /// resumed if its events have ids.
    ///
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery>
    pub(super) fn stream_over(
        posted: Posted,
        awaited: &Awaited,
        last_id: &str,
        loss: Option<Loss>,
        limit: usize,
    ) -> AfterStream {
        // A modern stream cannot be resumed: its request is lost.
        // <https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#receiving-messages>
        let is_resumable = !posted.kind.is_modern() && !last_id.is_empty();
        match (loss, awaited.too_large) {
            _ if awaited.is_answered => AfterStream::Done,
            (None, Some(size)) => AfterStream::Lose(Failure::TooLarge { size, limit }),
            _ if is_resumable => AfterStream::Resume,
            (Some(loss), _) => AfterStream::Lose(loss.into()),
            (None, None) => {
                let reason = "the stream ended before the response";
                AfterStream::Lose(lost(FailureCause::CutOff, reason).into())
            }
        }
    }

    /// Returns the headers of a GET for a legacy stream, and whether they name a session.
    pub(super) fn get(&self, mut headers: HeaderMap, last_id: &str) -> (HeaderMap, bool) {
        ask_for_events(&mut headers);
        self.name_session(&mut headers);
        if let (false, Ok(id)) = (last_id.is_empty(), HeaderValue::from_bytes(last_id.as_bytes())) {
            headers.insert(LAST_EVENT_ID, id);
        }
        (headers, self.session.is_some())
    }

    /// Handles the head of the response to such a GET; `loss` describes the status as a refusal.
    pub(super) fn stream_answered(
        &mut self,
        status: StatusCode,
        content: &Content,
        carried_session: bool,
        loss: impl FnOnce() -> Loss,
    ) -> Result<(), Loss> {
        if status.is_success() {
            if *content == Content::Events {
                self.has_streams = true;
                return Ok(());
            }
            let mut loss = loss();
            (loss.class, loss.cause) = (ErrorClass::Permanent, FailureCause::NotMcp);
            return Err(loss);
        }
        // A server that never offered a stream uses these statuses to say that it has none.
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST);
        if is_gone && carried_session && self.has_streams {
            return Err(session_lost());
        }
        Err(loss())
    }

    /// Records that the server is one of 2024-11-05, and where it accepts messages.
    pub(super) fn found_old(&mut self, endpoint: Url) {
        self.endpoint = Some(endpoint);
    }

    /// The URL at which a 2024-11-05 server accepts messages. Its responses arrive on its one stream.
    pub(super) fn endpoint(&self) -> Option<&Url> {
        self.endpoint.as_ref()
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }
}

/// Adds the headers of a request for an event stream.
pub(super) fn ask_for_events(headers: &mut HeaderMap) {
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// Returns the error response in a body.
fn error_in(body: &Bytes) -> Option<Answer> {
    match decode(body) {
        Ok(Decoded::One(Message::Response(answer))) if answer.outcome.is_err() => Some(answer),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
