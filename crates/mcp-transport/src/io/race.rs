//! Waits for the first of two futures. `select!` would add proc macros to every minimal build.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// The output of the future that completed first.
pub(crate) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Polls both futures, the left one first. The other one can be awaited afterwards.
pub(crate) async fn race<A, B>(
    mut left: Pin<&mut impl Future<Output = A>>,
    mut right: Pin<&mut impl Future<Output = B>>,
) -> First<A, B> {
    poll_fn(|cx| {
        if let Poll::Ready(output) = left.as_mut().poll(cx) {
            return Poll::Ready(First::Left(output));
        }
        right.as_mut().poll(cx).map(First::Right)
    })
    .await
}
