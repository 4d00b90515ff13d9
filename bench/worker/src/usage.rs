//! CPU time and resident memory of this process, as counted by the kernel.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};

/// CPU time of all threads of this process so far, in microseconds. Without children.
pub(crate) fn cpu_us() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the kernel knows our CPU time");
    [usage.user_time(), usage.system_time()]
        .iter()
        .map(|time| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64)
        .sum()
}

/// Resident memory in KiB, counted page by page: `VmRSS` lags behind by some pages per thread.
pub(crate) fn resident_kib() -> f64 {
    field("/proc/self/smaps_rollup", "Rss:")
}

/// The peak resident memory in KiB.
pub(crate) fn peak_kib() -> f64 {
    field("/proc/self/status", "VmHWM:")
}

/// Resets the peak.
pub(crate) fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").expect("our own peak may be reset");
}

fn field(file: &str, name: &str) -> f64 {
    let text = fs::read_to_string(file).expect("procfs is mounted");
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .and_then(|number| number.parse().ok())
        .expect("procfs tells memory in kB")
}
