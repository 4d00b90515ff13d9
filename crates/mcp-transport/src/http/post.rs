//! One message on its way to the server, and what comes back for it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use mcp_jsonrpc::{
    Decoded, Delivery, ErrorClass, Failure, Loss, Message, RawJson, Request, RequestId,
    Response as Answer, Trouble, decode,
};
use memchr::memmem;

use super::{
    answer::{Awaited, Body, StreamEnd, lost, session_lost},
    ask::{Ask, by_status, discard},
    client::Response,
    events::EventDecoder,
    listen, old,
    state::Shared,
    value::header_value,
};
use crate::diagnostics::CloseReason;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Bodies of refusals are not read beyond this.
const LONGEST_REFUSAL: usize = 64 * 1024;
const SESSION_WORD: &[u8] = b"session";
/// Session ids longer than this come from no honest server.
const LONGEST_SESSION: usize = 1024;
/// How long an acknowledgement may hold up what is to be sent in order behind it.
const PATIENCE_FOR_ORDER: Duration = Duration::from_secs(10);

/// A message, ready to be sent.
pub(super) struct Post {
    pub(super) id: Option<RequestId>,
    pub(super) kind: Kind,
    ask: Ask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A request that says itself how it is to be understood.
    Modern,
    /// The question whether the server is a modern one.
    Probe,
    /// The first request to a legacy server.
    Initialize,
    /// What tells it that we are ready.
    Initialized,
    /// Anything else between a legacy server and us.
    Legacy,
}

impl Post {
    pub(super) fn new(
        shared: &Shared,
        message: &Message,
        (kind, version): (Kind, Option<String>),
    ) -> Result<Self, Loss> {
        let mut body = Vec::with_capacity(256);
        message.write(&mut body);
        let mut headers = shared.settings.posted.clone();
        let state = shared.lock();
        let url = state.endpoint.as_ref().unwrap_or(&shared.settings.url).clone();
        if state.endpoint.is_none()
            && !matches!(kind, Kind::Modern | Kind::Probe | Kind::Initialize)
        {
            state.name_session(&mut headers);
        }
        drop(state);
        let mut id = None;
        if let Message::Request(request) = message {
            id = Some(request.id.clone());
            if let Some(version) = version {
                modern_headers(shared, request, &version, &mut headers)?;
            }
        }
        let patience = match id {
            Some(_) => shared.settings.options.post_timeout,
            None => shared.settings.options.post_timeout.min(PATIENCE_FOR_ORDER),
        };
        let body = Some(Bytes::from(body));
        let ask = Ask { method: Method::POST, url, headers, body, patience: Some(patience) };
        Ok(Self { id, kind, ask })
    }
}

/// What a message is, and the revision it names if it is modern.
pub(super) fn kind_of(message: &Message) -> (Kind, Option<String>) {
    match message {
        Message::Request(request) => match version_of(request) {
            None if request.method == "initialize" => (Kind::Initialize, None),
            None => (Kind::Legacy, None),
            version if request.method == "server/discover" => (Kind::Probe, version),
            version => (Kind::Modern, version),
        },
        Message::Notification(note) if note.method == "notifications/initialized" => {
            (Kind::Initialized, None)
        }
        _ => (Kind::Legacy, None),
    }
}

/// The revision a modern request names.
fn version_of(request: &Request) -> Option<String> {
    let params = request.params.as_ref()?;
    // What does not hold the word anywhere need not be taken apart.
    memmem::find(params.as_str().as_bytes(), b"protocolVersion")?;
    params.get("_meta")?.get(META_VERSION)?.decode().ok()
}

