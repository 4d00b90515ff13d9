//! Mutexes of the standard library, or of loom in model tests.

#[cfg(not(all(test, mcp_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(all(test, mcp_loom))]
pub(crate) use loom::sync::{Mutex, MutexGuard};
