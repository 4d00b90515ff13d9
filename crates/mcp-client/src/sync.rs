//! Locks: the standard ones, or loom's when every order of threads is played through.

#[cfg(not(all(test, mcp_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(all(test, mcp_loom))]
pub(crate) use loom::sync::{Mutex, MutexGuard};
