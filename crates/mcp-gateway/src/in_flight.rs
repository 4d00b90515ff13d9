//! Counts calls in flight and rejects new ones while draining.

use tokio::sync::watch;

/// Counts calls until it is closed and all of them are done.
#[derive(Debug, Default)]
pub(crate) struct CallsInFlight(watch::Sender<Calls>);

#[derive(Debug, Default)]
struct Calls {
    count: usize,
    is_closed: bool,
}

/// One call, counted until it is dropped.
pub(crate) struct InFlight<'a>(&'a CallsInFlight);

impl CallsInFlight {
    /// Counts a call; `None` after [`drain`](Self::drain) was called.
    pub(crate) fn begin(&self) -> Option<InFlight<'_>> {
        let is_taken = self.0.send_if_modified(|calls| {
            calls.count += usize::from(!calls.is_closed);
            !calls.is_closed
        });
        is_taken.then(|| InFlight(self))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.borrow().count
    }

    /// Rejects new calls, and waits until those in flight are done.
    pub(crate) async fn drain(&self) {
        self.0.send_modify(|calls| calls.is_closed = true);
        // Cannot fail: we own the sender.
        let _ = self.0.subscribe().wait_for(|calls| calls.count == 0).await;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|calls| calls.count -= 1);
    }
}
