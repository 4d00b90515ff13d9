//! The processes of one server: itself and whatever it started.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::process::{Child, Command};

use super::lifeline::Lifeline;

/// A server's process group, ended by force when dropped unless known to be empty.
///
/// A drop cannot wait, and a leader's death says nothing about its children (`npx` starts a shell
/// that starts the server), so the whole group is killed at once.
#[derive(Debug)]
pub(super) struct Group {
    /// The leader's pid, which is the group's id. `None` if it was gone before we could ask.
    leader: Option<u32>,
    /// Known to have no members: its number may belong to somebody else by now.
    empty: AtomicBool,
    lifeline: Option<&'static Lifeline>,
}

/// A question or a request to the whole group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ask {
    /// Please end.
    Terminate,
    /// End.
    Kill,
}

/// Makes the process a leader of its own group. The terminal's Ctrl-C then goes to the host
/// alone, who decides what becomes of its servers.
pub(super) fn lead(command: &mut Command) {
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(windows)]
    {
        /// `CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW`
        const FLAGS: u32 = 0x0000_0200 | 0x0800_0000;
        command.creation_flags(FLAGS);
    }
    #[cfg(not(any(unix, windows)))]
    let _ = command;
}

impl Group {
    pub(super) fn of(child: &Child, lifeline: Option<&'static Lifeline>) -> Self {
        let leader = child.id();
        if let (Some(leader), Some(lifeline)) = (leader, lifeline) {
            lifeline.add(leader);
        }
        Self { leader, empty: AtomicBool::new(false), lifeline }
    }

    /// Asks every member. Returns whether there was one.
    pub(super) fn ask(&self, ask: Ask) -> bool {
        match self.leader {
            Some(leader) if !self.empty.load(Ordering::Acquire) => {
                let reached = system::signal(leader, ask);
                if !reached {
                    self.forget();
                }
                reached
            }
            _ => false,
        }
    }

    /// Whether any member is left. Zombies that nobody reaped count, so bound your patience.
    pub(super) fn has_members(&self) -> bool {
        let alive =
            self.leader.filter(|_| !self.empty.load(Ordering::Acquire)).is_some_and(system::exists);
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

impl Drop for Group {
    fn drop(&mut self) {
        self.ask(Ask::Kill);
        self.forget();
    }
}

#[cfg(unix)]
mod system {
    use nix::{
        sys::signal::{Signal, killpg},
        unistd::Pid,
    };

    use super::Ask;

    pub(super) fn signal(leader: u32, ask: Ask) -> bool {
        let signal = match ask {
            Ask::Terminate => Signal::SIGTERM,
            Ask::Kill => Signal::SIGKILL,
        };
        pid(leader).is_some_and(|group| killpg(group, signal).is_ok())
    }

    pub(super) fn exists(leader: u32) -> bool {
        pid(leader).is_some_and(|group| killpg(group, None).is_ok())
    }

    /// Group 0 would be our own, and group 1 everybody's.
    fn pid(leader: u32) -> Option<Pid> {
        i32::try_from(leader).ok().filter(|&leader| leader > 1).map(Pid::from_raw)
    }
}

/// Without job objects, which need `unsafe`, the system's own tool ends a process and its
/// descendants. It has no polite way for console programs, so asking is left to closing stdin.
#[cfg(not(unix))]
mod system {
    use std::process::{Command, Stdio};

    use super::Ask;

    pub(super) fn signal(leader: u32, ask: Ask) -> bool {
        match ask {
            Ask::Terminate => true,
            Ask::Kill => Command::new("taskkill")
                .args(["/T", "/F", "/PID", &leader.to_string()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success()),
        }
    }

    /// `taskkill /T` walks the tree from its root, so once the root is gone there is nothing
    /// left that we could ask.
    pub(super) fn exists(_leader: u32) -> bool {
        false
    }
}
