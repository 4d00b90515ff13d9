//! The wakers of tasks that wait for the same event.

use std::task::{Context, Waker};

/// The wakers of waiting tasks. A task that polls repeatedly is stored once.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Vec<Waker>);

impl Waiters {
    pub(crate) fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|known| known.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    /// Takes all wakers. Wake them after releasing all locks.
    pub(crate) fn take(&mut self) -> Woken {
        Woken(std::mem::take(&mut self.0))
    }
}

/// Wakers that are ready to be woken.
#[must_use]
#[derive(Default)]
pub(crate) struct Woken(Vec<Waker>);

impl Woken {
    pub(crate) fn and(mut self, one: Option<Waker>) -> Self {
        self.0.extend(one);
        self
    }

    pub(crate) fn wake(self) {
        // Usually empty, and on the path of every call.
        if !self.0.is_empty() {
            self.0.into_iter().for_each(Waker::wake);
        }
    }
}
