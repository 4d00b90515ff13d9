//! Ctrl-C: the first one gives up what runs, the second one leaves.

use std::{future::pending, sync::Arc};

use mcp_bridge::{Cancel, Cancelled};

use crate::{exit::Problem, out::Out};

/// Hears Ctrl-C and SIGTERM for the whole command.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    first: Arc<Cancel>,
    second: Arc<Cancel>,
}

impl Interrupt {
    pub(crate) fn listen(out: Out) -> Self {
        let interrupt = Self { first: Arc::new(Cancel::new()), second: Arc::new(Cancel::new()) };
        let (first, second) = (interrupt.first.clone(), interrupt.second.clone());
        // Now, not when the task first runs: a signal before that would end us where we stand.
        let mut signals = Signals::listen();
        tokio::spawn(async move {
            signals.next().await;
            first.cancel();
            out.remark("\nstopping… (Ctrl-C again to leave at once)");
            signals.next().await;
            second.cancel();
        });
        interrupt
    }

    /// What a call listens to.
    pub(crate) fn token(&self) -> Cancelled {
        self.first.token()
    }

    /// Waits for the first one.
    pub(crate) async fn cancelled(&self) {
        self.token().cancelled().await;
    }

    /// Waits for the second one.
    pub(crate) async fn left(&self) {
        self.second.token().cancelled().await;
    }

    /// Waits for `work`, or for the user to have had enough of it.
    pub(crate) async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        tokio::select! {
            done = work => Ok(done),
            () = self.cancelled() => Err(Problem::interrupted()),
        }
    }
}

/// Ctrl-C and SIGTERM, as they come: none falls between two questions.
#[cfg(unix)]
struct Signals([Option<tokio::signal::unix::Signal>; 2]);

#[cfg(unix)]
impl Signals {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self([SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok()))
    }

    async fn next(&mut self) {
        let Self([interrupt, terminate]) = self;
        tokio::select! {
            () = heard(interrupt) => {}
            () = heard(terminate) => {}
        }
    }
}

#[cfg(unix)]
async fn heard(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    }
}
