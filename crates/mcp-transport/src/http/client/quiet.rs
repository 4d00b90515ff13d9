//! Connections that are not woken for nothing.
//!
//! hyper runs each connection as a task, and wakes it whenever a piece of a body is taken, also when that was the
//! last one. On a runtime with many threads that is no trifle: whoever reads the body wakes its caller too, and of
//! two tasks that are ready at once tokio gives one to another thread, which has to be woken by the system. So a
//! wake that comes of taking a small piece is kept until we know whether the connection has more to read.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

use hyper::rt::Executor;

/// Spawns tasks whose wakes can be kept back.
#[derive(Clone, Debug)]
pub(super) struct QuietExecutor;

impl<F> Executor<F> for QuietExecutor
where
    F: Future<Output = ()> + Send + Unpin + 'static,
{
    fn execute(&self, future: F) {
        let gate = Arc::new(Gate::default());
        let waker = Waker::from(gate.clone());
        tokio::spawn(Quiet { future, gate, waker });
    }
}

struct Quiet<F> {
    future: F,
    gate: Arc<Gate>,
    /// Made of the gate.
    waker: Waker,
}

impl<F: Future<Output = ()> + Unpin> Future for Quiet<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.gate.register(cx);
        Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.waker))
    }
}

/// Stands between a task and those who wake it.
#[derive(Default)]
struct Gate {
    task: Mutex<Option<Waker>>,
}

impl Gate {
    fn register(&self, cx: &mut Context<'_>) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *task {
            Some(known) => known.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }

    fn open(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        task.into_iter().for_each(Waker::wake);
    }
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let kept = KEEPING.with_borrow_mut(|keeping| match keeping {
            Keeping::No => false,
            Keeping::Yes(kept) => {
                *kept = Some(self.clone());
                true
            }
        });
        if !kept {
            self.open();
        }
    }
}

enum Keeping {
    No,
    Yes(Option<Arc<Gate>>),
}

thread_local! {
    /// Whether wakes of connections are kept back on this thread, and the last one that was.
    static KEEPING: RefCell<Keeping> = const { RefCell::new(Keeping::No) };
}

/// Runs `poll`, and keeps back the wake of the one connection that it is about.
pub(super) fn keeping_wakes<T>(poll: impl FnOnce() -> T) -> (T, Owed) {
    let _ends = Ends;
    KEEPING.set(Keeping::Yes(None));
    let polled = poll();
    (polled, kept())
}

/// Stops keeping, and returns what was kept.
fn kept() -> Owed {
    match KEEPING.replace(Keeping::No) {
        Keeping::No => Owed(None),
        Keeping::Yes(kept) => Owed(kept),
    }
}

/// Whatever happens, a thread does not go on keeping wakes.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        drop(kept());
    }
}

/// A wake that was kept back. It comes when this is dropped, unless it is of no use any more.
#[derive(Default)]
pub(super) struct Owed(Option<Arc<Gate>>);

impl Owed {
    /// Nobody waits for it.
    pub(super) fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(gate) = self.0.take() {
            gate.open();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_wake_kept_back_comes_later_unless_it_is_forgotten() {
        let count = Arc::new(Count(AtomicU32::new(0)));
        let gate = Arc::new(Gate::default());
        gate.register(&mut Context::from_waker(&Waker::from(count.clone())));
        let waker = Waker::from(gate.clone());
        let woken = || count.0.load(Ordering::Relaxed);
        waker.wake_by_ref();
        assert_eq!(woken(), 1);
        let ((), owed) = keeping_wakes(|| waker.wake_by_ref());
        assert_eq!(woken(), 1);
        drop(owed);
        assert_eq!(woken(), 2);
        let ((), owed) = keeping_wakes(|| waker.wake_by_ref());
        owed.forget();
        assert_eq!(woken(), 2);
        waker.wake();
        assert_eq!(woken(), 3);
    }
}
