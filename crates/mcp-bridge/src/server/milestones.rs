//! Counts what a supervisor has done, so that tasks can wait for it.

use std::time::Duration;

use super::Server;
use crate::lifecycle::Fact;

/// The maximum number of unlisted tools for which the list is fetched again, per connection.
const MOST_ASKED: usize = 64;

/// The number of connection attempts and of repeated listings since the server was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Milestones {
    pub(super) openings: u64,
    pub(super) refreshes: u64,
}

impl Server {
    /// Sends a fact that makes the supervisor connect, and waits until the server is connected or has failed,
    /// for at most [`start_limit`](Self::start_limit).
    pub(super) async fn reopened(&self, fact: Fact) {
        let mut done = self.milestones.subscribe();
        let before = done.borrow().openings;
        self.tell(fact);
        if self.status().state.is_disabled() {
            return;
        }
        let limit = self.start_limit();
        let settling = async {
            if done.wait_for(|done| done.openings > before).await.is_ok() {
                self.settled(limit).await;
            }
        };
        let _ = tokio::time::timeout(limit, settling).await;
    }

    /// Looks for a tool that is not in the list: starts an idle server, because its list is only cached, or
    /// fetches the list of a connected one again, once per name. Returns whether the list was fetched.
    pub(crate) async fn look_for(&self, tool: &str) -> bool {
        if self.is_stopped_when_idle() {
            self.tell(Fact::Wanted);
            self.settled(self.start_limit()).await;
            return self.client().is_some();
        }
        let is_asked = {
            let mut live = self.live();
            live.client.is_some()
                && live.asked_for.len() < MOST_ASKED
                && live.asked_for.insert(tool.to_owned())
        };
        if !is_asked {
            return false;
        }
        let mut done = self.milestones.subscribe();
        let before = done.borrow().refreshes;
        self.tell(Fact::ListDoubted);
        let fetched = done.wait_for(|done| done.refreshes > before);
        tokio::time::timeout(self.start_limit(), fetched).await.is_ok_and(|done| done.is_ok())
    }

    pub(super) fn start_limit(&self) -> Duration {
        self.hub.upgrade().map_or(Duration::ZERO, |hub| hub.options.start_limit)
    }
}