/// What a modern server, and everything on the way to it, wants to know without reading the body.
fn modern_headers(
    shared: &Shared,
    request: &Request,
    version: &str,
    headers: &mut HeaderMap,
) -> Result<(), Loss> {
    let unfit = |what: &str| {
        let reason = format!("the {what} has characters that no header can have");
        Loss::new(Delivery::NotSent, ErrorClass::Permanent, Trouble::Local, reason)
    };
    let version = HeaderValue::from_str(version).map_err(|_| unfit("protocol version"))?;
    headers.insert(VERSION, version);
    let method = HeaderValue::from_str(&request.method).map_err(|_| unfit("method"))?;
    headers.insert(METHOD, method);
    let Some(params) = &request.params else { return Ok(()) };
    let member = match &*request.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    let Some(name) = params.get(member).and_then(|name| name.decode::<String>().ok()) else {
        return Ok(());
    };
    headers.insert(NAME, header_value(&name));
    let annotations = match &*request.method {
        "tools/call" => shared.lock().tools.get(&name).cloned().transpose(),
        _ => Ok(None),
    };
    let refused = |why| Loss::new(Delivery::NotSent, ErrorClass::Permanent, Trouble::Local, why);
    let Some(annotations) = annotations.map_err(refused)? else { return Ok(()) };
    let arguments = params.get("arguments").unwrap_or_else(RawJson::empty_object);
    for annotation in annotations.iter() {
        headers.extend(annotation.header(&arguments).map_err(refused)?);
    }
    Ok(())
}

/// Sends a message and hands over whatever comes back for it.
pub(super) async fn run(shared: &Arc<Shared>, post: Post) {
    let Post { id, kind, ask } = post;
    let carried_session = ask.headers.contains_key(SESSION);
    let repeat = (kind == Kind::Initialize).then(|| ask.clone());
    let response = match shared.ask(ask).await {
        Ok(response) => response,
        Err(loss) => return shared.lose_any(id.as_ref(), loss),
    };
    let status = response.status();
    let endpoint = shared.lock().endpoint.clone();
    // An old server names its session in the endpoint.
    if status == StatusCode::NOT_FOUND && (carried_session || endpoint.is_some()) {
        shared.lose_any(id.as_ref(), session_lost());
        return shared.end(CloseReason::SessionLost);
    }
    if let Some(endpoint) = endpoint {
        // Its answers come on the stream it opened.
        if !status.is_success() {
            shared.lose_any(id.as_ref(), by_status(&endpoint, &response));
        }
        return discard(response).await;
    }
    if status.is_success() {
        return accepted(shared, id, kind, response).await;
    }
    refused(shared, id, kind, response, repeat, carried_session).await;
}

/// The server took it.
async fn accepted(shared: &Arc<Shared>, id: Option<RequestId>, kind: Kind, response: Response) {
    if kind == Kind::Initialize
        && let Err(loss) = begin_session(shared, &response)
    {
        return shared.lose_any(id.as_ref(), loss);
    }
    let has_body = response.status() != StatusCode::ACCEPTED
        && response.status() != StatusCode::NO_CONTENT
        && response.content_length() != Some(0);
    let opens = kind == Kind::Initialize;
    let awaited = Awaited { answered: id.is_none(), id, opens, too_large: None };
    if awaited.id.is_some() {
        return read(shared, kind, awaited, response, has_body).await;
    }
    if !has_body || matches!(Body::of(&response), Body::Other(_)) {
        discard(response).await;
    } else {
        // Nothing is meant to come, and what comes all the same holds up nobody.
        let reader = shared.clone();
        let key = shared.exchanges.add(Box::pin(async move {
            read(&reader, kind, awaited, response, has_body).await;
        }));
        shared.exchanges.start_later(key);
    }
    if kind == Kind::Initialized {
        listen::start(shared).await;
    }
}

/// Reads the answer.
async fn read(
    shared: &Arc<Shared>,
    kind: Kind,
    mut awaited: Awaited,
    mut response: Response,
    has_body: bool,
) {
    match Body::of(&response) {
        _ if !has_body => {}
        Body::Json => match shared.body(&mut response, shared.settings.options.max_message).await {
            Ok(body) => shared.take_frame(&body, &mut awaited),
            Err(failure) => {
                if let Failure::TooLarge { .. } = failure {
                    shared.lock().known.too_large += 1;
                }
                return give_up(shared, &awaited, failure);
            }
        },
        Body::Events => return stream(shared, kind, awaited, response).await,
        Body::Other(what) => {
            let reason = format!("the server answered with a body {what}, which is no MCP");
            return give_up(shared, &awaited, not_mcp(Delivery::Unknown, reason));
        }
    }
    if !awaited.answered {
        let reason =
            if has_body { "the answer is not one to this request" } else { "the answer is empty" };
        give_up(shared, &awaited, not_mcp(Delivery::Unknown, reason));
    }
}

fn not_mcp(delivery: Delivery, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(delivery, ErrorClass::Permanent, Trouble::NotMcp, reason)
}

