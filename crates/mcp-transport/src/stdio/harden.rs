//! Hardening of a host at its start, so that its children have less access to it.

use std::{fmt, io};

/// Closes inherited file descriptors above 2, and prevents other processes of the same user from reading this
/// process's memory and environment (`/proc/PID/environ`), by clearing the dumpable flag. That also disables core
/// dumps and debuggers.
///
/// A library must not call this on its own initiative. Call it first in `main`, before anything opens a file: every
/// descriptor above 2 is assumed to be inherited. It is implemented for Linux; on other systems it does nothing.
///
/// # Errors
/// The system refused one step. The other step has been performed.
pub fn harden_host() -> Result<(), HardenError> {
    system::close_inherited().and(system::hide()).map_err(HardenError)
}

/// The host could not be hardened.
#[derive(Debug)]
pub struct HardenError(io::Error);

impl fmt::Display for HardenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("other processes of this user can read the memory and environment of this one")
    }
}

impl std::error::Error for HardenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::{fs, io};

    use nix::{sys::prctl::set_dumpable, unistd::close};

    /// Runs before [`hide`], which makes `/proc/self` unreadable for this process too.
    pub(super) fn close_inherited() -> io::Result<()> {
        let entries = fs::read_dir("/proc/self/fd")?;
        let numbers: Vec<i32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        for number in numbers.into_iter().filter(|number| *number > 2) {
            // The descriptor of the listing is closed already.
            let _ = close(number);
        }
        Ok(())
    }

    pub(super) fn hide() -> io::Result<()> {
        Ok(set_dumpable(false)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    pub(super) fn close_inherited() -> io::Result<()> {
        Ok(())
    }

    pub(super) fn hide() -> io::Result<()> {
        Ok(())
    }
}
