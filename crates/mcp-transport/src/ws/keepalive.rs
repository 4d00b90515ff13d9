//! Sends pings after an idle time, and detects unresponsive servers.

use std::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

/// Requests a ping after an idle time, and reports a timeout if nothing arrives before the deadline. Any data resets
/// it.
#[derive(Debug)]
pub(super) struct Keepalive {
    silence: Duration,
    deadline: Duration,
    heard: Instant,
    /// A ping was sent, and nothing has arrived since.
    is_asked: bool,
    timer: Pin<Box<Sleep>>,
}

/// The action that an idle connection requires.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// Send a ping.
    Ask,
    /// End the link: the server is unresponsive.
    Dead,
}

/// Tokio's clock does not support instants for all durations.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

impl Keepalive {
    /// Requests a ping after `silence`, and then waits for `deadline`.
    pub(super) fn new(silence: Duration, deadline: Duration) -> Self {
        let (silence, deadline) = (silence.min(FAR), deadline.min(FAR));
        let now = Instant::now();
        let timer = Box::pin(sleep_until(now + silence));
        Self { silence, deadline, heard: now, is_asked: false, timer }
    }

    /// Records that data has arrived.
    pub(super) fn heard(&mut self) {
        self.heard = Instant::now();
        if std::mem::take(&mut self.is_asked) {
            self.timer.as_mut().reset(self.heard + self.silence);
        }
    }

    /// How long the server may take to respond.
    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Ready when it is time to send a ping or to end the link. The caller must have read all available data first,
    /// or unread data would count as silence.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Alarm> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            if self.is_asked {
                return Poll::Ready(Alarm::Dead);
            }
            // The timer is not reset on every message, only when it expires.
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
        let mut keepalive = Keepalive::new(Duration::from_secs(30), Duration::from_secs(10));
        assert_eq!(poll_fn(|cx| keepalive.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 30);
        assert_eq!(poll_fn(|cx| keepalive.poll(cx)).await, Alarm::Dead);
        assert_eq!(start.elapsed().as_secs(), 40);
    }

    #[tokio::test(start_paused = true)]
    async fn anything_heard_is_a_sign_of_life() {
        let start = Instant::now();
        let mut keepalive = Keepalive::new(Duration::from_secs(30), Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(20)).await;
        keepalive.heard();
        assert_eq!(poll_fn(|cx| keepalive.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 50);
        tokio::time::advance(Duration::from_secs(5)).await;
        keepalive.heard();
        assert_eq!(poll_fn(|cx| keepalive.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 85);
        keepalive.heard();
        assert_eq!(poll_fn(|cx| keepalive.poll(cx)).await, Alarm::Ask);
        assert_eq!(start.elapsed().as_secs(), 115);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_deadline_does_not_put_off_the_next_question() {
        let start = Instant::now();
        let mut keepalive = Keepalive::new(Duration::from_secs(1), Duration::from_secs(60));
        for second in 1..=3 {
            assert_eq!(poll_fn(|cx| keepalive.poll(cx)).await, Alarm::Ask);
            assert_eq!(start.elapsed().as_secs(), second);
            keepalive.heard();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn longest_possible_timeout_does_not_panic() {
        let mut keepalive = Keepalive::new(Duration::MAX, Duration::MAX);
        let soon = Duration::from_secs(3600);
        assert!(tokio::time::timeout(soon, poll_fn(|cx| keepalive.poll(cx))).await.is_err());
    }
}
