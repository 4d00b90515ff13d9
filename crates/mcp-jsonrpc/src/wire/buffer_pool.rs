//! One large buffer that a decoder reuses after its lines are dropped.
//!
//! A large line leaves with the buffer it was read into. Where large responses follow one another, a new
//! buffer for each would be fresh memory from the system every time, and having a megabyte of that
//! mapped in page by page takes longer than reading it. So dropping the last piece of a line
//! returns its buffer, and the next large line is read into it. The next small line frees it.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::{Bytes, BytesMut};

/// Larger buffers are not kept.
const LARGEST: usize = 4 << 20;

/// The place where the buffer waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spare(Arc<Mutex<Option<BytesMut>>>);

impl Spare {
    /// A line of `length` bytes in `buffer`, which comes back here afterwards.
    pub(crate) fn lend(&self, buffer: BytesMut, length: usize) -> Bytes {
        Bytes::from_owner(Lent { buffer, length, home: self.clone() })
    }

    /// The buffer, if it is back.
    pub(crate) fn take(&self) -> Option<BytesMut> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

struct Lent {
    buffer: BytesMut,
    length: usize,
    home: Spare,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut buffer = mem::take(&mut self.buffer);
        // The decoder is gone, so the buffer cannot be reused.
        if buffer.capacity() <= LARGEST && Arc::strong_count(&self.home.0) > 1 {
            buffer.clear();
            *self.home.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_with_the_last_piece_of_its_line() {
        let spare = Spare::default();
        let line = spare.lend(BytesMut::from(&b"a line and more"[..]), 6);
        let piece = line.slice(2..);
        assert_eq!((&*line, &*piece), (&b"a line"[..], &b"line"[..]));
        drop(line);
        assert!(spare.take().is_none());
        drop(piece);
        assert!(spare.take().is_some_and(|buffer| buffer.is_empty() && buffer.capacity() > 0));
    }

    #[test]
    fn very_large_buffers_are_not_kept() {
        let spare = Spare::default();
        drop(spare.lend(BytesMut::with_capacity(LARGEST + 1), 0));
        assert!(spare.take().is_none());
    }
}
