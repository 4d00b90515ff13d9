//! Transports from outside: the parity suite, real processes, links to test with.

mod cassettes;
mod faults;
mod host;
mod in_process;
mod parity;
#[cfg(target_os = "linux")]
mod processes;
