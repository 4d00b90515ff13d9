//! What this process has: memory, open files, children. Known on Linux; elsewhere nothing is.

use std::path::PathBuf;

/// What there is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gauge {
    pub(crate) resident_kib: u64,
    pub(crate) files: usize,
    pub(crate) children: usize,
}

impl Gauge {
    pub(crate) fn now() -> Self {
        Self { resident_kib: resident_kib(), files: files(), children: children().len() }
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn files() -> usize {
    std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or_default()
}

/// The processes that are servers of ours: this program, started by this process.
pub(crate) fn children() -> Vec<PathBuf> {
    let us = std::process::id().to_string();
    let Ok(own) = std::env::current_exe() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_ours = |path: &PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        // The name may hold anything, and ends with the last parenthesis; then come state and parent.
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent == Some(us.as_str())
            && std::fs::read_link(path.join("exe")).is_ok_and(|program| program == own)
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_ours).collect()
}
