//! Randomness for identifiers, not for secrets.

use std::hash::{BuildHasher, RandomState};

/// The standard library's per-process randomness, stepped by its own counter.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}
