//! HTTP with SSE, as of 2024-11-05: one stream for everything the server says, and an endpoint for what we say.

use std::sync::Arc;

use http::Method;
use mcp_jsonrpc::{Delivery, ErrorClass, Loss, Trouble};
use url::Url;

use super::{
    Settings,
    answer::{Awaited, Body, StreamEnd},
    ask::{Ask, broken, by_status, discard},
    client::{HttpClient, Response},
    events::{Event, EventDecoder},
    link::link_of,
    listen::stream_headers,
    origin::resolve,
    state::Shared,
};
use crate::{diagnostics::CloseReason, error::ConnectError, link::Link};

/// A link to a server that is known to be one of these.
pub(super) async fn open(client: HttpClient, settings: Settings) -> Result<Link, ConnectError> {
    let shared = Arc::new(Shared::new(client, settings));
    find(&shared).await.map_err(|loss| ConnectError::Refused(Box::new(loss)))?;
    Ok(link_of(shared))
}

/// Opens the stream and waits for the endpoint it names. From then on the link is one of this kind.
pub(super) async fn find(shared: &Arc<Shared>) -> Result<Url, Loss> {
    let limit = shared.settings.options.endpoint_timeout;
    let Ok(found) = tokio::time::timeout(limit, first_event(shared)).await else {
        let reason = format!("the stream of events named no endpoint within {limit:?}");
        return Err(transient(Trouble::TimedOut, reason));
    };
    let Opened { response, decoder, rest, endpoint } = found?;
    shared.lock().endpoint = Some(endpoint.clone());
    for event in rest {
        shared.event(event, &mut Awaited::default());
    }
    let key = shared.exchanges.add(Box::pin(read(shared.clone(), response, decoder)));
    shared.exchanges.start_later(key);
    Ok(endpoint)
}

struct Opened {
    response: Response,
    decoder: EventDecoder,
    /// What came right behind the endpoint.
    rest: Vec<Event>,
    endpoint: Url,
}

async fn first_event(shared: &Shared) -> Result<Opened, Loss> {
    let permanent = |reason: String| {
        Loss::new(Delivery::NotSent, ErrorClass::Permanent, Trouble::NotMcp, reason)
    };
    let url = shared.settings.url.clone();
    let headers = stream_headers(shared);
    let ask = Ask { method: Method::GET, url: url.clone(), headers, body: None, patience: None };
    let mut response = shared.ask(ask).await?;
    if !response.status().is_success() {
        let loss = by_status(&url, &response);
        discard(response).await;
        return Err(loss);
    }
    if Body::of(&response) != Body::Events {
        return Err(permanent("what answers there is no stream of events".into()));
    }
    let mut decoder = EventDecoder::new(shared.settings.options.max_message);
    let mut events = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => decoder.push(chunk, &mut events),
            // A server that is starting or stopping does that too, so it may pass.
            Ok(None) => {
                let reason = "the stream of events ended before it named an endpoint";
                return Err(transient(Trouble::CutOff, reason));
            }
            Err(error) => return Err(broken(&url, &error)),
        }
        // Blocks without data say nothing.
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
        // Credentials go where it leads.
        let endpoint = resolve(&url, target.trim())
            .map_err(|why| permanent(format!("the endpoint it names is refused: {why}")))?;
        return Ok(Opened { response, decoder, rest, endpoint });
    }
}

fn transient(trouble: Trouble, reason: impl Into<Box<str>>) -> Loss {
    Loss::new(Delivery::NotSent, ErrorClass::Transient, trouble, reason)
}

/// Hears the server out. Its stream is its life.
async fn read(shared: Arc<Shared>, mut response: Response, mut decoder: EventDecoder) {
    let end = shared.events(&mut response, &mut decoder, &mut Awaited::default()).await;
    shared.end(match end {
        StreamEnd::Ended => CloseReason::Ended,
        StreamEnd::Broken(loss) => {
            CloseReason::Failed { trouble: loss.trouble, reason: loss.reason.into() }
        }
    });
}
