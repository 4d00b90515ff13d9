//! A hash for names of our own making.

use std::hash::{BuildHasherDefault, Hasher};

/// For maps whose keys no server chooses: nobody has an interest in their collisions, and spreading them is all a
/// hash must do. Every call looks up its exchange and itself a dozen times.
pub(super) type Spreading = BuildHasherDefault<Spread>;

#[derive(Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
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
