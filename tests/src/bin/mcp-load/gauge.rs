//! Resources of this process: memory, open files, children. On systems other than Linux only the heap is measured.

use std::{alloc::System, path::PathBuf};

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Counts the allocations of the system allocator. Resident memory alone does not show whether memory is held by the
/// program or by the allocator.
#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The resources at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gauge {
    pub(crate) resident_kib: u64,
    /// Memory that is allocated and not freed.
    pub(crate) heap_kib: u64,
    /// Number of allocations that are not freed.
    pub(crate) blocks: u64,
    pub(crate) files: usize,
    pub(crate) children: usize,
}

impl Gauge {
    pub(crate) fn now() -> Self {
        let heap = HEAP.stats();
        // Other threads allocate while we read, so the difference may be negative.
        let bytes = heap.bytes_allocated.saturating_sub(heap.bytes_deallocated);
        Self {
            resident_kib: resident_kib(),
            heap_kib: bytes as u64 / 1_024,
            blocks: heap.allocations.saturating_sub(heap.deallocations) as u64,
            files: files(),
            children: children().len(),
        }
    }

    /// The maximum of both, field by field.
    pub(crate) fn most(self, other: Self) -> Self {
        Self {
            resident_kib: self.resident_kib.max(other.resident_kib),
            heap_kib: self.heap_kib.max(other.heap_kib),
            blocks: self.blocks.max(other.blocks),
            files: self.files.max(other.files),
            children: self.children.max(other.children),
        }
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

/// The server processes: instances of this program that this process started.
pub(crate) fn children() -> Vec<PathBuf> {
    let us = std::process::id().to_string();
    let Ok(own) = std::env::current_exe() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_ours = |path: &PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        // The name may contain any character and ends with the last parenthesis; state and parent follow.
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent == Some(us.as_str())
            && std::fs::read_link(path.join("exe")).is_ok_and(|program| program == own)
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_ours).collect()
}
