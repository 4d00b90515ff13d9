//! One exchange: the POST of a message, and its response.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, StatusCode};
use mcp_jsonrpc::{Delivery, Failure, Loss, Message, RequestId, Response as Answer};

use super::{
    awaited::Awaited,
    event_stream::EventDecoder,
    loss::{by_status, not_mcp, session_lost},
    protocol::{AfterStream, Content, LONGEST_REFUSAL, Next, Posted, Protocol, Refusal, Verdict},
    request::{OutgoingRequest, discard, send},
    response::{body, content, events, take_frame},
    server_stream,
    session::Session,
    sse_2024,
    vocabulary::{Description, Kind, SESSION},
};
use crate::{diagnostics::CloseReason, link::Inbound, net::response::Response};

/// How long an acknowledgement may delay the messages behind it.
const PATIENCE_FOR_ORDER: Duration = Duration::from_secs(10);

/// Posts a message and delivers the messages of the response.
pub(super) async fn run(
    session: &Arc<Session>,
    id: Option<&RequestId>,
    message: &Message,
    description: &Description,
) {
    let request = match outgoing(session, message, description) {
        Ok(request) => request,
        Err(loss) => return session.lose_any(id, loss),
    };
    let posted = Posted {
        kind: description.kind,
        is_request: id.is_some(),
        carried_session: request.headers.contains_key(SESSION),
    };
    let repeat = (posted.kind == Kind::Initialize).then(|| request.clone());
    let patience = request.patience;
    match send(session, request).await {
        Ok(response) => answered(session, id, posted, response, patience, repeat).await,
        Err(loss) => session.lose_any(id, loss),
    }
}

fn outgoing(
    session: &Session,
    message: &Message,
    description: &Description,
) -> Result<OutgoingRequest, Loss> {
    let settings = &session.settings;
    let mut body = Vec::with_capacity(256);
    message.write(&mut body);
    let posted = settings.posted.clone();
    let (headers, endpoint) = session.lock().protocol.post(message, description, posted)?;
    let limit = settings.options.post_timeout;
    let patience = match message {
        // The caller applies its timeout, and restarts it on progress.
        Message::Request(_) if description.is_call => None,
        Message::Request(_) => Some(limit),
        _ => Some(limit.min(PATIENCE_FOR_ORDER)),
    };
    Ok(OutgoingRequest {
        method: Method::POST,
        url: endpoint.unwrap_or_else(|| settings.url.clone()),
        headers,
        body: Some(Bytes::from(body)),
        patience,
    })
}

async fn answered(
    session: &Arc<Session>,
    id: Option<&RequestId>,
    posted: Posted,
    mut response: Response,
    patience: Option<Duration>,
    repeat: Option<OutgoingRequest>,
) {
    let (status, content) = (response.status(), content(&response));
    let next = session.lock().protocol.answered(posted, status, response.headers(), &content);
    let listen = match next {
        Next::SessionLost => {
            // A new session starts with another link, so that callers notice that the server's state is gone.
            session.lose_any(id, session_lost());
            return session.end(CloseReason::SessionLost);
        }
        Next::Taken { listen } => {
            discard(response).await;
            listen
        }
        Next::ReadAside { listen } => {
            // No response is expected. A body that arrives anyway must not delay other messages.
            let reader = session.clone();
            let key = session.exchanges.add(Box::pin(async move {
                let mut awaited = Awaited { is_answered: true, ..Awaited::default() };
                if content == Content::Json {
                    let _ = read_json(&reader, &mut awaited, &mut response, patience).await;
                } else {
                    let mut decoder = EventDecoder::new(reader.settings.options.max_message);
                    let _ = events(&reader, &mut response, &mut decoder, &mut awaited).await;
                }
            }));
            session.exchanges.start_later(key);
            listen
        }
        Next::ReadJson => {
            let mut awaited = awaited(id, posted);
            let read = read_json(session, &mut awaited, &mut response, patience).await;
            // Only on this path: building a loss allocates, and most responses are valid.
            return match read {
                Ok(()) if awaited.is_answered => {}
                Ok(()) => {
                    let reason = "the response does not match the request";
                    give_up(session, &awaited, not_mcp(Delivery::Unknown, reason));
                }
                Err(failure) => give_up(session, &awaited, failure),
            };
        }
        Next::ReadEvents => {
            return read_events(session, posted, awaited(id, posted), response).await;
        }
        Next::Lose(loss) => return session.lose_any(id, loss),
        Next::LoseByStatus => {
            session.lose_any(id, refusal(session, status, &response));
            return discard(response).await;
        }
        Next::ReadRefusal => {
            if let Some(id) = id {
                refused(session, id, posted, response, repeat).await;
            }
            return;
        }
    };
    if listen {
        server_stream::start(session).await;
    }
}

