//! Streams that a legacy server says things on when nobody has asked, and streams taken up again.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use mcp_jsonrpc::{ErrorClass, Loss, Trouble};
use tokio::sync::oneshot;

use super::{
    answer::{Awaited, Body, lost, session_lost},
    ask::{Ask, by_status, discard},
    client::Response,
    events::EventDecoder,
    post::SESSION,
    state::Shared,
};
use crate::diagnostics::CloseReason;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// How long to wait before coming back, where the server does not say.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Whatever a server says: one that ends every stream at once must not keep both of us busy with it.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// How often a stream is taken up again without anything new on it.
const MOST_ATTEMPTS: u32 = 5;
/// How long everything else waits for the stream to open. Some servers do not send as much as a header before
/// they have something to say, and some ask their first question as soon as they are called.
const HEAD_START: Duration = Duration::from_millis(150);

/// Opens the stream a legacy server may use whenever it likes, and sees it under way.
pub(super) async fn start(shared: &Arc<Shared>) {
    let (opened, open) = oneshot::channel();
    let key = shared.exchanges.add(Box::pin(keep(shared.clone(), opened)));
    shared.exchanges.start_later(key);
    let _ = tokio::time::timeout(HEAD_START, open).await;
}

/// Listens for as long as the server lets us.
async fn keep(shared: Arc<Shared>, opened: oneshot::Sender<()>) {
    let mut opened = Some(opened);
    let mut decoder = EventDecoder::new(shared.settings.options.max_message);
    let mut failures: u32 = 0;
    loop {
        let mut asked_for = None;
        match get(&shared, decoder.last_id()).await {
            Ok(mut response) => {
                drop(opened.take());
                failures = 0;
                decoder = after(&decoder, &shared);
                shared.events(&mut response, &mut decoder, &mut Awaited::default()).await;
            }
            Err(loss) if loss.class == ErrorClass::Session => {
                return shared.end(CloseReason::SessionLost);
            }
            // Most servers have no such stream, and say so in different ways.
            Err(loss) if loss.class != ErrorClass::Transient => {
                tracing::debug!(reason = &*loss.reason, "the server offers no stream of its own");
                return;
            }
            Err(loss) => {
                failures += 1;
                asked_for = loss.retry_after;
                tracing::debug!(reason = &*loss.reason, failures, "the server's stream is away");
            }
        }
        drop(opened.take());
        let backoff = PAUSE * 2_u32.saturating_pow(failures.min(6));
        let usual = if failures == 0 { PAUSE } else { backoff };
        tokio::time::sleep(pause(asked_for.or(decoder.retry()).unwrap_or(usual))).await;
    }
}

/// Takes up a stream that ended before its answer. Returns what to tell the caller, if that failed.
pub(super) async fn resume(
    shared: &Arc<Shared>,
    decoder: &mut EventDecoder,
    awaited: &mut Awaited,
) -> Option<Loss> {
    let mut attempts = 0;
    while attempts < MOST_ATTEMPTS {
        tokio::time::sleep(pause(decoder.retry().unwrap_or(PAUSE))).await;
        match get(shared, decoder.last_id()).await {
            Ok(mut response) => {
                let before = decoder.last_id().to_owned();
                *decoder = after(decoder, shared);
                shared.events(&mut response, decoder, awaited).await;
                if awaited.answered {
                    return None;
                }
                attempts = if decoder.last_id() == before { attempts + 1 } else { 0 };
            }
            Err(loss) if loss.class == ErrorClass::Transient => attempts += 1,
            Err(loss) if loss.class == ErrorClass::Session => {
                shared.end(CloseReason::SessionLost);
                return Some(loss);
            }
            Err(loss) => {
                let reason = format!(
                    "the answer broke off and could not be taken up again: {}",
                    loss.reason
                );
                return Some(lost(loss.trouble, reason));
            }
        }
    }
    let reason = format!(
        "the answer broke off, and {MOST_ATTEMPTS} attempts to take it up again brought nothing"
    );
    Some(lost(Trouble::CutOff, reason))
}

fn pause(asked_for: Duration) -> Duration {
    asked_for.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

/// A decoder for a fresh stream that goes on where another one stopped.
fn after(decoder: &EventDecoder, shared: &Shared) -> EventDecoder {
    EventDecoder::after(decoder, shared.settings.options.max_message)
}

/// Opens a stream of events.
async fn get(shared: &Shared, last_id: &str) -> Result<Response, Loss> {
    let mut headers: HeaderMap = stream_headers(shared);
    shared.lock().name_session(&mut headers);
    let has_session = headers.contains_key(SESSION);
    if let (false, Ok(id)) = (last_id.is_empty(), HeaderValue::from_bytes(last_id.as_bytes())) {
        headers.insert(LAST_EVENT_ID, id);
    }
    let url = shared.settings.url.clone();
    let ask = Ask { method: Method::GET, url, headers, body: None, patience: None };
    let response = shared.ask(ask).await?;
    let fit = response.status().is_success() && Body::of(&response) == Body::Events;
    if fit {
        shared.lock().has_streams = true;
        return Ok(response);
    }
    let mut loss = by_status(&shared.settings.url, &response);
    // From a server that never had a stream it says that there is none. Not everybody says it with 404.
    let is_gone = matches!(response.status(), StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST);
    if is_gone && has_session && shared.lock().has_streams {
        loss = session_lost();
    }
    if response.status().is_success() {
        loss.class = ErrorClass::Permanent;
        loss.trouble = Trouble::NotMcp;
    }
    discard(response).await;
    Err(loss)
}

/// What every request for a stream of events carries.
pub(super) fn stream_headers(shared: &Shared) -> HeaderMap {
    let mut headers = shared.settings.headers.clone();
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers
}
