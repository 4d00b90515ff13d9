//! Limits the concurrent calls of a turn to one question to the user at a time.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

tokio::task_local! {
    /// Locked while the user is asked about one call of this turn.
    static ASKING: Arc<Mutex<()>>;
}

/// Runs the calls of a turn so that the user is asked one question at a time.
pub(crate) async fn one_at_a_time<T>(work: impl Future<Output = T>) -> T {
    ASKING.scope(Arc::default(), work).await
}

/// Waits until no other call of this turn asks the user. Returns `None` at once outside a turn.
pub(crate) async fn turn_to_ask() -> Option<OwnedMutexGuard<()>> {
    let asking = ASKING.try_with(Arc::clone).ok()?;
    Some(asking.lock_owned().await)
}