fn give_up(shared: &Shared, awaited: &Awaited, failure: impl Into<Failure>) {
    if let (Some(id), false) = (&awaited.id, awaited.answered) {
        shared.lose(id.clone(), failure);
    }
}

/// An answer in the form of a stream. A legacy one may break off and be taken up again.
async fn stream(shared: &Arc<Shared>, kind: Kind, mut awaited: Awaited, mut response: Response) {
    let mut decoder = EventDecoder::new(shared.settings.options.max_message);
    let end = shared.events(&mut response, &mut decoder, &mut awaited).await;
    if awaited.answered {
        return;
    }
    let resumable = !matches!(kind, Kind::Modern | Kind::Probe) && !decoder.last_id().is_empty();
    drop(response);
    if let (StreamEnd::Ended, Some(size)) = (&end, awaited.too_large) {
        let limit = shared.settings.options.max_message;
        return give_up(shared, &awaited, Failure::TooLarge { size, limit });
    }
    let loss = match end {
        _ if resumable => listen::resume(shared, &mut decoder, &mut awaited).await,
        StreamEnd::Broken(loss) => Some(loss),
        StreamEnd::Ended => {
            let reason = "the server ended its answer before it was complete";
            Some(lost(Trouble::CutOff, reason))
        }
    };
    if let Some(loss) = loss {
        give_up(shared, &awaited, loss);
    }
}

/// A legacy server may give us a name to use from now on.
fn begin_session(shared: &Shared, response: &Response) -> Result<(), Loss> {
    let session = response.headers().get(SESSION);
    if let Some(session) = session {
        let bytes = session.as_bytes();
        let problem = if bytes.len() > LONGEST_SESSION {
            format!("is longer than {LONGEST_SESSION} bytes")
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
    let mut session = session.cloned();
    if let Some(session) = &mut session {
        session.set_sensitive(true);
    }
    shared.lock().session = session;
    Ok(())
}

/// The server did not take it.
async fn refused(
    shared: &Arc<Shared>,
    id: Option<RequestId>,
    kind: Kind,
    mut response: Response,
    repeat: Option<Ask>,
    carried_session: bool,
) {
    let status = response.status();
    let loss = by_status(&shared.settings.url, &response);
    let Some(id) = id else { return shared.lose_any(None, loss) };
    let body = match shared.body(&mut response, LONGEST_REFUSAL).await {
        Ok(body) => body,
        Err(_) => Bytes::new(),
    };
    drop(response);
    // The specification asks for 404. The example of the TypeScript SDK, and whoever copied it,
    // answers to a session it does not know as to a request without one.
    if carried_session && status == StatusCode::BAD_REQUEST && is_about_session(&body) {
        shared.lose(id, session_lost());
        return shared.end(CloseReason::SessionLost);
    }
    let error = error_in(&body);
    let is_modern = error.as_ref().is_some_and(
        |answer| matches!(&answer.outcome, Err(error) if (-32022..=-32020).contains(&error.code)),
    );
    // A client error to `initialize` may come from a server that only knows the transport of 2024-11-05.
    if let Some(ask) = repeat.filter(|_| !is_modern && loss.class == ErrorClass::Permanent)
        && let Ok(endpoint) = old::find(shared).await
    {
        let ask = Ask { url: endpoint, ..ask };
        return match shared.ask(ask).await {
            Ok(response) if response.status().is_success() => discard(response).await,
            Ok(response) => shared.lose(id, by_status(&shared.settings.url, &response)),
            Err(loss) => shared.lose(id, loss),
        };
    }
    let busy = matches!(status.as_u16(), 429 | 503);
    let proves_nothing = kind == Kind::Probe && loss.class == ErrorClass::Transient;
    match error {
        Some(answer) if is_modern || !(busy || proves_nothing) => shared.answer(&id, answer),
        _ => shared.lose(id, loss),
    }
}

fn is_about_session(body: &Bytes) -> bool {
    body.windows(SESSION_WORD.len()).any(|part| part.eq_ignore_ascii_case(SESSION_WORD))
}

/// The error that a body holds.
fn error_in(body: &Bytes) -> Option<Answer> {
    match decode(body) {
        Ok(Decoded::One(Message::Response(answer))) if answer.outcome.is_err() => Some(answer),
        _ => None,
    }
}
