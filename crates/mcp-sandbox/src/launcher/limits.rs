//! Limits on resources, for this process and everything it starts.

use std::fs;

use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    utsname,
};

use crate::profile::Limits;

/// The limit that Linux accepts for process ids of a namespace.
const LOWEST_PID_MAX: u64 = 301;

/// Sets limits; a lower one that is in force already stays.
pub(super) fn apply(limits: &Limits) -> Result<(), String> {
    for (resource, name, limit) in [
        (Resource::RLIMIT_NPROC, "processes", limits.processes),
        (Resource::RLIMIT_NOFILE, "open files", limits.open_files),
        (Resource::RLIMIT_FSIZE, "file size", limits.file_bytes),
        (Resource::RLIMIT_DATA, "memory", limits.memory_bytes),
        (Resource::RLIMIT_CORE, "core files", 0),
    ] {
        let failed = |error: nix::errno::Errno| format!("{name}: {}", error.desc());
        let (soft, hard) = getrlimit(resource).map_err(failed)?;
        setrlimit(resource, soft.min(limit), hard.min(limit)).map_err(failed)?;
    }
    Ok(())
}

/// Bounds processes and threads of this process namespace together. The limit on processes of a user does not apply to
/// root, and this one needs root.
///
/// # Errors
/// What is missing. For other users than root, `apply` has set a limit that holds.
pub(super) fn bound_processes(limits: &Limits) -> Result<(), String> {
    if !has_namespaced_pid_max() {
        return Err("processes of root are limited only since Linux 6.14".into());
    }
    let most = limits.processes.max(LOWEST_PID_MAX);
    fs::write("/proc/sys/kernel/pid_max", most.to_string())
        .map_err(|error| format!("processes of root are not limited: pid_max: {error}"))
}

/// Since Linux 6.14 each process namespace has a `pid_max`. Before, the file changes the whole system.
fn has_namespaced_pid_max() -> bool {
    let Ok(name) = utsname::uname() else { return false };
    is_since(&name.release().to_string_lossy(), (6, 14))
}

fn is_since(release: &str, wanted: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return false };
    (major, minor) >= wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        for (release, is) in [
            ("6.14.0", true),
            ("6.18.44-fc", true),
            ("10.1-rc1", true),
            ("6.9.3", false),
            ("5.15.0-generic", false),
            ("", false),
            ("six.fourteen", false),
        ] {
            assert_eq!(is_since(release, (6, 14)), is, "{release}");
        }
    }
}
