//! A hash for numbers that are all different to begin with.

use std::hash::Hasher;

/// Our ids are consecutive numbers of our own making, so spreading them is all a hash must do.
#[derive(Debug, Default)]
pub(super) struct CallHasher(u64);

impl Hasher for CallHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_i64(i64::from(byte));
        }
    }

    fn write_i64(&mut self, number: i64) {
        self.0 = (self.0 ^ number.cast_unsigned()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
