//! Progress tokens that outlive the request that carried them.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Mutex, PoisonError},
    task::Poll,
};

use mcp_jsonrpc::{CallId, CallLimits, Failure, Progress};

use super::{Shared, now, refused};

/// A progress token that is valid until dropped, independent of the requests that carry it.
///
/// For the peer it is a call that is never sent; only its id is used.
pub(crate) struct Token<'a> {
    shared: &'a Shared,
    id: CallId,
    /// The last request that carried the token.
    carrier: Mutex<Option<CallId>>,
}

impl Shared {
    /// Creates a token for work that continues after its request has been answered.
    pub(crate) fn token(&self) -> Result<Token<'_>, Failure> {
        let mut limits = CallLimits::default();
        // It expects no response, so an error without an id must not be attributed to it.
        limits.held = true;
        let id = self.open(limits).map_err(refused)?;
        Ok(Token { shared: self, id, carrier: Mutex::default() })
    }
}

impl Token<'_> {
    /// Returns the token for a request about to be sent. From now on, progress resets the idle
    /// timeout of that request.
    pub(crate) fn carried_by(&self, request: CallId) -> CallId {
        *self.carrier.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        self.id
    }

    /// Runs `work`, and forwards progress reported for the token in the meantime.
    pub(crate) async fn during<T>(
        &self,
        on_progress: impl Fn(Progress),
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            let mut reports = Vec::new();
            {
                let mut core = self.shared.lock();
                while let Poll::Ready(Some(report)) = core.peer.poll_progress(self.id, cx) {
                    reports.push(report);
                }
                let carrier = *self.carrier.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(request) = carrier.filter(|_| !reports.is_empty()) {
                    core.peer.touch_call(request, now());
                }
            }
            reports.into_iter().for_each(&on_progress);
            work.as_mut().poll(cx)
        })
        .await
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        // Never sent, so no cancellation is needed.
        self.shared.lock().peer.give_up(self.id);
    }
}