fn awaited(id: Option<&RequestId>, posted: Posted) -> Awaited {
    let is_initialize = posted.kind == Kind::Initialize;
    Awaited { id: id.cloned(), is_initialize, ..Awaited::default() }
}

/// Reports a failure to the caller, unless its response has arrived.
fn give_up(session: &Session, awaited: &Awaited, failure: impl Into<Failure>) {
    if let (Some(id), false) = (&awaited.id, awaited.is_answered) {
        session.lose(id.clone(), failure);
    }
}

async fn read_json(
    session: &Session,
    awaited: &mut Awaited,
    response: &mut Response,
    patience: Option<Duration>,
) -> Result<(), Failure> {
    let limit = session.settings.options.max_message;
    let body = body(&session.settings.url, response, limit, patience).await;
    if let Err(Failure::TooLarge { .. }) = body {
        session.lock().known.too_large += 1;
    }
    take_frame(session, &body?, awaited);
    Ok(())
}

/// Reads a response that is an event stream. On a legacy server it can be resumed after an interruption.
async fn read_events(
    session: &Arc<Session>,
    posted: Posted,
    mut awaited: Awaited,
    mut response: Response,
) {
    let limit = session.settings.options.max_message;
    let mut decoder = EventDecoder::new(limit);
    let ended = events(session, &mut response, &mut decoder, &mut awaited).await;
    drop(response);
    match Protocol::stream_over(posted, &awaited, decoder.last_id(), ended.err(), limit) {
        AfterStream::Done => {}
        AfterStream::Resume => {
            if let Err(loss) = server_stream::resume(session, &mut decoder, &mut awaited).await {
                give_up(session, &awaited, loss);
            }
        }
        AfterStream::Lose(failure) => give_up(session, &awaited, failure),
    }
}

/// Returns the loss for a refusal with this status.
fn refusal(session: &Session, status: StatusCode, response: &Response) -> Loss {
    let endpoint = session.lock().protocol.endpoint().cloned();
    by_status(endpoint.as_ref().unwrap_or(&session.settings.url), status, response.headers())
}

/// Handles a response that refuses a request.
async fn refused(
    session: &Arc<Session>,
    id: &RequestId,
    posted: Posted,
    mut response: Response,
    repeat: Option<OutgoingRequest>,
) {
    let status = response.status();
    let loss = refusal(session, status, &response);
    let patience = Some(session.settings.options.post_timeout);
    let url = &session.settings.url;
    let body = body(url, &mut response, LONGEST_REFUSAL, patience).await.unwrap_or_default();
    drop(response);
    let refusal = Protocol::refused(posted, status, loss, &body);
    let verdict = match (refusal, repeat) {
        (Refusal::SessionLost, _) => {
            session.lose(id.clone(), session_lost());
            return session.end(CloseReason::SessionLost);
        }
        (Refusal::TryOld(verdict), Some(request)) => match sse_2024::find(session).await {
            Ok(url) => return post_to_old(session, id, OutgoingRequest { url, ..request }).await,
            Err(_) => verdict,
        },
        (Refusal::TryOld(verdict) | Refusal::Settle(verdict), _) => verdict,
    };
    match verdict {
        Verdict::Answer(answer) => {
            let answer = Answer { id: Some(id.clone()), ..answer };
            session.deliver([Inbound::Message(Message::Response(answer))]);
        }
        Verdict::Lose(loss) => session.lose(id.clone(), loss),
    }
}

/// Posts a request to a server of 2024-11-05. The JSON-RPC response arrives on the server's stream.
async fn post_to_old(session: &Session, id: &RequestId, request: OutgoingRequest) {
    match send(session, request).await {
        Ok(response) if response.status().is_success() => discard(response).await,
        Ok(response) => {
            let loss = by_status(&session.settings.url, response.status(), response.headers());
            session.lose(id.clone(), loss);
        }
        Err(loss) => session.lose(id.clone(), loss),
    }
}
