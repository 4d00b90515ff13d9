//! Calls that a server interrupts to request input.
//!
//! Modern servers cannot send requests. They respond to a call with `input_required` and the input
//! requests, and the client repeats the call with the responses. The 2025-11-25 revision has a
//! simpler form of this: error -32042, with URLs for the user to visit.
//!
//! <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#client-requirements-basic-workflow>,
//! <https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error>

use std::{
    future::poll_fn,
    hash::{BuildHasher as _, RandomState},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use mcp_jsonrpc::{ErrorObject, Failure, ObjectWriter, RawJson};
use mcp_types::{Era, Extra, error_code, method};

use super::{
    Client,
    request::{Answer, Ask, Members, RESULT_TYPE, is_complete, unexpected_type},
};
use crate::{
    error::{CallError, problem},
    host::inputs,
};

/// The first pause when a server sends only a state and no input requests, which means it is shedding load.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The outcome of a call.
pub(crate) enum Finished<T> {
    /// The result, and whether it took more than one round: such a result must not be cached.
    Complete { answer: T, in_rounds: bool },
    /// A result with another `resultType`, which only some methods allow.
    Other(T),
}

/// The additional params of the next round.
#[derive(Default)]
struct Round {
    responses: Option<RawJson>,
    /// The server's opaque state, sent back byte for byte and only if the server sent one:
    /// <https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#inputrequiredresult>.
    state: Option<RawJson>,
}

impl Client {
    /// Makes a call and answers the server's input requests in between.
    pub(crate) async fn ask_in_rounds<T: Answer>(
        &self,
        ask: &Ask<'_>,
        members: &Members<'_>,
    ) -> Result<Finished<T>, CallError> {
        let mut round = Round::default();
        let mut ask = *ask;
        for rounds in 0..=self.0.options.max_rounds {
            let with_answers = |params: &mut ObjectWriter| {
                members(params);
                round.responses.iter().for_each(|raw| {
                    params.raw("inputResponses", raw);
                });
                round.state.iter().for_each(|raw| {
                    params.raw("requestState", raw);
                });
            };
            let answer: T = match self.ask(&ask, &with_answers).await {
                Err(CallError::Failed { failure: Failure::Rejected(error), .. })
                    if self.wants_visits(&error) =>
                {
                    self.within(&ask, self.visit_pages(ask.method, error)).await?;
                    round = Round::default();
                    ask.is_repeated = true;
                    continue;
                }
                answer => answer?,
            };
            if self.era() == Era::Legacy || is_complete(answer.extra()) {
                return Ok(Finished::Complete { answer, in_rounds: ask.is_repeated });
            }
            if answer.extra().get(RESULT_TYPE).map(RawJson::as_str) != Some(r#""input_required""#) {
                return Ok(Finished::Other(answer));
            }
            let next = self.next_round(ask.method, answer.extra(), rounds);
            round = self.within(&ask, next).await?;
            ask.is_repeated = true;
        }
        Err(CallError::TooManyRounds { rounds: self.0.options.max_rounds })
    }

    /// Like [`ask_in_rounds`](Self::ask_in_rounds), for methods that must end in a complete result.
    /// Also returns whether it took more than one round.
    pub(crate) async fn ask_to_the_end<T: Answer>(
        &self,
        ask: &Ask<'_>,
        members: &Members<'_>,
    ) -> Result<(T, bool), CallError> {
        match self.ask_in_rounds(ask, members).await? {
            Finished::Complete { answer, in_rounds } => Ok((answer, in_rounds)),
            Finished::Other(_) => Err(unexpected_type(ask.method)),
        }
    }

    async fn next_round(
        &self,
        method: &'static str,
        interim: &Extra,
        rounds: u32,
    ) -> Result<Round, CallError> {
        let state = interim.get("requestState").filter(|state| !state.is_null()).cloned();
        let requests = interim.get("inputRequests").filter(|requests| !requests.is_null());
        if requests.is_some_and(|requests| !requests.is_object()) {
            let error = problem("inputRequests: expected an object");
            return Err(CallError::shape(method, error));
        }
        let Some(requests) = requests.filter(|requests| requests.members().next().is_some()) else {
            if state.is_none() {
                let error =
                    problem("`input_required` with neither `inputRequests` nor `requestState`");
                return Err(CallError::shape(method, error));
            }
            // With a state alone the server asks for a retry later, without input.
            tokio::time::sleep(pause(rounds)).await;
            return Ok(Round { responses: None, state });
        };
        Ok(Round { responses: Some(self.answer_all(method, requests).await?), state })
    }

    /// Answers all entries of an `inputRequests` object. If one fails, the call fails.
    pub(crate) async fn answer_all(
        &self,
        method: &'static str,
        requests: &RawJson,
    ) -> Result<RawJson, CallError> {
        let members: Vec<(String, RawJson)> = requests.members().collect();
        // Concurrently, so that a host that forwards them can forward them together.
        let asks = members.iter().map(|(key, request)| async move {
            let asked = request.get("method").and_then(|asked| asked.decode::<String>().ok());
            let Some(asked) = asked else {
                let error = problem(format_args!("inputRequests.{key}: `method` is missing"));
                return Err(CallError::shape(method, error));
            };
            let dispatch = &self.0.dispatch;
            let params = request.get("params");
            let answer =
                inputs::obtain(&*dispatch.handler, &dispatch.offered, &asked, params.as_ref())
                    .await;
            let place = format!("inputRequests.{key}");
            answer.map_err(|error| error.into_call_error(method, &place))
        });
        let answers = all(asks.map(Box::pin).collect()).await?;
        let mut responses = ObjectWriter::new();
        for ((key, _), answer) in members.iter().zip(&answers) {
            responses.raw(key, answer);
        }
        Ok(responses.finish())
    }

    fn wants_visits(&self, error: &ErrorObject) -> bool {
        self.era() == Era::Legacy
            && error.code == error_code::URL_ELICITATION_REQUIRED
            && self.0.dispatch.offered.elicitation_url
    }

    /// Asks the user to visit the URLs that a call requires. If the user refuses, the call fails
    /// with the server's error.
    async fn visit_pages(&self, method: &'static str, error: ErrorObject) -> Result<(), CallError> {
        let pages = error.data.as_ref().and_then(|data| data.get("elicitations"));
        let pages: Vec<RawJson> = pages.and_then(|pages| pages.decode().ok()).unwrap_or_default();
        if pages.is_empty() {
            return Err(CallError::new(method, Failure::Rejected(error)));
        }
        let dispatch = &self.0.dispatch;
        for page in pages {
            let answer = inputs::obtain(
                &*dispatch.handler,
                &dispatch.offered,
                method::ELICITATION_CREATE,
                Some(&page),
            );
            let answer =
                answer.await.map_err(|error| error.into_call_error(method, "elicitations"))?;
            if answer.get("action").as_ref().map(RawJson::as_str) != Some(r#""accept""#) {
                return Err(CallError::new(method, Failure::Rejected(error)));
            }
        }
        Ok(())
    }
}

/// Waits for all futures, or for the first that fails.
async fn all<F>(mut futures: Vec<Pin<Box<F>>>) -> Result<Vec<RawJson>, CallError>
where
    F: Future<Output = Result<RawJson, CallError>>,
{
    let mut done: Vec<Option<RawJson>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, slot) in futures.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let Poll::Ready(answer) = future.as_mut().poll(cx)
            {
                *slot = Some(answer?);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
    .map(|()| done.into_iter().flatten().collect())
}

/// The pause before the next request to a server that sheds load: exponential backoff with jitter.
fn pause(rounds: u32) -> Duration {
    let usual = FIRST_PAUSE.saturating_mul(1 << rounds.min(10)).min(LONGEST_PAUSE);
    // `RandomState` is randomly seeded, which is random enough for jitter.
    let [random, ..] = RandomState::new().hash_one(rounds).to_ne_bytes();
    usual.mul_f64(1.0 - 0.2 * f64::from(random) / 256.0)
}
