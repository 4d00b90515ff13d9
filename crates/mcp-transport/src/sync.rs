//! Locks: those of std, or those of loom in its models.

#[cfg(not(all(test, mcp_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(all(test, mcp_loom))]
pub(crate) use loom::sync::{Mutex, MutexGuard};
