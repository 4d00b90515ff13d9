//! Streams of legacy servers: the one for messages without a request, and resumed ones.
//!
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server>

use std::{sync::Arc, time::Duration};

use http::Method;
use mcp_jsonrpc::{ErrorClass, Loss};
use tokio::sync::oneshot;

use super::{
    awaited::Awaited,
    event_stream::EventDecoder,
    loss::by_status,
    reconnect::{Resumption, ServerStream, Stop},
    request::{OutgoingRequest, discard, send},
    response::{content_type, events},
    session::Session,
};
use crate::{diagnostics::CloseReason, net::response::Response};

/// How long other messages wait for the stream to open. Some servers do not send response headers before they have a
/// message, and some send their first request as soon as they receive a call.
const HEAD_START: Duration = Duration::from_millis(150);

/// Opens the stream for messages that a legacy server sends without a request, and waits briefly until it is open.
pub(super) async fn start(session: &Arc<Session>) {
    let (opened, open) = oneshot::channel();
    let key = session.exchanges.add(Box::pin(keep(session.clone(), opened)));
    session.exchanges.start_later(key);
    let _ = tokio::time::timeout(HEAD_START, open).await;
}

/// Keeps the stream open for as long as the server offers it.
async fn keep(session: Arc<Session>, opened: oneshot::Sender<()>) {
    let mut opened = Some(opened);
    let mut decoder = EventDecoder::new(session.settings.options.max_message);
    let mut stream = ServerStream::default();
    loop {
        match get(&session, decoder.last_id()).await {
            Ok(mut response) => {
                drop(opened.take());
                stream.opened();
                decoder = after(&decoder, &session);
                let mut nothing = Awaited::default();
                let _ = events(&session, &mut response, &mut decoder, &mut nothing).await;
            }
            Err(loss) => match stream.failed(&loss) {
                Err(Stop::SessionLost) => return session.end(CloseReason::SessionLost),
                Err(Stop::NotOffered) => {
                    tracing::debug!(reason = &*loss.reason, "the server offers no event stream");
                    return;
                }
                Ok(()) => {
                    tracing::debug!(
                        reason = &*loss.reason,
                        ?stream,
                        "event stream disconnected, retrying"
                    );
                    session.end_if_unreachable();
                }
            },
        }
        drop(opened.take());
        tokio::time::sleep(stream.pause(decoder.retry())).await;
    }
}

/// Resumes a stream that ended before its response.
///
/// # Errors
/// The response will not arrive.
pub(super) async fn resume(
    session: &Arc<Session>,
    decoder: &mut EventDecoder,
    awaited: &mut Awaited,
) -> Result<(), Loss> {
    let mut resumption = Resumption::default();
    while !awaited.is_answered {
        tokio::time::sleep(resumption.pause(decoder.retry())?).await;
        match get(session, decoder.last_id()).await {
            Ok(mut response) => {
                let before = decoder.last_id().to_owned();
                *decoder = after(decoder, session);
                let _ = events(session, &mut response, decoder, awaited).await;
                resumption.ended(decoder.last_id() != before);
            }
            Err(loss) => {
                if loss.class == ErrorClass::Session {
                    session.end(CloseReason::SessionLost);
                }
                resumption.failed(loss)?;
            }
        }
    }
    Ok(())
}

/// Creates a decoder for a new stream that resumes another one.
fn after(decoder: &EventDecoder, session: &Session) -> EventDecoder {
    EventDecoder::after(decoder, session.settings.options.max_message)
}

/// Opens an event stream.
async fn get(session: &Session, last_id: &str) -> Result<Response, Loss> {
    let headers = session.settings.headers.clone();
    let (headers, carried_session) = session.lock().protocol.get(headers, last_id);
    let url = &session.settings.url;
    let response = send(session, OutgoingRequest::new(Method::GET, url.clone(), headers)).await?;
    let (status, content) = (response.status(), content_type(&response));
    let loss = || by_status(url, status, response.headers());
    let fit = session.lock().protocol.stream_answered(status, &content, carried_session, loss);
    match fit {
        Ok(()) => Ok(response),
        Err(loss) => {
            discard(response).await;
            Err(loss)
        }
    }
}
