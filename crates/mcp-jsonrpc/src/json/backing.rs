//! The message being decoded, so that raw values can be slices of it.

use std::cell::RefCell;

use bytes::Bytes;

/// The bytes of `message` that `part` stands in, if it stands there.
pub(super) fn slice_of(message: &Bytes, part: &str) -> Option<Bytes> {
    let offset = part.as_ptr().addr().checked_sub(message.as_ptr().addr())?;
    let inside = offset.checked_add(part.len())? <= message.len();
    inside.then(|| message.slice(offset..offset + part.len()))
}

thread_local! {
    /// The message being decoded on this thread. Serde cannot carry it, and without it
    /// every raw member would be a copy.
    static BACKING: RefCell<Option<Bytes>> = const { RefCell::new(None) };
}

/// Sets the message being decoded, and puts the previous one back when dropped.
pub(crate) struct Backing(Option<Bytes>);

impl Backing {
    pub(crate) fn enter(message: &Bytes) -> Self {
        // Thread-local storage is gone while a thread ends. Members are then copied.
        Self(BACKING.try_with(|backing| backing.replace(Some(message.clone()))).unwrap_or_default())
    }

    /// The bytes of the message that `part` stands in.
    pub(super) fn slice(part: &str) -> Option<Bytes> {
        let slice = |message: &RefCell<Option<Bytes>>| slice_of(message.borrow().as_ref()?, part);
        BACKING.try_with(slice).unwrap_or_default()
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        let previous = self.0.take();
        let _ = BACKING.try_with(|backing| backing.replace(previous));
    }
}
