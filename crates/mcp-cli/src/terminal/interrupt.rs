//! Ctrl-C and SIGTERM: the first signal cancels the command, the second one exits.
//!
//! Signals are handled on a separate thread, because the main thread may be busy with a server's output, or blocked on
//! a pipe without a reader.

use std::{future::pending, io, process, sync::Arc, thread, time::Duration};

use mcp_bridge::tool::{Cancel, Cancelled};
use tokio::{runtime, sync::oneshot, time};

use crate::{
    exit::{Exit, Problem},
    terminal::out::Out,
};

/// How long commands have to shut down after the first signal.
pub(crate) const GRACE: Duration = Duration::from_millis(1_300);
/// How long writing the remark may take.
const REMARK: Duration = Duration::from_millis(100);
/// How long commands have to exit after the second signal or the grace period.
const LAST: Duration = Duration::from_millis(400);

/// Ctrl-C and SIGTERM for the whole command.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    first: Arc<Cancel>,
    second: Arc<Cancel>,
}

impl Interrupt {
    /// Installs the signal handlers. After the first signal the command has `grace` to shut down, unless a second one
    /// arrives.
    pub(crate) fn listen(out: Out, grace: Duration) -> io::Result<Self> {
        let interrupt = Self { first: Arc::new(Cancel::new()), second: Arc::new(Cancel::new()) };
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        // Register before the thread runs: until then, a signal would kill the process.
        let signals = {
            let _context = runtime.enter();
            (Signal::interrupt(), Signal::terminate())
        };
        let (first, second) = (interrupt.first.clone(), interrupt.second.clone());
        let watch = async move {
            let (mut interrupted, mut terminated) = signals;
            let mut signal = async move || {
                tokio::select! {
                    () = interrupted.next() => {}
                    () = terminated.next() => {}
                }
            };
            signal().await;
            // On a separate thread, because stderr may be blocked too.
            let (told, is_told) = oneshot::channel();
            thread::spawn(move || {
                out.remark("\nstopping… (press Ctrl-C again to exit at once)");
                let _ = told.send(());
            });
            let _ = time::timeout(REMARK, is_told).await;
            first.cancel();
            let _ = time::timeout(grace, signal()).await;
            second.cancel();
            time::sleep(LAST).await;
            // Servers are killed when their lifeline closes.
            process::exit(Exit::Interrupted as i32);
        };
        thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(watch))?;
        Ok(interrupt)
    }

    /// Returns a cancellation token for calls.
    pub(crate) fn token(&self) -> Cancelled {
        self.first.token()
    }

    /// Waits for the first signal.
    pub(crate) async fn cancelled(&self) {
        self.token().cancelled().await;
    }

    /// Waits for the second signal.
    pub(crate) async fn left(&self) {
        self.second.token().cancelled().await;
    }

    /// Waits for `work`, until the first signal.
    pub(crate) async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        tokio::select! {
            done = work => Ok(done),
            () = self.cancelled() => Err(Problem::interrupted()),
        }
    }
}

/// A stream of one signal that loses none between two waits. On systems without the signal, it never yields.
pub(crate) struct Signal {
    #[cfg(unix)]
    inner: Option<tokio::signal::unix::Signal>,
    #[cfg(not(unix))]
    is_interrupt: bool,
}

#[cfg(unix)]
impl Signal {
    fn interrupt() -> Self {
        Self::new(tokio::signal::unix::SignalKind::interrupt())
    }

    fn terminate() -> Self {
        Self::new(tokio::signal::unix::SignalKind::terminate())
    }

    pub(crate) fn hangup() -> Self {
        Self::new(tokio::signal::unix::SignalKind::hangup())
    }

    fn new(kind: tokio::signal::unix::SignalKind) -> Self {
        Self { inner: tokio::signal::unix::signal(kind).ok() }
    }

    pub(crate) async fn next(&mut self) {
        match &mut self.inner {
            Some(signal) => drop(signal.recv().await),
            None => pending().await,
        }
    }
}

#[cfg(not(unix))]
impl Signal {
    fn interrupt() -> Self {
        Self { is_interrupt: true }
    }

    fn terminate() -> Self {
        Self { is_interrupt: false }
    }

    pub(crate) fn hangup() -> Self {
        Self { is_interrupt: false }
    }

    pub(crate) async fn next(&mut self) {
        if !self.is_interrupt || tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    }
}
