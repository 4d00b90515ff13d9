//! HTTP with SSE, as of 2024-11-05: one stream for the server's messages, and an endpoint for ours.
//!
//! <https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse>

use std::sync::Arc;

use http::Method;
use mcp_jsonrpc::{Delivery, FailureCause, Loss};
use url::Url;

use super::{
    awaited::Awaited,
    event_stream::{Event, EventDecoder},
    loss::{broken, by_status, not_mcp, transient},
    protocol::{Content, ask_for_events},
    request::{OutgoingRequest, discard, send},
    response::{content_type, events, take_event},
    session::Session,
};
use crate::{
    diagnostics::CloseReason,
    net::{origin::resolve, response::Response},
};

/// Opens the stream and waits for its endpoint. From then on the link uses this transport.
pub(super) async fn find(session: &Arc<Session>) -> Result<Url, Loss> {
    let limit = session.settings.options.endpoint_timeout;
    let Ok(found) = tokio::time::timeout(limit, first_event(session)).await else {
        let reason = format!("the stream of events named no endpoint within {limit:?}");
        return Err(transient(FailureCause::TimedOut, reason));
    };
    let Opened { response, decoder, rest, endpoint } = found?;
    session.lock().protocol.found_old(endpoint.clone());
    for event in rest {
        take_event(session, event, &mut Awaited::default());
    }
    let key = session.exchanges.add(Box::pin(read(session.clone(), response, decoder)));
    session.exchanges.start_later(key);
    Ok(endpoint)
}

struct Opened {
    response: Response,
    decoder: EventDecoder,
    /// Events that arrived after the endpoint.
    rest: Vec<Event>,
    endpoint: Url,
}

async fn first_event(session: &Session) -> Result<Opened, Loss> {
    let permanent = |reason: String| not_mcp(Delivery::NotSent, reason);
    let url = session.settings.url.clone();
    let mut headers = session.settings.headers.clone();
    ask_for_events(&mut headers);
    let request = OutgoingRequest::new(Method::GET, url.clone(), headers);
    let mut response = send(session, request).await?;
    if !response.status().is_success() {
        let loss = by_status(&url, response.status(), response.headers());
        discard(response).await;
        return Err(loss);
    }
    if content_type(&response) != Content::Events {
        return Err(permanent("the response is not an event stream".into()));
    }
    let mut decoder = EventDecoder::new(session.settings.options.max_message);
    let mut events = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => decoder.push(chunk, &mut events),
            // A server that is starting or stopping does this too, so the failure is transient.
            Ok(None) => {
                let reason = "the stream of events ended before it named an endpoint";
                return Err(transient(FailureCause::CutOff, reason));
            }
            Err(error) => return Err(broken(&url, &error)),
        }
        // Ignore blocks without data.
        let said = |event: &Event| matches!(event, Event::Block { data: Some(_), .. });
        let Some(first) = events.iter().position(said) else {
            events.clear();
            continue;
        };
        let rest = events.split_off(first + 1);
        let Some(Event::Block { kind, data: Some(data) }) = events.pop() else { continue };
        if kind != "endpoint" {
            return Err(permanent("the stream of events does not begin with an endpoint".into()));
        }
        let target = String::from_utf8_lossy(&data);
        // Credentials are sent to this URL, so it must have the same origin.
        let endpoint = resolve(&url, target.trim())
            .map_err(|why| permanent(format!("the endpoint it names is refused: {why}")))?;
        return Ok(Opened { response, decoder, rest, endpoint });
    }
}

/// Reads the stream. The link ends with it.
async fn read(session: Arc<Session>, mut response: Response, mut decoder: EventDecoder) {
    let mut nothing = Awaited::default();
    let ended = events(&session, &mut response, &mut decoder, &mut nothing).await;
    session.end(match ended {
        Ok(()) => CloseReason::Ended,
        Err(loss) => CloseReason::Failed { cause: loss.cause, reason: loss.reason.into() },
    });
}
