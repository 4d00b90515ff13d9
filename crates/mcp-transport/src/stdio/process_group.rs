//! The processes of one server: its process group, and descendants that have left it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::process::Child;

use super::{
    descendants::Mark,
    lifeline::Lifeline,
    signal::{Signal, group_exists, signal_group},
};

/// A server's process group, killed when dropped unless known to be empty.
///
/// A drop cannot wait, and the exit of a leader does not imply that of its children (`npx` starts a shell that starts
/// the server), so the whole group is killed at once.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// The leader's pid, which is the group's id. `None` if the leader had exited before it was read.
    leader: Option<u32>,
    /// The group is known to be empty, so its id may have been reused.
    empty: AtomicBool,
    mark: Mark,
    /// After the end of the group, no descendants outside it were found.
    swept: AtomicBool,
    lifeline: Option<&'static Lifeline>,
}

impl ProcessGroup {
    pub(super) fn of(child: &Child, mark: Mark, lifeline: Option<&'static Lifeline>) -> Self {
        let leader = child.id();
        if let (Some(leader), Some(lifeline)) = (leader, lifeline) {
            lifeline.add(leader);
        }
        let (empty, swept) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { leader, empty, mark, swept, lifeline }
    }

    /// Signals every member. Returns whether there was one.
    pub(super) fn signal(&self, signal: Signal) -> bool {
        match self.leader {
            Some(leader) if !self.empty.load(Ordering::Acquire) => {
                let reached = signal_group(leader, signal);
                if !reached {
                    self.forget();
                }
                reached
            }
            _ => false,
        }
    }

    /// Signals descendants that have left the group. Returns whether there was one. Reads the environment of every
    /// process.
    pub(super) fn signal_strays(&self, signal: Signal) -> bool {
        let found = self.mark.signal(signal) > 0;
        self.swept.store(!found, Ordering::Release);
        found
    }

    /// Whether any member is left. Zombies that are not reaped count, so callers must limit the time they wait.
    pub(super) fn has_members(&self) -> bool {
        let alive =
            self.leader.filter(|_| !self.empty.load(Ordering::Acquire)).is_some_and(group_exists);
        if !alive {
            self.forget();
        }
        alive
    }

    fn forget(&self) {
        if !self.empty.swap(true, Ordering::AcqRel)
            && let (Some(leader), Some(lifeline)) = (self.leader, self.lifeline)
        {
            lifeline.remove(leader);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
        self.forget();
        if !self.swept.load(Ordering::Acquire) {
            self.mark.signal(Signal::Kill);
        }
    }
}
