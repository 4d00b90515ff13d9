//! A hash for numbers that are all different to begin with.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashes integer keys that no server chooses, such as the consecutive ids of calls: collisions cannot be provoked,
/// so spreading the keys is enough.
pub type NumberHash = BuildHasherDefault<NumberHasher>;

#[derive(Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
