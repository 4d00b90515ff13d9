//! Cancellation of calls, without a runtime.

use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Waker},
};

/// Cancels calls. Pass a [`token`](Self::token) to each call.
///
/// ```
/// use mcp_tool::{CallContext, Cancel};
///
/// let cancel = Cancel::new();
/// let mut context = CallContext::default();
/// context.cancel = Some(cancel.token());
/// cancel.cancel();
/// assert!(context.cancel.unwrap().is_cancelled());
/// ```
#[derive(Debug, Default)]
pub struct Cancel(Arc<State>);

/// A token that tells a call whether it was cancelled.
#[derive(Clone, Debug)]
pub struct Cancelled(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Set under the lock of `waiting`, so that a waker is either seen by [`Cancel::cancel`] or not stored.
    is_cancelled: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next_key: u64,
    wakers: Vec<(u64, Waker)>,
}

impl Cancel {
    /// A new source that has cancelled nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token for a call.
    pub fn token(&self) -> Cancelled {
        Cancelled(self.0.clone())
    }

    /// Cancels every call that has a token, or gets one later.
    pub fn cancel(&self) {
        let mut waiting = self.0.lock();
        self.0.is_cancelled.store(true, Ordering::Release);
        let wakers = std::mem::take(&mut waiting.wakers);
        drop(waiting);
        for (_, waker) in wakers {
            waker.wake();
        }
    }
}

impl Cancelled {
    /// Whether the call was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Waits for the cancellation, forever if every [`Cancel`] has been dropped.
    ///
    /// # Cancel safety
    /// Safe: the cancellation is not lost.
    pub async fn cancelled(&self) {
        let mut place = Place { state: &self.0, key: None };
        poll_fn(|cx| place.poll(cx.waker())).await;
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waker of one future, removed when the future is dropped.
struct Place<'a> {
    state: &'a State,
    key: Option<u64>,
}

impl Place<'_> {
    fn poll(&mut self, waker: &Waker) -> Poll<()> {
        let mut waiting = self.state.lock();
        if self.state.is_cancelled.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let known = self.key.and_then(|key| waiting.wakers.iter_mut().find(|(k, _)| *k == key));
        if let Some((_, known)) = known {
            known.clone_from(waker);
        } else {
            let key = waiting.next_key;
            waiting.next_key += 1;
            waiting.wakers.push((key, waker.clone()));
            self.key = Some(key);
        }
        Poll::Pending
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.state.lock().wakers.retain(|(k, _)| *k != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, task::Context};

    use super::*;

    #[tokio::test]
    async fn cancel_wakes_every_waiting_call() {
        let cancel = Cancel::new();
        let wait = || {
            let token = cancel.token();
            tokio::spawn(async move { token.cancelled().await })
        };
        let waiting = [wait(), wait()];
        tokio::task::yield_now().await;
        assert!(!cancel.token().is_cancelled() && waiting.iter().all(|wait| !wait.is_finished()));
        cancel.cancel();
        for wait in waiting {
            wait.await.unwrap();
        }
        // Tokens created after the cancellation are cancelled.
        cancel.token().cancelled().await;
    }

    #[test]
    fn dropped_cancelled_future_removes_its_waker() {
        let cancel = Cancel::new();
        let token = cancel.token();
        let mut cx = Context::from_waker(Waker::noop());
        {
            let mut wait = pin!(token.cancelled());
            assert!(wait.as_mut().poll(&mut cx).is_pending());
            assert!(wait.as_mut().poll(&mut cx).is_pending());
            assert_eq!(cancel.0.lock().wakers.len(), 1);
        }
        assert_eq!(cancel.0.lock().wakers.len(), 0);
    }
}
