//! Tasks that wait for the same thing.

use std::task::{Context, Waker};

/// Wakers of whoever waits. A task that asks again and again is in here once.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Vec<Waker>);

impl Waiters {
    pub(crate) fn add(&mut self, cx: &Context<'_>) {
        if !self.0.iter().any(|known| known.will_wake(cx.waker())) {
            self.0.push(cx.waker().clone());
        }
    }

    /// Takes them all, to be woken once no lock is held.
    pub(crate) fn take(&mut self) -> Woken {
        Woken(std::mem::take(&mut self.0))
    }
}

/// Wakers to wake.
#[must_use]
#[derive(Default)]
pub(crate) struct Woken(Vec<Waker>);

impl Woken {
    pub(crate) fn and(mut self, one: Option<Waker>) -> Self {
        self.0.extend(one);
        self
    }

    pub(crate) fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}
