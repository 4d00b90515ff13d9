//! Processes that a server started and that have left its process group, such as daemons.
//!
//! Each server is started with a unique environment variable, which its descendants inherit. On Linux they are found
//! by it in `/proc`, even after their parents have exited. A process that clears its environment is not found.

use std::{
    ffi::OsString,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use super::signal::Signal;

/// The name of the variable.
pub(super) const VARIABLE: &str = "MCP_SERVER_MARK";

/// Identifies the descendants of one server.
#[derive(Clone, Debug)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(format!("{}-{}-{count}", std::process::id(), time.as_nanos()))
    }

    pub(super) fn value(&self) -> OsString {
        OsString::from(&self.0)
    }

    /// Signals every process with this mark. Returns how many there are.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        let assignment = format!("{VARIABLE}={}", self.0);
        system::with_variable(&assignment)
            .into_iter()
            .filter(|process| system::signal(*process, signal))
            .count()
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use super::Signal;

    /// Returns the processes with this assignment in their environment. The environment of a zombie is empty.
    pub(super) fn with_variable(assignment: &str) -> Vec<u32> {
        let ours = std::process::id();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let has_it = |process: &u32| {
            let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|line| line == assignment.as_bytes())
        };
        processes.filter(|process| *process != ours).filter(has_it).collect()
    }

    pub(super) fn signal(process: u32, signal: Signal) -> bool {
        super::super::signal::signal_process(process, signal)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Signal;

    pub(super) fn with_variable(_: &str) -> Vec<u32> {
        Vec::new()
    }

    pub(super) fn signal(_: u32, _: Signal) -> bool {
        false
    }
}
