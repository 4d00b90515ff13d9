//! Futures that somebody else drives: one for each exchange with the server.
//!
//! A link has one task, the one that polls its inlet. Every exchange is a future in here that this task polls
//! when it is woken, and no other. A new one is polled at once by whoever sends, so that a request is on its way
//! without waiting for a turn of that task.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_core::future::BoxFuture;

use super::spread::Spreading;

/// Names an exchange. Never used twice.
pub(super) type Key = u64;

#[derive(Default)]
pub(super) struct Exchanges {
    running: Mutex<Running>,
    ready: Arc<Ready>,
    /// The driver is polling, and looks at everything else afterwards.
    driving: AtomicBool,
}

#[derive(Default)]
struct Running {
    last: Key,
    /// Nobody drives any more.
    over: bool,
    slots: HashMap<Key, Slot, Spreading>,
}

struct Slot {
    /// Absent while somebody polls it.
    future: Option<BoxFuture<'static, ()>>,
    alarm: Arc<Alarm>,
    /// Woken while it was being polled.
    again: bool,
}

/// Exchanges that want to be polled, and the task that does it.
#[derive(Default)]
struct Ready {
    keys: Mutex<Vec<Key>>,
    driver: Mutex<Option<Waker>>,
}

struct Alarm {
    key: Key,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Exchanges {
    /// Takes an exchange in. Nothing happens until it is started.
    pub(super) fn add(&self, exchange: BoxFuture<'static, ()>) -> Key {
        let mut running = self.lock();
        running.last += 1;
        let key = running.last;
        if running.over {
            // It would keep what it holds alive for ever, this included.
            drop(running);
            drop(exchange);
            return key;
        }
        let alarm =
            Arc::new(Alarm { key, queued: AtomicBool::new(false), ready: self.ready.clone() });
        running.slots.insert(key, Slot { future: Some(exchange), alarm, again: false });
        key
    }

    /// Polls an exchange for the first time, here and now if this is a place where it can be.
    pub(super) fn start(&self, key: Key) {
        // Sockets and timers belong to a runtime; a future dropped elsewhere must still be able to send.
        if tokio::runtime::Handle::try_current().is_ok() {
            self.poll_one(key);
        } else {
            self.ready.push(key);
        }
    }

    /// Has the driver poll an exchange for the first time.
    pub(super) fn start_later(&self, key: Key) {
        self.ready.push(key);
    }

    /// Polls everything that wants to be polled. The caller's waker is the one that is called next time, and it
    /// looks afterwards at what was delivered meanwhile.
    pub(super) fn poll(&self, cx: &mut Context<'_>) {
        self.ready.register(cx);
        self.driving.store(true, Ordering::Release);
        for key in self.ready.take() {
            self.poll_one(key);
        }
        self.driving.store(false, Ordering::Release);
    }

    fn poll_one(&self, key: Key) {
        let taken = {
            let mut running = self.lock();
            let Some(slot) = running.slots.get_mut(&key) else { return };
            slot.alarm.queued.store(false, Ordering::Release);
            slot.again = slot.future.is_none();
            slot.future.take().map(|future| (future, slot.alarm.clone()))
        };
        let Some((mut future, alarm)) = taken else { return };
        let waker = Waker::from(alarm);
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        let mut running = self.lock();
        match polled {
            Poll::Ready(()) => drop(running.slots.remove(&key)),
            Poll::Pending => {
                // Given up meanwhile, it is dropped after the lock.
                let Some(slot) = running.slots.get_mut(&key) else { return drop(running) };
                slot.future = Some(future);
                if std::mem::take(&mut slot.again) {
                    drop(running);
                    waker.wake();
                }
            }
        }
    }

    /// Gives an exchange up.
    pub(super) fn stop(&self, key: Key) {
        // What it holds is let go of without the lock.
        let stopped = self.lock().slots.remove(&key);
        drop(stopped);
    }

    /// Gives all of them up, and those that come too late.
    pub(super) fn stop_all(&self) {
        let stopped = {
            let mut running = self.lock();
            running.over = true;
            std::mem::take(&mut running.slots)
        };
        drop(stopped);
    }

    /// Wakes the task that drives, for something that it finds under the lock of the link's state. The lock
    /// must have been let go of after the change: a driver that is at work takes it once more.
    pub(super) fn wake_driver(&self) {
        if !self.driving.load(Ordering::Acquire) {
            self.ready.wake_driver();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ready {
    fn register(&self, cx: &mut Context<'_>) {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *driver {
            Some(known) => known.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }

    fn take(&self) -> Vec<Key> {
        std::mem::take(&mut *self.keys.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, key: Key) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever came first has woken the driver, which takes them all.
        let is_first = keys.is_empty();
        keys.push(key);
        drop(keys);
        if is_first {
            self.wake_driver();
        }
    }

    fn wake_driver(&self) {
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner).clone();
        driver.into_iter().for_each(Waker::wake);
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.ready.push(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_too_late_is_let_go_of() {
        let exchanges = Exchanges::default();
        let held = Arc::new(());
        let keep = |held: Arc<()>| -> BoxFuture<'static, ()> {
            Box::pin(async move {
                std::future::pending::<()>().await;
                drop(held);
            })
        };
        exchanges.add(keep(held.clone()));
        assert_eq!(Arc::strong_count(&held), 2);
        exchanges.stop_all();
        // Somebody was sending at that very moment.
        let key = exchanges.add(keep(held.clone()));
        exchanges.start(key);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
