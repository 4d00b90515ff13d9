//! Whether the other side is still there.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

/// Asks after a silence, and gives up when there is no sign of life in time. Anything that arrives is
/// one.
#[derive(Debug)]
pub(super) struct Liveness {
    silence: Duration,
    deadline: Duration,
    heard: Instant,
    /// We have asked, and heard nothing since.
    is_asked: bool,
    timer: Pin<Box<Sleep>>,
}

/// What the silence calls for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// A ping.
    Ask,
    /// Nothing any more.
    Dead,
}

/// Tokio's clock cannot hold every time that a duration can reach.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

impl Liveness {
    /// Asks after `silence`, and waits for `deadline` then.
    pub(super) fn new(silence: Duration, deadline: Duration) -> Self {
        let (silence, deadline) = (silence.min(FAR), deadline.min(FAR));
        let now = Instant::now();
        let timer = Box::pin(sleep_until(now + silence));
        Self { silence, deadline, heard: now, is_asked: false, timer }
    }

    /// Something arrived.
    pub(super) fn heard(&mut self) {
        self.heard = Instant::now();
        if std::mem::take(&mut self.is_asked) {
            self.timer.as_mut().reset(self.heard + self.silence);
        }
    }

    /// How long it may take to answer.
    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Ready when it is time to ask or to give up. Whoever polls has read all there is to read, or
    /// the silence would be our own.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Alarm> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if self.is_asked {
                return Poll::Ready(Alarm::Dead);
            }
            // Not moved with every message, only when it goes off.
            let (due, now) = (self.heard + self.silence, Instant::now());
            if due > now {
                self.timer.as_mut().reset(due);
                continue;
            }
            self.is_asked = true;
            self.timer.as_mut().reset(now + self.deadline);
            return Poll::Ready(Alarm::Ask);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silence_is_asked_about_and_then_given_up_on() {
        let start = Instant::now();
        let mut liveness = Liveness::new(Duration::from_secs(30), Duration::from_secs(10));
        assert_eq!(poll_fn(|cx| liveness.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 30);
        assert_eq!(poll_fn(|cx| liveness.poll(cx)).await, Alarm::Dead);
        assert_eq!(start.elapsed().as_secs(), 40);
    }

    #[tokio::test(start_paused = true)]
    async fn anything_heard_is_a_sign_of_life() {
        let start = Instant::now();
        let mut liveness = Liveness::new(Duration::from_secs(30), Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(20)).await;
        liveness.heard();
        assert_eq!(poll_fn(|cx| liveness.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 50);
        tokio::time::advance(Duration::from_secs(5)).await;
        liveness.heard();
        assert_eq!(poll_fn(|cx| liveness.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 85);
        liveness.heard();
        assert_eq!(poll_fn(|cx| liveness.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 115);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_deadline_does_not_put_off_the_next_question() {
        let start = Instant::now();
        let mut liveness = Liveness::new(Duration::from_secs(1), Duration::from_secs(60));
        for second in 1..=3 {
            assert_eq!(poll_fn(|cx| liveness.poll(cx)).await, Alarm::Ask);
            assert_eq!(start.elapsed().as_secs(), second);
            liveness.heard();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_silence_is_no_panic() {
        let mut liveness = Liveness::new(Duration::MAX, Duration::MAX);
        let soon = Duration::from_secs(3600);
        assert!(tokio::time::timeout(soon, poll_fn(|cx| liveness.poll(cx))).await.is_err());
    }
}
